import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { PostgresConnection } from './connection.ts';

const LOOK_MS = 500;
/** Looks without a byte after which a waiting connection is suspected. */
const SUSPECT_LOOKS = 4;
/** A server without an answer within this time is silent. */
const ANSWER_MS = 2_500;

/**
 * Tells a slow server from a silent one, for which statements would wait for minutes. When a connection has waited in
 * vain for two seconds, another one says hello; without an answer all are cut, and new ones fail at once.
 */
export class ServerWatch {
  readonly Client: typeof PostgresConnection;
  readonly #config: pg.ClientConfig;
  readonly #watched = new Map<PostgresConnection, { looks: number; bytes: number }>();
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  /** New connections fail at once. */
  isSilent = false;
  #heardAt = 0;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
    const watched = this.#watched;
    this.Client = class extends PostgresConnection {
      constructor(config: pg.ClientConfig) {
        super(config);
        watched.set(this, { looks: 0, bytes: 0 });
        this.once('end', () => watched.delete(this));
      }
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    let suspected = this.isSilent;
    for (const [{ socket, waiting, isConnected }, last] of this.#watched) {
      const { bytesRead: bytes } = socket;
      const isWaiting = waiting > 0 || !isConnected;
      last.looks = isWaiting && bytes === last.bytes ? last.looks + 1 : 0;
      last.bytes = bytes;
      suspected ||= last.looks >= SUSPECT_LOOKS;
    }
    // A new connection each time: a network that returns does not deliver what was lost.
    if (suspected) void this.#sayHello();
  }

  async #sayHello(): Promise<void> {
    const began = performance.now();
    const connection = new PostgresConnection(this.#config);
    const hello = connection.connect().then(() => connection.query('select 1'));
    // An error is an answer, too.
    const answer = hello.catch(() => {}).then(() => false);
    const silent = await Promise.race([answer, delay(ANSWER_MS, true, { ref: false })]);
    connection.socket.destroy();
    if (!silent) {
      this.isSilent = false;
      this.#heardAt = performance.now();
      for (const last of this.#watched.values()) last.looks = 0;
    } else if (began > this.#heardAt) {
      this.isSilent = true;
      for (const { socket } of this.#watched.keys()) socket.destroy();
    }
  }
}
