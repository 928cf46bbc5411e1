import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import type { Context, Services } from '../core/context.ts';
import type { Authenticator } from './caller.ts';
import { limitRate, type RateLimit } from './rate-limit.ts';

/** What the HTTP faces need beside the core's own. */
export interface HttpServices extends Services {
  authenticator: Authenticator;
  rateLimit: RateLimit;
  log: Logger;
}

/**
 * The context of one request: who asks, and an entity manager of its own. Counts against the company's rate.
 * Throws Unauthenticated, Forbidden, Unavailable and RateLimited.
 */
export async function openContext(services: HttpServices, req: Request, res: Response): Promise<Context> {
  const caller = await services.authenticator.authenticate(req.get('Authorization'));
  res.locals.company = caller?.company;
  await limitRate(services.rateLimit, caller?.company ?? `anonymous ${req.ip}`, res);
  return contextOf(services, res.locals.requestId, caller);
}

/** A context for `caller`, or for the service's own work. */
export function contextOf(services: Services, requestId: string, caller: Context['caller']): Context {
  let em: Context['em'] | undefined;
  return {
    /** Made when first used: not every request does. */
    get em() {
      // Joins the transaction it is used in: on the embedded database a second connection would wait for ever.
      em ??= services.database.orm.em.fork({ useContext: true });
      return em;
    },
    caller,
    services,
    requestId,
    now: () => new Date(),
  };
}
