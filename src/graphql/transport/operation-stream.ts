import { once } from 'node:events';
import type { Response } from 'express';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Caller } from '../../core/context.ts';
import { ValidationFailed } from '../../core/errors.ts';
import { readInput } from '../../core/input.ts';
import { msLeft } from '../../http/connections/closed.ts';
import type { GraphqlContext } from '../execution/context.ts';
import type { Outcome } from '../execution/operation.ts';
import { needRoom, SharedConnection } from './shared-connection.ts';

/** Operations of which the end has not been sent, since their reader is slow. */
const MOST_UNTOLD = 100;

/** A stream that nobody opens is gone after this time. */
const RESERVED_MS = 10_000;
/** A comment shows proxies that the stream is open. */
const BEAT_MS = 15_000;

const identified = z.object({ extensions: z.object({ operationId: z.string().min(1) }) });

/** One stream of events with the results of several operations, each event named by the operation's id. */
export class OperationStream {
  readonly #caller: Caller;
  readonly #over = new AbortController();
  readonly #opened = Promise.withResolvers<Response | null>();
  readonly #operations = new Map<string, Outcome | null>();
  readonly #connection: SharedConnection;
  readonly #reserved = setTimeout(() => this.#over.abort(), RESERVED_MS).unref();
  #isOpen = false;

  constructor(caller: Caller, log: Logger) {
    this.#caller = caller;
    this.#connection = new SharedConnection(this.over, log);
    this.over.addEventListener('abort', () => this.#opened.resolve(null));
  }

  /** Aborts when it has ended, or was never opened. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  isOf({ company, subject }: Caller): boolean {
    return company === this.#caller.company && subject === this.#caller.subject;
  }

  /** Sends its events as this answer until it is closed. */
  open(res: Response, closedOf: () => AbortSignal): void {
    if (this.#isOpen) throw new ValidationFailed([], 'This event stream is open already.');
    this.#isOpen = true;
    clearTimeout(this.#reserved);
    res.status(200).set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' });
    res.write(':\n\n');
    const beat = setInterval(() => res.write(':\n\n'), BEAT_MS);
    closedOf().addEventListener('abort', () => {
      clearInterval(beat);
      this.#over.abort();
    });
    this.#opened.resolve(res);
  }

  /** Begins the operation that a request asks for; resolves when it has begun. Throws ValidationFailed. */
  async begin(asked: unknown, { ctx, charge, idempotencyKey, res }: GraphqlContext, caller: Caller): Promise<void> {
    const { operationId: id } = readInput(identified, asked).extensions;
    if (this.#operations.has(id)) throw new ValidationFailed([], 'There is an operation with this id.');
    needRoom(this.#operations.size, MOST_UNTOLD);
    this.#operations.set(id, null);
    const outcome = await this.#connection.operate(asked, { ctx, charge, idempotencyKey, res });
    if (this.#operations.has(id)) {
      this.#operations.set(id, outcome);
      void this.#tell(id, outcome, caller);
    } else if (Symbol.asyncIterator in outcome) void outcome.return(undefined);
  }

  /** Ends an operation, without another word of it. */
  end(id: string): void {
    const outcome = this.#operations.get(id);
    this.#operations.delete(id);
    if (outcome && Symbol.asyncIterator in outcome) void outcome.return(undefined);
  }

  async #tell(id: string, outcome: Outcome, { expiresAt }: Caller): Promise<void> {
    // The token of this request may expire before that of the stream.
    const timer = setTimeout(() => this.end(id), msLeft(expiresAt));
    for await (const payload of Symbol.asyncIterator in outcome ? outcome : [outcome]) {
      if (this.#operations.has(id)) await this.#send('next', { id, payload });
    }
    clearTimeout(timer);
    if (this.#operations.delete(id)) await this.#send('complete', { id });
  }

  /** Resolves when it has been taken, so that nothing piles up for a slow reader. */
  async #send(event: string, data: unknown): Promise<void> {
    const res = await this.#opened.promise;
    // Those who wait here have not ended: new operations are refused beyond so many.
    while (res?.writableNeedDrain && res.writable) {
      await Promise.race([once(res, 'drain', { signal: this.over }), once(res, 'close', { signal: this.over })]).catch(
        () => {},
      );
      if (this.over.aborted) return;
    }
    if (!res?.writable) return;
    if (res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) return;
    await once(res, 'drain', { signal: this.over }).catch(() => {});
  }
}
