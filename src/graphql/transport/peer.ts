import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { msLeft } from '../../http/connections/closed.ts';
import type { Outcome } from '../execution/run.ts';

/** A sign of life, for proxies; a client that does not answer it has gone. */
const BEAT_MS = 15_000;
/** A client with so much waiting for it may not ask for more. */
const MOST_WAITING_BYTES = 1024 * 1024;
/** Queries and mutations that are under way when the process is to end have so long. */
const LONGEST_END_MS = 5_000;
/** The other side has so long to say goodbye, too. */
const GOODBYE_MS = 1_000;
/** The longest reason that a close frame may have. */
const LONGEST_REASON = 123;

const GOING_AWAY = 1001;
const BAD_REQUEST = 4400;
/** After which the protocol's clients come back, with another token if they can. */
const FORBIDDEN = 4403;

type Operate = (sent: unknown) => Promise<Outcome>;

/** One WebSocket, as graphql-ws uses it. It never outlives its token, and says why it ends. */
export class Peer {
  readonly protocol: string;
  operations = 0;
  readonly #socket: WebSocket;
  readonly #over = new AbortController();
  readonly #running = new Set<Promise<Outcome>>();
  #run: Operate | undefined;
  #alive = true;

  /** `ending` aborts when the process is to end. */
  constructor(socket: WebSocket, ending: AbortSignal) {
    this.protocol = socket.protocol;
    this.#socket = socket;
    const beat = setInterval(() => this.#beat(), BEAT_MS);
    socket.on('error', () => {});
    socket.on('pong', () => {
      this.#alive = true;
    });
    socket.on('ping', () => this.#hold());
    socket.once('close', () => {
      clearInterval(beat);
      this.#over.abort();
    });
    ending.addEventListener('abort', () => void this.#end(), { signal: this.over });
  }

  /** Aborts when no more can be sent. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** From now on it may ask for operations, until the token expires. */
  begin(run: Operate, expiresAt: number): void {
    this.#run = run;
    const timer = setTimeout(() => this.close(FORBIDDEN, 'The token has expired.'), msLeft(expiresAt));
    this.over.addEventListener('abort', () => clearTimeout(timer));
  }

  operate(sent: unknown): Promise<Outcome> {
    const running = (this.#run as Operate)(sent);
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  /** Resolves when the system has taken it, so that nothing piles up for a slow reader. */
  send(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#socket.readyState !== this.#socket.OPEN) resolve();
    else this.#socket.send(text, () => resolve());
    return promise;
  }

  /** Closes before anybody hears of the end: what GraphQL calls "complete" would tell clients not to come back. */
  close(code = BAD_REQUEST, reason = ''): void {
    if (this.over.aborted) return;
    this.#socket.close(code, reason.length <= LONGEST_REASON ? reason : '');
    setTimeout(() => this.#socket.terminate(), GOODBYE_MS).unref();
    this.#over.abort();
  }

  onMessage(take: (text: string) => Promise<void>): void {
    this.#socket.on('message', (data) => {
      this.#hold();
      take(String(data)).catch(() => this.close(BAD_REQUEST, 'Invalid message received'));
    });
  }

  async #end(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#running), delay(LONGEST_END_MS)]);
    // Their results are sent in this turn.
    await nextTurn();
    this.close(GOING_AWAY, 'Going away');
  }

  #beat(): void {
    if (this.#alive) this.#socket.ping();
    else this.#socket.terminate();
    this.#alive = false;
  }

  /** Hears no more of a client that does not take its answers. */
  #hold(): void {
    if (this.#socket.isPaused || this.#socket.bufferedAmount <= MOST_WAITING_BYTES) return;
    this.#socket.pause();
    this.#socket.ping('', undefined, () => this.#socket.resume());
  }
}
