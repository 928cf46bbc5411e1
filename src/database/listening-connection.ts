import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresConnection } from './postgres-connection.ts';
import { ReadOnlyError } from './sqlstate.ts';

const LONGEST_WAIT_MS = 1_000;
const BURST_MS = 50;
/** A dead process, and that this connection is no good any more, are noticed within this time. */
const LOOK_MS = 10_000;

/** The connection's name, by which processes see each other. Keepalives notice a lost machine after 20 seconds. */
export const LISTENING_NAME = 'fleet-gateway listening';
const KEEPALIVE = '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2';

/** A process names itself on this channel at its end. */
const FAREWELL = 'farewell';

const NOTIFY = 'select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) n(channel, payload)';

/** Each process by its connection and its start, since pids are reused; a role that is not a member of theirs does not see when. */
const LOOK = `
  with listening as (
    select pid, concat(pid, ' ', extract(epoch from backend_start)) as name from pg_stat_activity
    where datname = current_database() and application_name = $1
  )
  select pg_backend_pid() as pid, (select name from listening where pid = pg_backend_pid()) as own,
    array(select name from listening where pid <> pg_backend_pid()) as others`;
interface Look {
  /** The server's process of this connection, which gets its own notifications. */
  pid: number;
  own: string;
  others: string[];
}

/**
 * One connection outside the pool, by which processes hear of each other's commits; made again with growing delays.
 * Listeners get '' where they may have missed something (docs/decisions/events.md).
 */
export class ListeningConnection {
  readonly #channels = openChannelEmitter();
  readonly #burst = new Burst();
  readonly #config: pg.ClientConfig;
  readonly #Client: typeof PostgresConnection;
  readonly #closing = new AbortController();
  readonly #looking: NodeJS.Timeout;
  #client: PostgresConnection | undefined;
  #begun = Promise.withResolvers<PostgresConnection>();
  #look: Look = { pid: 0, own: '', others: [] };
  #sending: Promise<void> | undefined;

  constructor(config: pg.ClientConfig, Client: typeof PostgresConnection, { lookMs = LOOK_MS } = {}) {
    this.#config = { ...config, application_name: LISTENING_NAME, options: `${config.options ?? ''} ${KEEPALIVE}` };
    this.#Client = Client;
    this.#looking = setInterval(() => void this.#lookAround(), lookMs).unref();
  }

  async connect(): Promise<void> {
    const client = new this.#Client(this.#config);
    const lost = Promise.withResolvers<void>();
    client.on('notification', ({ channel, payload = '', processId }) => {
      if (processId === this.#look.pid) return;
      if (channel === FAREWELL) this.#look.others = this.#look.others.filter((name) => name !== payload);
      else this.#channels.emit(channel, payload);
    });
    client.on('error', () => lost.resolve());
    client.on('end', () => lost.resolve());
    try {
      await client.connect();
      this.#closing.signal.throwIfAborted();
      // Nobody writes there, so nobody notifies.
      if (client.isReadOnly) throw new ReadOnlyError();
      await this.#begin(client);
    } catch (error) {
      this.#client = undefined;
      void client.end().catch(() => {});
      throw error;
    }
    void lost.promise.then(() => this.#reconnect(client));
  }

  /** Whether it leads to a server that takes no changes; waits for a connection. */
  async askReadOnly(): Promise<boolean> {
    return (await this.#begun.promise).askReadOnly();
  }

  async listen(channel: string, onNotify: (payload: string) => void): Promise<() => void> {
    this.#channels.on(channel, onNotify);
    await this.#query(listenTo(channel));
    return () => this.#channels.off(channel, onNotify);
  }

  /** Notifies listeners in this process at once, and other processes with the next burst. */
  notify(channel: string, payload: string): void {
    this.#channels.emit(channel, payload);
    this.#burst.add(channel, payload);
    this.#sending ??= this.#sendBursts();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#looking);
    await this.#sending;
    await this.#send([[FAREWELL, this.#look.own]]);
    await this.#client?.end();
  }

  async #begin(client: PostgresConnection): Promise<void> {
    this.#client = client;
    await this.#lookForOthers();
    for (const channel of [FAREWELL, ...this.#channelNames()]) await client.query(listenTo(channel));
    this.#begun.resolve(client);
    this.#tellOfGap();
    if (!this.#burst.isEmpty) this.#sending ??= this.#sendBursts();
  }

  /** Null when the connection is lost; the next connection listens on all channels again. */
  async #query(sql: string, values?: unknown[]): Promise<pg.QueryResult | null> {
    const client = this.#client;
    if (!client) return null;
    return client.query(sql, values).catch(async () => {
      await client.end();
      return null;
    });
  }

  #send(burst: readonly Notification[]): Promise<pg.QueryResult | null> {
    return this.#query(NOTIFY, [burst.map(([channel]) => channel), burst.map(([, payload]) => payload)]);
  }

  async #sendBursts(): Promise<void> {
    do {
      const burst = this.#burst.take();
      if (!(await this.#send(burst))) {
        // The next connection sends this burst.
        for (const [channel, payload] of burst) this.#burst.add(channel, payload);
        break;
      }
      await delay(BURST_MS, undefined, { signal: this.#closing.signal }).catch(() => {});
    } while (!this.#burst.isEmpty);
    this.#sending = undefined;
  }

  async #lookAround(): Promise<void> {
    await this.#client?.askReadOnly().catch(() => {});
    if (this.#client?.isSpent) await this.#client.end();
    else await this.#lookForOthers();
  }

  /** A killed process has not notified others of its last commits. */
  async #lookForOthers(): Promise<void> {
    const found = await this.#query(LOOK, [LISTENING_NAME]);
    if (!found) return;
    const look: Look = found.rows[0];
    const gone = this.#look.others.some((name) => !look.others.includes(name));
    this.#look = look;
    if (gone) this.#tellOfGap();
  }

  #channelNames(): string[] {
    return this.#channels.eventNames().map(String);
  }

  /** Emits '' on all channels after a gap. */
  #tellOfGap(): void {
    for (const channel of this.#channelNames()) this.#channels.emit(channel, '');
  }

  async #reconnect(lost: PostgresConnection): Promise<void> {
    this.#client = undefined;
    this.#begun = Promise.withResolvers();
    void lost.end().catch(() => {});
    for (let wait = 100; !this.#closing.signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        // Half of the wait is chance, so that many processes do not come back at once.
        await delay(wait * (0.5 + Math.random() / 2), undefined, { signal: this.#closing.signal });
        return await this.connect();
      } catch {
        // The next round tries again, unless this is closing.
      }
    }
  }
}

const listenTo = (channel: string): string => `listen ${pg.escapeIdentifier(channel)}`;

export const openChannelEmitter = () => new EventEmitter<Record<string, [payload: string]>>().setMaxListeners(0);

type Notification = [channel: string, payload: string];

/** PostgreSQL takes no more in one notification. */
const MOST_BYTES = 7_999;
/** More payloads in one burst become ''. */
const MOST_PAYLOADS = 100;

/** Notifications that wait to go out, each once. */
class Burst {
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

  take(): Notification[] {
    const all = [...this.#payloads];
    this.#payloads.clear();
    return all.flatMap(([channel, payloads]) => Array.from(payloads, (payload): Notification => [channel, payload]));
  }
}
