/** A token as an OAuth token endpoint issues it; `expires_in` is in seconds. */
export interface IssuedToken {
  access_token: string;
  expires_in: number;
}

const RENEW_EARLY_MS = 30_000;

/** One token shared by all calls: renewed 30 s before it runs out, by one caller while the others wait for the same renewal. */
export class AccessToken {
  readonly #issue: () => Promise<IssuedToken>;
  readonly #clock: () => number;
  #current: { value: string; renewAt: number } | null = null;
  #renewal: Promise<string> | null = null;

  constructor(issue: () => Promise<IssuedToken>, clock: () => number) {
    this.#issue = issue;
    this.#clock = clock;
  }

  /** The token to use now; rejects with what the issuer's error threw. */
  async get(): Promise<string> {
    if (this.#current && this.#clock() < this.#current.renewAt) return this.#current.value;
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = null;
    });
    return this.#renewal;
  }

  /** Forgets this token, unless another caller has renewed it already. */
  drop(value: string): void {
    if (this.#current?.value === value) this.#current = null;
  }

  async #renew(): Promise<string> {
    const askedAt = this.#clock();
    const { access_token: value, expires_in: seconds } = await this.#issue();
    const lifetime = seconds * 1000;
    // A token too short-lived for 30 s of margin is used for half its life.
    this.#current = { value, renewAt: askedAt + lifetime - Math.min(RENEW_EARLY_MS, lifetime / 2) };
    return value;
  }
}
