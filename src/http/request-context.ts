import { setTimeout as delay } from 'node:timers/promises';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { type Context, contextOf, type Services } from '../core/context.ts';
import { RateLimited } from '../core/errors.ts';
import { shareRateUse } from '../core/operations/upkeep.ts';
import { leftOf } from './connections/closed.ts';
import type { Authenticator } from './identity/caller.ts';
import { clientAddress } from './identity/client-address.ts';

/** The delay of refusals, since clients that retry at once would take time from those within their limit. */
const OVER_LIMIT_MS = 500;

/** The services of the HTTP interfaces beside the core's own. */
export interface HttpServices extends Services {
  authenticator: Authenticator;
  rateLimit: RateLimit;
  log: Logger;
  /** Aborts when the process is to end. */
  ending: AbortSignal;
}

/**
 * The context of one request: who asks, and an entity manager of its own. Counts against the company's rate.
 * Throws Unauthenticated, Forbidden, Unavailable and RateLimited.
 */
export async function openContext(services: HttpServices, req: Request, res: Response): Promise<Context> {
  const caller = await services.authenticator.authenticate(req.get('Authorization'));
  localsOf(res).company = caller?.company;
  await countRequest(services, payerOf(caller, req), res);
  // Made when first asked for, and once: a stream reads again and again.
  let left: AbortSignal | undefined;
  return contextOf(services, localsOf(res).requestId, caller, () => {
    left ??= leftOf(res);
    return left;
  });
}

/** Counts one request against somebody's rate; throws RateLimited, after a moment. */
export async function countRequest({ rateLimit }: HttpServices, payer: string, head: Pick<Response, 'setHeader'>) {
  try {
    limitRate(rateLimit, payer, 1, head);
  } catch (error) {
    await delay(OVER_LIMIT_MS);
    throw error;
  }
}

/** Against whose rate a request counts: its company's, or without a token its address's. */
export const payerOf = (caller: Context['caller'], from?: Pick<Request, 'ip'>): string =>
  caller ? `company ${caller.company}` : `address ${clientAddress(from?.ip)}`;

/** The limit of RATE_LIMIT_PER_MINUTE; on a database server it holds for all processes together. */
export function openRateLimit(services: Services): RateLimit {
  const { config, database } = services;
  return new RateLimit(
    config.RATE_LIMIT_PER_MINUTE,
    database.kind === 'embedded' ? null : (...use) => shareRateUse(contextOf(services, 'rate limit', null), ...use),
  );
}

/** Facts about a request, collected for its answer, the log, metrics and traces. */
interface Locals {
  requestId: string;
  /** The address as the interface writes it, such as `/fleets/:fleetId`. */
  route?: string;
  company?: string | undefined;
  /** The code of the error that it was answered with. */
  code?: string | undefined;
  /** The label of a GraphQL operation: its type and first field. */
  operation?: string;
  /** The GraphQL operation has no name. */
  anonymous?: boolean;
  /** Stands where a file comes with the request; aborts when its client has gone. */
  upload?: AbortSignal;
  /** The length of the JSON body in bytes. */
  bodyBytes?: number;
  /** SHA-256 of the body in hex, where an Idempotency-Key came with it. */
  digest?: string;
}

/** The answer without its body. An operation on a shared connection has no headers of its own. */
export type AnswerHead = Pick<Response, 'locals' | 'setHeader'>;

/** Express leaves `res.locals` untyped; this is the one place that says what is in it. */
export const localsOf = (res: Pick<Response, 'locals'>): Locals => res.locals as Locals;

/** A VIN in a list of JSON. */
const BYTES_PER_ROW = 20;
/** The most rows that a body of this length can name. */
export const rowsOfBody = (res: Pick<Response, 'locals'>) => (localsOf(res).bodyBytes ?? 0) / BYTES_PER_ROW;

/** The label of a request: its route or GraphQL operation, never its address, which may hold a VIN. */
export function operationOf(req: Request, res: Response): string {
  const { operation, route } = localsOf(res);
  return operation ?? `${req.method} ${route ?? '(no route)'}`;
}

/** The status for operators of a request whose client left before its answer began, as nginx has it. */
const CLIENT_HAS_LEFT = 499;

/** The status of a request that is over, for the log, metrics and traces. */
export const loggedStatus = (res: Response): number => (res.headersSent ? res.statusCode : CLIENT_HAS_LEFT);

const WINDOW_MS = 60_000;
/** How far processes may know more than each other: one exchange takes one statement. */
const EXCHANGE_MS = 1_000;
/** The most addresses counted apart, which bounds memory in a flood; later ones share one count. */
const MOST_COUNTED = 100_000;

/** Tells the other processes what was counted here in a minute, and gives what all have counted, by whom. */
type ShareUse = (minute: number, counted: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>;

/** Whether a caller is within its limit, and the points left in this minute. */
interface Use {
  allowed: boolean;
  left: number;
  seconds: number;
}

/**
 * Points that each company may use per minute of the clock. Counted in memory, so that a request waits for nothing;
 * what was counted is exchanged in the background. While that fails, each process limits what comes to it alone.
 */
export class RateLimit {
  readonly perMinute: number;
  readonly #share: ShareUse | null;
  readonly #timer: NodeJS.Timeout | undefined;
  #minute = 0;
  /** `shared`: what all processes had at the last exchange; `unshared`: what has been counted here since. */
  #counts = new Map<string, { shared: number; unshared: number }>();
  #exchange: Promise<void> | null = null;

  constructor(perMinute: number, share: ShareUse | null) {
    this.perMinute = perMinute;
    this.#share = share;
    this.#timer =
      perMinute > 0 && share
        ? setInterval(() => {
            this.#exchange ??= this.#exchangeUse().finally(() => {
              this.#exchange = null;
            });
          }, EXCHANGE_MS).unref()
        : undefined;
  }

  /** Counts points, unless that would be too many: an error costs nothing. */
  use(who: string, points: number, now = Date.now()): Use {
    const minute = now - (now % WINDOW_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts = new Map();
    }
    const count = this.#countOf(who);
    const used = count.shared + count.unshared;
    const allowed = used + points <= this.perMinute;
    if (allowed) count.unshared += points;
    const left = Math.max(0, this.perMinute - used - (allowed ? points : 0));
    return { allowed, left, seconds: Math.ceil((minute + WINDOW_MS - now) / 1000) };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#exchange;
  }

  #countOf(who: string): { shared: number; unshared: number } {
    const key = this.#counts.has(who) || this.#counts.size < MOST_COUNTED ? who : '(others)';
    const count = this.#counts.get(key) ?? { shared: 0, unshared: 0 };
    this.#counts.set(key, count);
    return count;
  }

  async #exchangeUse(): Promise<void> {
    const counts = this.#counts;
    const counted = new Map([...counts].flatMap(([who, { unshared }]) => (unshared > 0 ? [[who, unshared]] : [])));
    if (counted.size === 0) return;
    try {
      const shared = await this.#share?.(this.#minute, counted);
      for (const [who, points] of counted) {
        const count = counts.get(who);
        if (!count) continue;
        count.unshared -= points;
        count.shared = shared?.get(who) ?? points;
      }
    } catch {
      // The next exchange sends these counts again.
    }
  }
}

/** Counts a request's points and says in the headers what is left; throws RateLimited. */
export function limitRate(limit: RateLimit, who: string, points: number, res: Pick<Response, 'setHeader'>): void {
  const { perMinute } = limit;
  if (perMinute === 0) return;
  const { allowed, left, seconds } = limit.use(who, points);
  res.setHeader('RateLimit-Policy', `"company";q=${perMinute};w=${WINDOW_MS / 1000}`);
  res.setHeader('RateLimit', `"company";r=${left};t=${seconds}`);
  if (!allowed) throw new RateLimited(seconds);
}
