import type pg from 'pg';
import { PostgresConnection } from './postgres-connection.ts';

const LOOK_MS = 500;
/** Looks without a byte after which a waiting connection is suspected. */
const SUSPECT_LOOKS = 4;
/** A server without an answer within this time is silent. */
const ANSWER_MS = 2_500;

/** A server that refused a connection is not asked for reads within this time. */
const AWAY_MS = 5_000;

/**
 * Tells a slow server from a silent one, for which statements would wait for minutes. When a connection has waited in
 * vain for two seconds, another one says hello; without an answer all are cut, and new ones fail at once.
 */
export class ServerWatch {
  readonly Client: typeof PostgresConnection;
  readonly #config: pg.ClientConfig;
  readonly #tell: (isLost: boolean) => void;
  readonly #watched = new Map<PostgresConnection, { looks: number; bytes: number }>();
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  /** New connections fail at once. */
  isSilent = false;
  /** The last attempt to connect failed. */
  isLost = false;
  #awayUntil = 0;
  #heardAt = 0;
  #greeting = false;

  constructor(config: pg.ClientConfig, tell: (isLost: boolean) => void) {
    this.#config = config;
    this.#tell = tell;
    const watched = this.#watched;
    const noteLost = (isLost: boolean) => this.#noteLost(isLost);
    this.Client = class extends PostgresConnection {
      constructor(config: pg.ClientConfig) {
        super(config);
        watched.set(this, { looks: 0, bytes: 0 });
        this.once('connect', () => noteLost(false)).once('end', () => {
          watched.delete(this);
          if (!this.isConnected) noteLost(true);
        });
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
    if (isLost !== this.isLost) this.#tell(isLost);
    this.isLost = isLost;
  }

  #look(): void {
    let suspected = this.isSilent;
    for (const [{ socket, waiting, isConnected, hasAddress }, last] of this.#watched) {
      const { bytesRead: bytes } = socket;
      const isWaiting = hasAddress && (waiting > 0 || !isConnected);
      last.looks = isWaiting && bytes === last.bytes ? last.looks + 1 : 0;
      last.bytes = bytes;
      suspected ||= last.looks >= SUSPECT_LOOKS;
    }
    // A new connection each time: a network that returns does not deliver what was lost.
    if (suspected && !this.#greeting) void this.#sayHello();
  }

  async #sayHello(): Promise<void> {
    this.#greeting = true;
    const began = performance.now();
    // The time of a slow name server does not count.
    const connection = new PostgresConnection({ ...this.#config, connectionTimeoutMillis: 0 });
    const { promise: silence, resolve } = Promise.withResolvers<true>();
    connection.socket.once('connectionAttempt', () => setTimeout(resolve, ANSWER_MS, true).unref());
    const hello = connection.connect().then(() => connection.query('select 1'));
    // An error is an answer, too.
    const answer = hello.catch(() => {}).then(() => false);
    const silent = await Promise.race([answer, silence]);
    connection.socket.destroy();
    this.#greeting = false;
    // A name without an address says nothing about the server.
    if (!connection.hasAddress) return;
    if (!silent) {
      this.isSilent = false;
      if (connection.isConnected) this.#noteLost(false);
      this.#heardAt = performance.now();
      for (const last of this.#watched.values()) last.looks = 0;
    } else if (began > this.#heardAt) {
      this.isSilent = true;
      this.#noteLost(true);
      for (const { socket } of this.#watched.keys()) socket.destroy();
    }
  }
}
