import type { EntityManager } from '@mikro-orm/sql';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { Fairness } from '../fairness/places.ts';
import type { Manufacturers } from '../manufacturers/index.ts';
import type { ChangeFeed } from './changes.ts';
import { type ErrorCode, Forbidden, Unauthenticated } from './errors.ts';
import type { Followers } from './followers.ts';

export const allScopes = ['fleets:read', 'fleets:write', 'contracts:read', 'contracts:write'] as const;
export type Scope = (typeof allScopes)[number];

/** The caller of an operation. `company` is the tenant that every statement is confined to. */
export interface Caller {
  company: string;
  /** The token's `sub`. */
  subject: string;
  /** null: scopes are not in use. */
  scopes: ReadonlySet<string> | null;
  /** Expiry of the token in ms since 1970: streams end with it. */
  expiresAt: number;
}

/** What a process has one of. Rooms that keep a service of their own add it here (`files`: imports/file-readers.ts). */
export interface Services {
  config: Config;
  database: Database;
  manufacturers: Manufacturers;
  changes: ChangeFeed;
  followers: Followers;
  fairness: Fairness;
  /** The clock, in ms since 1970, by which leases and due times go. */
  clock: () => number;
}

/** The scopes that an answer needed, noted while it is made: a repeated answer needs the same scopes. */
class DisclosureRecord {
  readonly scopes = new Set<string>();
  secret: { webhookId: string; text: string } | null = null;
}

/** The context of a core function. `caller` is null for requests without a token, and for jobs. */
export interface Context {
  em: EntityManager;
  caller: Caller | null;
  services: Services;
  requestId: string;
  disclosure: DisclosureRecord;
  /** Aborts when the client has left; missing for jobs. */
  left?: (() => AbortSignal) | undefined;
  /** Its reads go to no replica, which may lag; those that several clients share take no turn of large work, either. */
  reads?: 'newest' | 'shared' | undefined;
  now(): Date;
}

/** A class: an object literal with a getter has a new hidden class each time, which is slow and stays in memory. */
class CallContext implements Context {
  declare readonly services: Services;
  declare readonly requestId: string;
  declare readonly caller: Caller | null;
  declare readonly disclosure: DisclosureRecord;
  declare readonly left: (() => AbortSignal) | undefined;
  declare readonly reads: Context['reads'];
  #em: EntityManager | undefined;

  constructor({ services, requestId, caller, disclosure, left, reads }: Omit<Context, 'em' | 'now'>) {
    Object.assign(this, { services, requestId, caller, disclosure, left, reads });
  }

  /** Made when first used: not every request needs it. */
  get em(): EntityManager {
    // Joins the transaction it is used in: on the embedded database a second connection would wait for ever.
    this.#em ??= this.services.database.orm.em.fork({ useContext: true });
    return this.#em;
  }

  now(): Date {
    return new Date(this.services.clock());
  }
}

export const contextOf = (services: Services, requestId: string, caller: Caller | null, left?: Context['left']) =>
  new CallContext({ services, requestId, caller, disclosure: new DisclosureRecord(), left });

/** A context with its own entity manager, for each operation of a request and each event of a stream. */
export const renewContext = (ctx: Context): Context => new CallContext(ctx);

/** The context of work that continues without its client, and so does not wait in turn among requests. */
export const contextWithoutClient = (ctx: Context): Context => new CallContext({ ...ctx, left: undefined });

/** The context of a read of what the caller has changed or was told of, or of what must not be shorter than it was before. */
export const contextOfNewestRead = (ctx: Context): Context => new CallContext({ ...ctx, reads: 'newest' });

/** The context of a read for several clients, none of which ends it by leaving. */
export const contextOfSharedRead = (ctx: Context): Context =>
  new CallContext({ ...ctx, left: () => new AbortController().signal, reads: 'shared' });

/** A command as both interfaces describe it. */
export interface CommandDescription {
  /** Whole sentences that hold in both; REST may add others. */
  description: string;
  scope: Scope;
  /** The errors beside those of every command. */
  errors: readonly ErrorCode[];
  /** An input, with ids in place of the caller's. REST has a part of it in the address. */
  example: Readonly<Record<string, unknown>>;
}

/** The tenant; throws Unauthenticated or Forbidden. A core function that a request calls begins with an authorize function. */
export function authorize(ctx: Context, scope: Scope): string {
  const { company } = requireCaller(ctx);
  requireScope(ctx, scope);
  return company;
}

/** The caller, with any scopes; throws Unauthenticated. */
export function requireCaller({ caller }: Context): Caller {
  if (!caller)
    throw new Unauthenticated('This needs a bearer token. Send it as "Authorization: Bearer <token>".', null);
  return caller;
}

/** Throws Unauthenticated, or Forbidden unless the caller has one of these scopes. */
export function authorizeAnyScope(ctx: Context, scopes: readonly [Scope, ...Scope[]]): void {
  requireCaller(ctx);
  if (!scopes.some((scope) => hasScope(ctx, scope))) requireScope(ctx, scopes[0]);
}

/** The tenant; null (all companies) for a caller without a token where contracts are open. Throws Unauthenticated or Forbidden. */
export function authorizeContracts(ctx: Context, scope: Scope): string | null {
  if (!ctx.caller && ctx.services.config.CONTRACTS_AUTH === 'open') return null;
  return authorize(ctx, scope);
}

/** Whether the caller has the scope, if scopes are in use; notes it as used for the answer. */
export function hasScope({ caller, disclosure }: Context, scope: string): boolean {
  if (caller?.scopes && !caller.scopes.has(scope)) return false;
  disclosure.scopes.add(scope);
  return true;
}

export function requireScope(ctx: Context, scope: Scope, message = `The token lacks the scope ${scope}.`): void {
  if (!hasScope(ctx, scope)) throw new Forbidden(message, scope);
}
