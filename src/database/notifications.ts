import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

type OnNotify = (payload: string) => void;

/** Hands each NOTIFY to those who listen on its channel. `send` runs a statement on the one connection that listens. */
export class NotificationListener {
  readonly #listeners = new Map<string, Set<OnNotify>>();
  readonly #send: (sql: string) => Promise<unknown>;

  constructor(send: (sql: string) => Promise<unknown>) {
    this.#send = send;
  }

  async listen(channel: string, onNotify: OnNotify): Promise<() => Promise<void>> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(onNotify));
    await this.#send(`listen ${pg.escapeIdentifier(channel)}`);
    return async () => {
      if (!listeners.delete(onNotify) || listeners.size > 0) return;
      this.#listeners.delete(channel);
      await this.#send(`unlisten ${pg.escapeIdentifier(channel)}`);
    };
  }

  deliver(channel: string, payload: string): void {
    for (const onNotify of this.#listeners.get(channel) ?? []) onNotify(payload);
  }

  /** On a new connection: listens again, and tells everyone with '' that something may have been missed. */
  async resume(send: (sql: string) => Promise<unknown>): Promise<void> {
    for (const channel of this.#listeners.keys()) await send(`listen ${pg.escapeIdentifier(channel)}`);
    for (const channel of this.#listeners.keys()) this.deliver(channel, '');
  }
}

const longestWait = 1_000;

/** The connection that listens on a server: one, outside the pool, made again with growing delays when it is lost. */
export class ListeningConnection {
  readonly changes = new NotificationListener((sql) => this.#send(sql));
  readonly #config: pg.ClientConfig;
  readonly #Client: typeof pg.Client;
  readonly #closing = new AbortController();
  #client: pg.Client | undefined;

  constructor(config: pg.ClientConfig, Client: typeof pg.Client) {
    this.#config = config;
    this.#Client = Client;
  }

  /** Connects; throws when the server cannot be reached. */
  async connect(): Promise<void> {
    const client = new this.#Client(this.#config);
    const lost = Promise.withResolvers<void>();
    client.on('notification', ({ channel, payload }) => this.changes.deliver(channel, payload ?? ''));
    client.on('error', () => lost.resolve());
    client.on('end', () => lost.resolve());
    try {
      await client.connect();
      this.#closing.signal.throwIfAborted();
      this.#client = client;
      await this.changes.resume((sql) => client.query(sql));
    } catch (error) {
      this.#client = undefined;
      void client.end().catch(() => {});
      throw error;
    }
    void lost.promise.then(() => this.#reconnect(client));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client?.end();
  }

  /** Where this fails there is no connection any more, and the next one listens for everybody. */
  async #send(sql: string): Promise<void> {
    const client = this.#client;
    await client?.query(sql).catch(() => client.end());
  }

  async #reconnect(lost: pg.Client): Promise<void> {
    this.#client = undefined;
    void lost.end().catch(() => {});
    for (let wait = 100; !this.#closing.signal.aborted; wait = Math.min(wait * 2, longestWait)) {
      try {
        // Half of the wait is chance, so that many processes do not come back at once.
        await delay(wait * (0.5 + Math.random() / 2), undefined, { signal: this.#closing.signal });
        return await this.connect();
      } catch {
        // Not there yet, or closing.
      }
    }
  }
}
