const SECONDS = 60;

/** How often something happened within the last minute, to the second. */
export class LastMinute {
  readonly #counts = new Map<number, number>();

  add(): void {
    const second = now();
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + 1);
    if (this.#counts.size > 2 * SECONDS) this.#forget();
  }

  get count(): number {
    this.#forget();
    return [...this.#counts.values()].reduce((sum, one) => sum + one, 0);
  }

  #forget(): void {
    const first = now() - SECONDS;
    for (const second of this.#counts.keys()) if (second <= first) this.#counts.delete(second);
  }
}

const now = () => Math.floor(performance.now() / 1000);
