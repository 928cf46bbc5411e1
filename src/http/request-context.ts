import { setTimeout as delay } from 'node:timers/promises';
import type { Request, Response } from 'express';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import { type Context, contextOf, type Services } from '../core/context.ts';
import { RateLimited } from '../core/errors.ts';
import { leftOf } from './connections/closed.ts';
import type { Authenticator } from './identity/caller.ts';

/** The delay of refusals, since clients that retry at once would take time from those within their limit. */
const OVER_LIMIT_MS = 500;

export interface HttpServices extends Services {
  authenticator: Authenticator;
  rateLimit: RateLimit;
  log: Logger;
  ending: AbortSignal;
}

/** Authenticates and counts a request. Throws Unauthenticated, Forbidden, Unavailable, CompanyElsewhere and RateLimited. */
export async function openContext(services: HttpServices, req: Request, res: Response): Promise<Context> {
  const caller = await services.authenticator.authenticate(req.get('Authorization'));
  localsOf(res).company = caller?.company;
  if (caller) services.fence?.check(caller.company);
  await countRequest(services, payerOf(caller, req), res);
  // Made at first use, and once: a stream reads it often.
  let left: AbortSignal | undefined;
  return contextOf(services, localsOf(res).requestId, caller, () => {
    left ??= leftOf(res);
    return left;
  });
}

/** Aborts when streams are to end: with the process, or when their company leaves this installation. */
export const endOf = ({ ending, fence }: HttpServices, caller: Context['caller']): AbortSignal =>
  fence && caller ? AbortSignal.any([ending, fence.leaving(caller.company)]) : ending;

/** Counts one request of a payer; throws RateLimited, after a delay. */
export async function countRequest({ rateLimit }: HttpServices, payer: string, head: Pick<Response, 'setHeader'>) {
  try {
    limitRate(rateLimit, payer, 1, head);
  } catch (error) {
    await delay(OVER_LIMIT_MS);
    throw error;
  }
}

/** The payer of a request: its company, or without a token its address. */
export const payerOf = (caller: Context['caller'], from?: Pick<Request, 'ip'>): string =>
  caller ? `company ${caller.company}` : `address ${networkOf(from?.ip)}`;

/** The network of one home or machine in IPv6, whose addresses it chooses freely. */
const NETWORK_BITS = 64;

/** An IPv4 address, also where it is written as IPv6, or the network of an IPv6 address. */
function networkOf(ip: string | undefined): string {
  if (!ip || !ipaddr.isValid(ip)) return 'unknown';
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv4') return address.toString();
  return ipaddr.IPv6.networkAddressFromCIDR(`${ip.split('%')[0]}/${NETWORK_BITS}`).toString();
}

/** A path that may stand in BASE_PATH, or nothing. Browsers would resolve `.` and `..`. */
const PLAIN_PATH = /^(?:\/(?!\.\.?(?:\/|$))[\w.~-]+)*$/;

/**
 * The path below which a proxy shows this service, such as `/api/fleet`, with which all addresses in answers begin: what
 * a trusted proxy says, else BASE_PATH.
 */
export function basePathOf({ config: { BASE_PATH = '' } }: HttpServices, req: Request): string {
  const given = req.get('X-Forwarded-Prefix');
  // Express has addresses of proxies here only if it trusts them.
  if (given === undefined || req.ips.length === 0) return BASE_PATH;
  // Each of several proxies adds what it has taken off.
  const parts = given.split(',').map((part) => part.trim().replace(/\/$/, ''));
  const path = parts.join('');
  return PLAIN_PATH.test(path) ? path : BASE_PATH;
}

/** Addresses and localhost: any other name could belong to a hostile page (DNS rebinding). */
const OWN_HOST = /^(?:localhost|[\w-]+\.localhost|\d+\.\d+\.\d+\.\d+|\[[\da-f:]+\])(?::\d+)?$/i;

/** In development a token for the company `demo`, shown on our pages. */
export async function ownToken({ authenticator }: HttpServices, req: Request): Promise<string | undefined> {
  if (!OWN_HOST.test(req.get('Host') ?? '')) return undefined;
  return authenticator.issue?.({ company: 'demo' });
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
  anonymous?: boolean;
  /** Whether a GraphQL operation reads an uploaded file, for which it has more time than others. */
  readsUpload?: boolean;
  /** SHA-256 of the body in hex, where an Idempotency-Key came with it. */
  digest?: string;
}

export type AnswerHead = Pick<Response, 'locals' | 'setHeader'>;

/** `res.locals` with their types, which Express leaves open. */
export const localsOf = (res: Pick<Response, 'locals'>): Locals => res.locals as Locals;

/** The label of a request: its route or GraphQL operation, never its address, which may hold a VIN. */
export function operationOf(req: Request, res: Response): string {
  const { operation, route } = localsOf(res);
  return operation ?? `${req.method} ${route ?? '(no route)'}`;
}

/** The logged status of a request whose client left before its answer, as nginx has it. */
const CLIENT_HAS_LEFT = 499;

export const loggedStatus = (res: Response): number => (res.headersSent ? res.statusCode : CLIENT_HAS_LEFT);

const WINDOW_MS = 60_000;
/** The most payers counted apart; later ones share one count. */
const MOST_COUNTED = 100_000;

/** Points that each payer may use of this process per minute of the clock. */
export class RateLimit {
  readonly perMinute: number;
  #minute = 0;
  #used = new Map<string, number>();

  constructor(perMinute: number) {
    this.perMinute = perMinute;
  }

  /** Counts points if they are within the limit; gives the points left, and the seconds left of the minute. */
  use(payer: string, points: number, now = Date.now()) {
    const minute = now - (now % WINDOW_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#used = new Map();
    }
    const key = this.#used.has(payer) || this.#used.size < MOST_COUNTED ? payer : '(others)';
    const before = this.#used.get(key) ?? 0;
    const allowed = before + points <= this.perMinute;
    const used = allowed ? before + points : before;
    this.#used.set(key, used);
    const left = Math.max(0, this.perMinute - used);
    return { allowed, left, seconds: Math.ceil((minute + WINDOW_MS - now) / 1000) };
  }
}

/** Counts points and writes the rest into the headers; throws RateLimited. */
export function limitRate(limit: RateLimit, payer: string, points: number, res: Pick<Response, 'setHeader'>): void {
  const { perMinute } = limit;
  if (perMinute === 0) return;
  const { allowed, left, seconds } = limit.use(payer, points);
  res.setHeader('RateLimit-Policy', `"company";q=${perMinute};w=${WINDOW_MS / 1000}`);
  res.setHeader('RateLimit', `"company";r=${left};t=${seconds}`);
  if (!allowed) throw new RateLimited(seconds);
}
