import { CostExceeded, type DomainError } from '../../core/errors.ts';

/** Bytes of an answer's text. */
export const MOST_BYTES = 32 * 1024 * 1024;

/** What one execution of an operation may still make: whatever its cost was reckoned to be, this is counted. */
export class Budget {
  readonly #most: number;
  #objects = 0;
  #bytes = 0;
  #domainError: DomainError | null = null;

  constructor(mostObjects: number) {
    this.#most = mostObjects;
  }

  /** Why this execution is to end, once it is. */
  get domainError(): DomainError | null {
    return this.#domainError;
  }

  /** Ends the execution where it next makes something. */
  stop(domainError: DomainError): void {
    this.#domainError ??= domainError;
  }

  /** Counts what was made; gives the error where it is too much, or the execution was stopped. */
  spend(objects: number, bytes: number): DomainError | null {
    this.#objects += objects;
    this.#bytes += bytes;
    if (this.#objects > this.#most) this.stop(tooLarge(`${this.#most.toLocaleString('en')} objects`));
    if (this.#bytes > MOST_BYTES) this.stop(tooLarge(`${MOST_BYTES.toLocaleString('en')} bytes`));
    return this.#domainError;
  }

  /** Begins anew, for the next event of a subscription. */
  renew(): void {
    this.#objects = this.#bytes = 0;
  }
}

/** The error of an answer that turned out to be too large. */
export const tooLarge = (what: string): CostExceeded =>
  new CostExceeded(`The answer holds more than ${what}: ask for less at a time. A change that it tells of is made.`);
