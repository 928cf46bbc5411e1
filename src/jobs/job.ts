/** Work that comes due by itself. What it does may be done twice: a killed process's share is done again. */
export interface Job {
  /** Does what is due, until there is no more or the signal aborts; gives when more comes due (ISO 8601), if it knows. */
  run(signal: AbortSignal): Promise<string | null>;
  /** Resolves when nothing is under way any more; a job that leaves nothing behind its runs has none. */
  stop?(): Promise<void>;
}
