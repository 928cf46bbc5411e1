type OnNotify = (payload: string) => void;

/** Who listens on which channel in this process. */
export class Channels {
  readonly #listeners = new Map<string, Set<OnNotify>>();

  get names(): string[] {
    return [...this.#listeners.keys()];
  }

  /** Calls back until the returned function is called, which gives whether nobody else listens on the channel any more. */
  listen(channel: string, onNotify: OnNotify): () => boolean {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(onNotify));
    return () => {
      const last = listeners.delete(onNotify) && listeners.size === 0;
      if (last) this.#listeners.delete(channel);
      return last;
    };
  }

  deliver(channel: string, payload: string): void {
    for (const onNotify of this.#listeners.get(channel) ?? []) onNotify(payload);
  }

  /** Tells everyone with '' that something may have been missed. */
  deliverGap(): void {
    for (const channel of this.names) this.deliver(channel, '');
  }
}

/** PostgreSQL takes no more in one notification. */
const MOST_BYTES = 7_999;
/** More in one burst are told as '': whoever listens had better look for themselves. */
const MOST_PAYLOADS = 100;

/** Notifications that wait to go out, each once. */
export class Burst {
  readonly #payloads = new Map<string, Set<string>>();

  get isEmpty(): boolean {
    return this.#payloads.size === 0;
  }

  add(channel: string, payload: string): void {
    const payloads = this.#payloads.get(channel) ?? new Set();
    const fits = payloads.size < MOST_PAYLOADS && Buffer.byteLength(payload) <= MOST_BYTES;
    if (payloads.has('') || payloads.has(payload)) return;
    this.#payloads.set(channel, fits && payload !== '' ? payloads.add(payload) : new Set(['']));
  }

  /** Takes all of them out, as pairs. */
  take(): [channel: string, payload: string][] {
    const all = [...this.#payloads].flatMap(([channel, payloads]) =>
      [...payloads].map((payload): [string, string] => [channel, payload]),
    );
    this.#payloads.clear();
    return all;
  }
}
