interface Patience {
  /** Milliseconds; without them there is no limit. */
  ms?: number;
  signal: AbortSignal;
}

/** Wakes the one who waits. However often it rings while nobody waits, the next wait ends at once, and only that one. */
export class Signal {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** The next wait is not for what has rung so far. */
  forget(): void {
    this.#rung = false;
  }

  /** True when it rings, or has since the last wait; false when the time is up or the signal aborts. */
  async wait({ ms = Number.POSITIVE_INFINITY, signal }: Patience): Promise<boolean> {
    if (!this.#rung && !signal.aborted) await this.#sleep(ms, signal);
    const rung = this.#rung && !signal.aborted;
    this.#rung = false;
    return rung;
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined;
    const onAbort = () => resolve();
    signal.addEventListener('abort', onAbort);
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
