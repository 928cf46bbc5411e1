import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { ExecutionResult } from 'graphql';
import type { WebSocket } from 'ws';
import { msLeft } from '../../http/connections/closed.ts';
import { resultWithoutHttp } from '../execution/result-errors.ts';
import { isResultStream, type OperationResult } from '../execution/run-operation.ts';

/** The interval of pings; a client that does not answer one has disconnected. */
const BEAT_MS = 15_000;
/** The server reads no more from a client with this many waiting bytes. */
const MOST_WAITING_BYTES = 1024 * 1024;
/** The time for queries and mutations under way when the process is to end. */
const LONGEST_END_MS = 5_000;
/** The time for the other side's close frame. */
const GOODBYE_MS = 1_000;
const LONGEST_REASON = 123;

const GOING_AWAY = 1001;
const BAD_REQUEST = 4400;
/** The protocol's clients come back after it, with another token. */
const FORBIDDEN = 4403;

/** `abort()` without a reason makes a DOMException with its stack. */
export const ENDED = 'The operation has ended.';

/** Runs what a client sent; ends early when the client completes it. */
type RunOperation = (sent: unknown, completed: AbortSignal) => Promise<OperationResult>;

/** What graphql-ws is to send; texts are sent past it. */
export type Results = AsyncIterableIterator<ExecutionResult, void>;

/** One WebSocket for graphql-ws. It never outlives its token. */
export class WebSocketPeer {
  readonly protocol: string;
  operations = 0;
  readonly #socket: WebSocket;
  readonly #over = new AbortController();
  readonly #running = new Set<Promise<OperationResult>>();
  #run: RunOperation | undefined;
  #alive = true;

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

  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Allows operations, until the token expires. */
  begin(run: RunOperation, expiresAt: number): void {
    this.#run = run;
    // It may have closed while its token was being verified.
    if (this.over.aborted) return;
    const timer = setTimeout(() => this.close(FORBIDDEN, 'The token has expired.'), msLeft(expiresAt));
    this.over.addEventListener('abort', () => clearTimeout(timer));
  }

  /** Runs an operation and gives its results. Their `return` ends the work at once, and nothing is sent after it. */
  operate(id: string, sent: unknown): Results {
    const completed = new AbortController();
    const running = (this.#run as RunOperation)(sent, completed.signal);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
    // graphql-ws would send what follows to another operation, which may have this id now.
    const unlessCompleted = <T>(value: T): T | Promise<never> =>
      completed.signal.aborted ? new Promise<never>(() => {}) : value;
    const results = this.#resultsOf(id, running.then(unlessCompleted), completed.signal);
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: () => results.next().then(unlessCompleted),
      async return() {
        completed.abort(ENDED);
        void running.then((outcome) => void (isResultStream(outcome) && outcome.return?.()));
        return { done: true, value: undefined };
      },
    };
  }

  async *#resultsOf(
    id: string,
    running: Promise<OperationResult>,
    completed: AbortSignal,
  ): AsyncGenerator<ExecutionResult, void> {
    const outcome = await running;
    // graphql-ws would parse a text and write it again.
    const sendNext = (text: string) => this.send(`{"id":${JSON.stringify(id)},"type":"next","payload":${text}}`);
    if (typeof outcome === 'string') void sendNext(outcome);
    else if (isResultStream(outcome)) {
      for await (const answer of outcome) {
        if (completed.aborted) return;
        if (typeof answer === 'string') await sendNext(answer);
        else yield answer;
      }
    }
    // The protocol has a message of its own for the errors of an operation without data.
    else if (outcome.data === undefined) throw new AggregateError(resultWithoutHttp(outcome).errors ?? []);
    else yield outcome;
  }

  /** Resolves when the system has taken the text, so that nothing piles up for a slow reader. */
  send(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#socket.readyState !== this.#socket.OPEN) resolve();
    else this.#socket.send(text, () => resolve());
    return promise;
  }

  /** Closes before streams end: GraphQL's "complete" would tell clients not to come back. */
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

  /** Pauses a client that does not take its answers. */
  #hold(): void {
    if (this.#socket.isPaused || this.#socket.bufferedAmount <= MOST_WAITING_BYTES) return;
    this.#socket.pause();
    this.#socket.ping('', undefined, () => this.#socket.resume());
  }
}
