import type { Socket } from 'node:net';
import type pg from 'pg';
import { PostgresConnection } from './postgres-connection.ts';
import type { Fault } from './sqlstate.ts';

const LOOK_MS = 500;
/** Looks without a byte after which a waiting connection is suspected. */
const SUSPECT_CHECKS = 4;
/** Looks without a byte after which a server that was said hello to is silent. */
const SILENT_CHECKS = 5;

/** A connection on which nothing arrives for so long beyond the limit of its statements leads nowhere, though its server answers others. */
const LOST_MS = 10_000;

/** A server that refused a connection is not asked for reads within this time. */
const AWAY_MS = 5_000;

/** The life of a connection to a server that takes no changes: soon the address may lead to one that does. */
const READ_ONLY_LIFE_MS = 1_000;
const TELL_AGAIN_MS = 60_000;

type Watching = { name: string; isReplica: boolean; tell: (message: string) => void };

/**
 * Tells a slow server from a silent one, for which statements would wait for minutes. When a connection has waited in
 * vain for two seconds, another one says hello; if it hears nothing, all are cut, and new ones fail at once. One that waits for longer
 * than its server lets a statement run is cut alone.
 *
 * A primary is to take changes. When a connection meets a server that takes none, those of before go, since they may lead there
 * too, and new ones live for a second; they go when one finds a server that takes changes.
 */
export class ServerWatch {
  readonly Client: typeof PostgresConnection;
  readonly #config: pg.ClientConfig;
  readonly #watching: Watching;
  readonly #watched = new Map<PostgresConnection, { checks: number; waits: number; bytes: number }>();
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  /** New connections fail at once. */
  isSilent = false;
  /** The last attempt to connect failed. */
  isLost = false;
  /** The server takes no changes. */
  isReadOnly = false;
  #readOnlyAt = Number.NEGATIVE_INFINITY;
  #toldAt = Number.NEGATIVE_INFINITY;
  #awayUntil = 0;
  #heardAt = 0;
  #greeting = false;

  constructor(config: pg.ClientConfig, watching: Watching) {
    this.#config = config;
    this.#watching = watching;
    const watched = this.#watched;
    const noteLost = (isLost: boolean) => this.#noteLost(isLost);
    const noteReadOnly = (isReadOnly: boolean) => this.noteReadOnly(isReadOnly);
    const isStale = (one: PostgresConnection, since: number) =>
      since < this.#readOnlyAt || (one.isReadOnly && !this.isReadOnly);
    this.Client = class extends PostgresConnection {
      #since = Number.POSITIVE_INFINITY;

      constructor(config: pg.ClientConfig) {
        super(config);
        watched.set(this, { checks: 0, waits: 0, bytes: 0 });
        this.once('connect', () => noteLost(false)).once('end', () => {
          watched.delete(this);
          if (!this.isConnected) noteLost(true);
        });
      }

      protected override async begin(): Promise<void> {
        if (watching.isReplica) return;
        if (await this.askReadOnly()) this.leaveWithin(READ_ONLY_LIFE_MS);
        this.#since = performance.now();
      }

      override async askReadOnly(): Promise<boolean> {
        noteReadOnly(await super.askReadOnly());
        return this.isReadOnly;
      }

      override get isSpent(): boolean {
        return super.isSpent || isStale(this, this.#since);
      }

      protected override meet(fault: Fault): void {
        super.meet(fault);
        if (fault.is === 'read-only') noteReadOnly(true);
      }
    };
  }

  /** Reads had better go to another server. */
  get isAway(): boolean {
    return performance.now() < this.#awayUntil;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #noteLost(isLost: boolean): void {
    this.#awayUntil = isLost ? performance.now() + AWAY_MS : 0;
    if (isLost !== this.isLost) this.#tell(isLost ? 'cannot be reached' : 'can be reached again');
    this.isLost = isLost;
  }

  noteReadOnly(isReadOnly: boolean): void {
    if (this.#watching.isReplica) return;
    const now = performance.now();
    if (isReadOnly && now >= this.#readOnlyAt + READ_ONLY_LIFE_MS) this.#readOnlyAt = now;
    if (isReadOnly && now >= this.#toldAt + TELL_AGAIN_MS) {
      this.#toldAt = now;
      this.#tell('is read-only');
    }
    if (this.isReadOnly && !isReadOnly) this.#tell('can be written again');
    this.isReadOnly = isReadOnly;
  }

  #tell(state: string): void {
    this.#watching.tell(`The database at ${this.#watching.name} ${state}.`);
  }

  #look(): void {
    let suspected = this.isSilent || this.isReadOnly;
    for (const [{ socket, waiting, limitMs, isConnected, hasAddress }, last] of this.#watched) {
      const { bytesRead: bytes } = socket;
      const isWaiting = hasAddress && (waiting > 0 || !isConnected);
      const isStill = isWaiting && bytes === last.bytes;
      last.checks = isStill ? last.checks + 1 : 0;
      last.waits = isStill ? last.waits + 1 : 0;
      last.bytes = bytes;
      if (last.waits * LOOK_MS > limitMs + LOST_MS) socket.destroy();
      suspected ||= last.checks >= SUSPECT_CHECKS;
    }
    // A new connection each time: a network that returns does not deliver what was lost.
    if (suspected && !this.#greeting) void this.#sayHello();
  }

  async #sayHello(): Promise<void> {
    this.#greeting = true;
    const began = performance.now();
    // The time of a slow name server does not count.
    const connection = new PostgresConnection({ ...this.#config, connectionTimeoutMillis: 0 });
    const hello = connection.connect().then(() => connection.askReadOnly());
    // An error is an answer, too.
    const answer = hello
      .then(
        (isReadOnly) => this.noteReadOnly(isReadOnly),
        () => {},
      )
      .then(() => false);
    const silent = await Promise.race([answer, silenceOn(connection.socket)]);
    connection.socket.destroy();
    this.#greeting = false;
    // A name without an address says nothing about the server.
    if (!connection.hasAddress) return;
    if (!silent) {
      this.isSilent = false;
      if (connection.isConnected) this.#noteLost(false);
      this.#heardAt = performance.now();
      for (const last of this.#watched.values()) last.checks = 0;
    } else if (began > this.#heardAt) {
      this.isSilent = true;
      this.#noteLost(true);
      for (const { socket } of this.#watched.keys()) socket.destroy();
    }
  }
}

/** Resolves when no byte has arrived for `SILENT_CHECKS` looks. A busy machine needs longer for a whole sign-in. */
function silenceOn(socket: Socket): Promise<true> {
  const { promise, resolve } = Promise.withResolvers<true>();
  const look = (bytes: number, left: number) => {
    const check = () => {
      if (socket.bytesRead !== bytes) look(socket.bytesRead, SILENT_CHECKS);
      else if (left > 1) look(bytes, left - 1);
      else resolve(true);
    };
    // What arrived while this process stood still is read before.
    setTimeout(() => setImmediate(check), LOOK_MS).unref();
  };
  socket.once('connectionAttempt', () => look(socket.bytesRead, SILENT_CHECKS));
  return promise;
}
