import type { EntityManager } from '@mikro-orm/sql';
import type { Config } from '../config.ts';
import type { Database } from '../entities/database.ts';
import type { Manufacturers } from '../manufacturers/registry.ts';
import type { Changes } from './changes.ts';
import { Forbidden, Unauthenticated } from './errors.ts';

export type Scope = 'fleets:read' | 'fleets:write' | 'contracts:read' | 'contracts:write';

/** Who is asking. `company` is the tenant every query is confined to. */
export interface Caller {
  company: string;
  /** The token's `sub`. */
  subject: string;
  /** null: scopes are not in use. */
  scopes: ReadonlySet<string> | null;
  /** When the token is good no more, in ms since 1970: nothing that goes on may outlive it. */
  expiresAt: number;
}

/** What the process is made of; one of it, shared by all requests and jobs. */
export interface Services {
  config: Config;
  database: Database;
  manufacturers: Manufacturers;
  changes: Changes;
}

/** What a core function works with. `caller` is null for those who sent no token, and for jobs. */
export interface Context {
  em: EntityManager;
  caller: Caller | null;
  services: Services;
  requestId: string;
  now(): Date;
}

/** The tenant of this call; throws Unauthenticated or Forbidden. The first line of every core function. */
export function companyOf(ctx: Context, scope: Scope): string {
  if (!ctx.caller) throw new Unauthenticated('This needs a bearer token.', null);
  needScope(ctx.caller, scope);
  return ctx.caller.company;
}

/** Like companyOf, but null (everyone's) for a caller without a token where contracts are open. */
export function contractCompanyOf(ctx: Context, scope: Scope): string | null {
  if (!ctx.caller && ctx.services.config.CONTRACTS_AUTH === 'open') return null;
  return companyOf(ctx, scope);
}

function needScope(caller: Caller, scope: Scope): void {
  if (caller.scopes && !caller.scopes.has(scope)) throw new Forbidden(`The token lacks the scope ${scope}.`, scope);
}
