import { setTimeout as delay } from 'node:timers/promises';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { type Context, contextOf, type Services } from '../core/context.ts';
import { shareRateUse } from '../core/operations/rate-use.ts';
import { leftOf } from './connections/closed.ts';
import type { Authenticator } from './identity/caller.ts';
import { clientAddress } from './identity/client-address.ts';
import { localsOf } from './locals.ts';
import { limitRate, RateLimit } from './rate-limit.ts';

/** Who asks again at once, against all advice, would take the time of those who are not over their limit. */
const OVER_LIMIT_MS = 500;

/** What the HTTP interfaces need beside the core's own. */
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
  return contextOf(services, localsOf(res).requestId, caller, () => leftOf(res));
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
