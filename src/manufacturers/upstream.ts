import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { breakerDefaults, openBreakers, secondsUntil } from './breaker.ts';
import {
  exchange,
  exchangeList,
  type IssuedToken,
  issuedToken,
  openAgent,
  type Reply,
  sharedToken,
  type UpstreamRequest,
} from './exchange.ts';
import { type Host, type Places, type Trace, untraced } from './host.ts';
import { elementsOf } from './json-elements.ts';
import { type Asker, type NoAnswer, notAsked, ProviderError, type ProviderState, reasonOf } from './provider.ts';

const defaults = {
  /** Calls under way at the same time, and connections kept. */
  concurrency: 16,
  /** The time for one request and its answer. A call has up to four: token and question, each again after a 401. */
  timeoutMs: 30_000,
  /** Calls wait out a pause up to this long; a longer one is their answer at once. */
  patienceMs: 2_000,
  /** Whether it is reached through the proxy of the environment (openAgent). */
  byProxy: false,
  /** Is told of refusals that an operator must look into, once a minute each. */
  tell: (_refusal: Refusal): void => {},
  ...breakerDefaults,
};
export type UpstreamOptions = Partial<typeof defaults>;

/** What a manufacturer's service refused: its status, and the name that its body gives the fault. */
export type Refusal = { provider: string; status: number; fault: string | null };

/** The longest pause after several 429s without Retry-After. */
const LONGEST_UNNAMED_PAUSE_S = 60;
/** Bytes of the largest answer: 200 clearances, each with the changes of years. */
const LARGEST_BODY = 4 * 1024 * 1024;
/** A vehicle that failed while its brand is held back waits longer than one not asked about, which is the next probe. */
const BEHIND_OTHERS = 1.5;

const LONGEST_FAULT = 200;
/** Members that name a fault: of RFC 9457, of RFC 6749, and of JSON:API. */
const faultNames = z
  .object({ type: z.string(), title: z.string(), error: z.string(), errors: z.array(z.object({ title: z.string() })) })
  .partial()
  .catch({});

const notReached = notAsked(0);

const anyone: Asker = { company: '', deadline: Number.POSITIVE_INFINITY };

/** A manufacturer's service: one token, bounded concurrency, time-outs, pauses that it asks for, and circuit breakers. */
export abstract class Upstream {
  abstract readonly id: string;
  readonly capacity: Places;
  readonly #trace: Trace;
  readonly #agent: Dispatcher;
  /** Connections for lists, which have no largest size. */
  readonly #lists: Dispatcher;
  readonly #breakers: ReturnType<typeof openBreakers>;
  readonly #token: ReturnType<typeof sharedToken>;
  readonly #options: typeof defaults;
  readonly #reported: LRUCache<string, true>;
  #pausedSince = 0;
  #pausedUntil = 0;
  #unnamedPauses = 0;
  #closed = false;

  constructor(token: UpstreamRequest, { openPlaces, trace = untraced, ...options }: UpstreamOptions & Host) {
    this.#options = { ...defaults, ...options };
    const { concurrency, clock, byProxy } = this.#options;
    this.#agent = openAgent(byProxy, { connections: concurrency, maxResponseSize: LARGEST_BODY });
    this.#lists = openAgent(byProxy, { connections: 1 });
    this.capacity = openPlaces(concurrency);
    this.#trace = trace;
    this.#reported = new LRUCache({ max: 100, ttl: 60_000, perf: { now: clock } });
    this.#breakers = openBreakers(this.#options);
    this.#token = sharedToken(() => this.#issue(token), clock);
  }

  /** Sends the request with the token, unless too little time is left for a whole call. Never throws: it answers. */
  protected async ask(brand: string, request: UpstreamRequest, { company, deadline }: Asker = anyone) {
    try {
      return await this.capacity.run(company, async () => {
        if (this.#closed || deadline - this.#options.clock() < this.#options.timeoutMs) return notReached;
        await this.#waitForPauseToEnd(deadline);
        return await this.#breakers.watch(brand, async () => {
          const start = performance.now();
          return await this.#authorised(request, deadline).finally(() => this.capacity.took(performance.now() - start));
        });
      });
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      // The end of this process is no fault of the manufacturer.
      if (this.#closed) return notReached;
      const { answer } = error;
      const hold = answer.asked ? this.#breakers.hold(brand) : null;
      if (!hold) return answer;
      return { ...answer, retryAfter: Math.max(answer.retryAfter ?? 0, hold.seconds * BEHIND_OTHERS) };
    }
  }

  /** The elements of a list of any length, as they come. Throws ProviderError. */
  protected async *list(url: string, isRetry = false): AsyncGenerator<unknown> {
    const token = await this.#token.get();
    const call = { method: 'GET', url, headers: { authorization: `Bearer ${token}` } } as const;
    const reply = await exchangeList(this.#lists, call, this.#options.timeoutMs);
    if (reply.outcome === 'PARTS') return yield* elementsOf(reply.parts);
    if (reply.status !== 401)
      throw new ProviderError(reply.status === 403 ? 'CREDENTIALS' : 'UNEXPECTED', { raw: reply });
    this.#token.drop(token);
    if (isRetry) throw this.#refusesCredentials(reply);
    yield* this.list(url, true);
  }

  /** The answer where a service refuses what we sent, and its protocol does not say why. */
  protected unexpected({ status, body }: Reply): NoAnswer {
    this.#tell(status, body);
    return new ProviderError('UNEXPECTED', { raw: { status, body } }).answer;
  }

  #tell(status: number, body: unknown): void {
    const { error, type, title, errors } = faultNames.parse(body);
    const named = [type === 'about:blank' ? null : type, title, error, errors?.[0]?.title].find(Boolean);
    const refusal = { provider: this.id, status, fault: named?.slice(0, LONGEST_FAULT) ?? null };
    const key = JSON.stringify(refusal);
    if (this.#reported.has(key)) return;
    this.#reported.set(key, true);
    this.#options.tell(refusal);
  }

  state(): ProviderState {
    const { provider, brands, holds } = this.#breakers.state();
    const now = this.#options.clock();
    const pauseMs = this.#pauseMs();
    const pause = { brand: null, seconds: secondsUntil(this.#pausedUntil, now), reason: reasonOf('BUSY') };
    return {
      ...provider,
      since: provider.since ?? (pauseMs > 0 ? new Date(this.#pausedSince) : null),
      pausedUntil: pauseMs > 0 ? new Date(this.#pausedUntil) : null,
      brands,
      holds: pauseMs > this.#options.patienceMs ? [pause, ...holds] : holds,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#agent.destroy(), this.#lists.destroy()]);
  }

  async #authorised(request: UpstreamRequest, deadline: number, isRetry = false): Promise<Reply> {
    const token = await this.#token.get();
    const reply = await this.#send({ ...request, headers: { authorization: `Bearer ${token}` } }, deadline);
    if (reply.status !== 401) return reply;
    this.#token.drop(token);
    if (isRetry) throw this.#refusesCredentials(reply);
    return this.#authorised(request, deadline, true);
  }

  async #issue(request: UpstreamRequest): Promise<IssuedToken> {
    const reply = await this.#send(request).catch((error) => {
      // Without a token no brand can be asked about.
      if (error instanceof ProviderError && error.concerns === 'BRAND') error.concerns = 'PROVIDER';
      throw error;
    });
    const { status, body } = reply;
    if (status >= 400) throw this.#refusesCredentials(reply);
    const issued = issuedToken.safeParse(body);
    if (issued.success) return issued.data;
    // The body is not kept here: it may hold a token.
    throw new ProviderError('BAD_ANSWER', { raw: { status, tokenEndpoint: true }, concerns: 'PROVIDER' });
  }

  #refusesCredentials({ status, body }: Reply): ProviderError {
    this.#tell(status, body);
    return new ProviderError('CREDENTIALS', { raw: { status, body } });
  }

  async #send(request: UpstreamRequest, deadline = Number.POSITIVE_INFINITY): Promise<Reply> {
    try {
      const leftMs = Math.max(0, deadline - this.#options.clock());
      const reply = await exchange(this.#agent, request, Math.min(this.#options.timeoutMs, leftMs), this.#trace);
      this.#unnamedPauses = 0;
      return reply;
    } catch (error) {
      const isBusy = error instanceof ProviderError && error.kind === 'BUSY' && error.concerns === 'CALL';
      if (isBusy) this.#pause(error.answer.retryAfter);
      throw error;
    }
  }

  #pause(named: number | undefined): void {
    const now = this.#options.clock();
    const leftMs = this.#pauseMs();
    // Calls that were under way when the pause began do not lengthen it.
    if (named === undefined && leftMs > 0) return;
    if (leftMs === 0) this.#pausedSince = now;
    const seconds = named ?? Math.min(LONGEST_UNNAMED_PAUSE_S, 2 ** this.#unnamedPauses++);
    this.#pausedUntil = now + Math.max(leftMs, seconds * 1000);
  }

  /** What is left of a pause. A clock that was set back to before it must not lengthen it. */
  #pauseMs(): number {
    const now = this.#options.clock();
    return now < this.#pausedSince ? 0 : Math.max(0, this.#pausedUntil - now);
  }

  async #waitForPauseToEnd(deadline: number): Promise<void> {
    for (;;) {
      const left = this.#pauseMs();
      if (left === 0) return;
      const late = this.#pausedUntil > deadline - this.#options.timeoutMs;
      if (left > this.#options.patienceMs || late) {
        throw new ProviderError('BUSY', { retryAfter: Math.ceil(left / 1000), asked: false });
      }
      await sleep(left);
    }
  }
}
