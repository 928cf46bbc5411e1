/** Places for calls under way, which companies share. */
export interface Places {
  readonly capacity: number;
  run<T>(company: string, work: () => Promise<T>): Promise<T>;
  /** Notes the duration of a call. */
  took(ms: number): void;
  /** Vehicles of this company that may be asked about now. */
  room(company: string): number;
  /** Sorts companies by their turn. */
  inTurn<Holder>(holders: readonly Holder[], nameOf: (holder: Holder) => string): Holder[];
  /** Whether it is time to ask about more. */
  readonly canTakeMore: boolean;
}

/** A step for those who watch what a process does. */
interface Step {
  name: string;
  kind?: 'client';
  /** `apart`: as a trace of its own. */
  place?: 'apart';
  attributes: Record<string, string | number>;
  measured: { metric: string; labels: Record<string, string | number> };
}

export type Trace = <T>(
  describe: () => Step,
  work: () => T | Promise<T>,
  outcome?: (result: T) => Record<string, string | number>,
) => T | Promise<T>;

/** What the service gives to this part. */
export interface Host {
  openPlaces(capacity: number): Places;
  trace?: Trace | undefined;
}

export const untraced: Trace = (_describe, work) => work();
