import { setTimeout as sleep } from 'node:timers/promises';
import {
  BrokenCircuitError,
  type BulkheadPolicy,
  bulkhead,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  DelegateBackoff,
  handleWhen,
} from 'cockatiel';
import { Agent } from 'undici';
import { z } from 'zod';
import { AccessToken, type IssuedToken } from './access-token.ts';
import { exchange, type Reply, type UpstreamRequest } from './exchange.ts';
import { Fault } from './fault.ts';
import type { NoAnswer, ProviderState } from './provider.ts';

export interface UpstreamOptions {
  /** Calls under way at the same time, and connections kept. */
  concurrency?: number;
  /** For one request and its whole answer. A call is at most four of them: token and question, each once more after a 401. */
  timeoutMs?: number;
  /** Faults in a row that open the circuit. */
  breakAfter?: number;
  /** How long the circuit stays open at first; doubles with every probe that fails, up to a minute. */
  probeAfterMs?: number;
  /** A pause up to this long is sat out by the calls; a longer one is handed to the caller at once. */
  patienceMs?: number;
}

const LONGEST_BREAK_MS = 60_000;
/** For a 429 that names no time: doubles while they go on. */
const LONGEST_UNNAMED_PAUSE_S = 60;
const LARGEST_BODY = 256 * 1024;

const issuedToken = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });

/**
 * A manufacturer's service behind an OAuth client-credentials token, treated with care: one shared token, bounded
 * concurrency on kept connections, a time-out per request, a pause for all when it asks for one, and a circuit breaker.
 * What it answers is the provider's to read; that it did not answer is the same for every provider.
 */
export class Upstream {
  readonly #agent: Agent;
  readonly #slots: BulkheadPolicy;
  readonly #breaker: CircuitBreakerPolicy;
  readonly #token: AccessToken;
  readonly #timeoutMs: number;
  readonly #patienceMs: number;
  #probeAt = 0;
  #pausedUntil = 0;
  #unnamedPauses = 0;

  /** `token` is the request to the token endpoint. */
  constructor(token: UpstreamRequest, options: UpstreamOptions = {}) {
    const { concurrency = 16, timeoutMs = 10_000, breakAfter = 5, probeAfterMs = 2_000, patienceMs = 2_000 } = options;
    this.#agent = new Agent({ connections: concurrency, maxResponseSize: LARGEST_BODY });
    this.#slots = bulkhead(concurrency, Number.POSITIVE_INFINITY);
    this.#breaker = circuitBreaker(
      handleWhen((error) => error instanceof Fault && error.dead),
      {
        breaker: new ConsecutiveBreaker(breakAfter),
        halfOpenAfter: new DelegateBackoff(({ attempt }) => {
          const delay = Math.min(LONGEST_BREAK_MS, probeAfterMs * 2 ** (attempt - 1));
          this.#probeAt = Date.now() + delay;
          return delay;
        }),
      },
    );
    this.#token = new AccessToken(() => this.#issue(token));
    this.#timeoutMs = timeoutMs;
    this.#patienceMs = patienceMs;
  }

  /** Sends the request with the bearer token. Never throws for what the upstream said or failed to say. */
  async ask(request: UpstreamRequest): Promise<Reply | NoAnswer> {
    try {
      return await this.#slots.execute(async () => {
        await this.#sitOutPause();
        // While one call finds out whether the upstream is back, the others do not wait for it.
        if (this.#breaker.state === CircuitState.HalfOpen) throw new BrokenCircuitError();
        return await this.#breaker.execute(() => this.#authorised(request));
      });
    } catch (error) {
      return this.#noAnswer(error);
    }
  }

  state(): ProviderState {
    const breaker = breakerStates[this.#breaker.state];
    const future = (at: number) => (at > Date.now() ? new Date(at) : null);
    return {
      breaker,
      probeAt: breaker === 'OPEN' ? future(this.#probeAt) : null,
      pausedUntil: future(this.#pausedUntil),
    };
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #authorised(request: UpstreamRequest): Promise<Reply> {
    let reply: Reply | undefined;
    for (let tries = 0; tries < 2; tries++) {
      const token = await this.#token.get();
      reply = await this.#send({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } });
      if (reply.status !== 401) return reply;
      this.#token.drop(token);
    }
    throw new Fault('CREDENTIALS', { raw: reply && { status: reply.status, body: reply.body } });
  }

  async #issue(request: UpstreamRequest): Promise<IssuedToken> {
    const { status, body } = await this.#send(request);
    if (status >= 400) throw new Fault('CREDENTIALS', { raw: { status, body } });
    const issued = issuedToken.safeParse(body);
    // The body is not kept here: it may hold a token.
    if (!issued.success) throw new Fault('BAD_ANSWER', { raw: { status, tokenEndpoint: true } });
    return issued.data;
  }

  async #send(request: UpstreamRequest): Promise<Reply> {
    try {
      const reply = await exchange(this.#agent, request, this.#timeoutMs);
      this.#unnamedPauses = 0;
      return reply;
    } catch (error) {
      if (error instanceof Fault && error.kind === 'BUSY') this.#pause(error.answer.retryAfter);
      throw error;
    }
  }

  #pause(named: number | undefined): void {
    const now = Date.now();
    // Calls that were under way when the pause began do not lengthen it.
    if (named === undefined && now < this.#pausedUntil) return;
    const seconds = named ?? Math.min(LONGEST_UNNAMED_PAUSE_S, 2 ** this.#unnamedPauses++);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + seconds * 1000);
  }

  async #sitOutPause(): Promise<void> {
    for (;;) {
      const left = this.#pausedUntil - Date.now();
      if (left <= 0) return;
      if (left > this.#patienceMs) throw new Fault('BUSY', { retryAfter: Math.ceil(left / 1000), asked: false });
      await sleep(left);
    }
  }

  #noAnswer(error: unknown): NoAnswer {
    if (error instanceof Fault) return error.answer;
    if (!(error instanceof BrokenCircuitError)) throw error;
    // The reason is the one that opened the circuit: whoever must act on it should read it.
    const last = this.#breaker.lastFailure;
    const opener = last && 'error' in last && last.error instanceof Fault ? last.error.kind : 'UNREACHABLE';
    const retryAfter = Math.max(1, Math.ceil((this.#probeAt - Date.now()) / 1000));
    return new Fault(opener, { retryAfter, asked: false }).answer;
  }
}

const breakerStates = {
  [CircuitState.Closed]: 'CLOSED',
  [CircuitState.HalfOpen]: 'PROBING',
  [CircuitState.Open]: 'OPEN',
  [CircuitState.Isolated]: 'OPEN',
} as const;
