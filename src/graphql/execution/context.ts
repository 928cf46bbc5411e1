import type { GraphQLField, GraphQLSchema, OperationTypeNode } from 'graphql';
import { type Context, needScope, type Scope } from '../../core/context.ts';
import { CostExceeded, type DomainError, Unavailable } from '../../core/errors.ts';
import { PAGE_MAX } from '../../core/sql/page-size.ts';
import { type AnswerHead, limitRate, localsOf, type RateLimit } from '../../http/request-context.ts';
import type { Plans } from './plan.ts';
import { Reads } from './reads.ts';
import type { Variables } from './selected.ts';

/** A request without the operation that it sends. */
export interface RequestContext {
  ctx: Context;
  /** Aborts when the client has gone or has its answer, the token expires, or the process is to end. */
  closed: () => AbortSignal;
  idempotencyKey: string | undefined;
  /** The answer, whose `locals` hold the operation's label for the log. */
  res: AnswerHead;
}

/** The context of resolvers. */
export class GraphqlContext implements RequestContext {
  readonly ctx: Context;
  readonly closed: () => AbortSignal;
  readonly idempotencyKey: string | undefined;
  readonly res: AnswerHead;
  /** The objects that the answer may still hold. */
  readonly budget: AnswerBudget;
  readonly reads: Reads;

  constructor({ ctx, closed, idempotencyKey, res }: RequestContext, plans: Plans, variables: Variables) {
    this.ctx = ctx;
    this.closed = closed;
    this.idempotencyKey = idempotencyKey;
    this.res = res;
    this.budget = new AnswerBudget(ctx.services.config.LIMIT_GRAPHQL_COST);
    this.reads = new Reads(ctx, plans, variables);
  }
}

/** One point of the rate limit pays for as many objects as the largest page of REST has. */
const OBJECTS_PER_POINT = PAGE_MAX;

/** Counts what an operation of this cost is worth beyond a request; throws RateLimited. */
export function chargeCost(rateLimit: RateLimit, payer: string, cost: number, head: AnswerHead): void {
  // An operation may cost more than a minute's points: it takes all of them.
  const points = Math.min(Math.ceil(cost / OBJECTS_PER_POINT), rateLimit.perMinute) - 1;
  if (points > 0) limitRate(rateLimit, payer, points, head);
}

/** Bytes of an answer's text. */
export const MOST_BYTES = 32 * 1024 * 1024;

/** Counts the objects that an execution really makes, however its cost was estimated. */
export class AnswerBudget {
  readonly #most: number;
  /** Of JSON values, which an answer may hold under many names. */
  readonly lengths = new WeakMap<object, number>();
  #objects = 0;
  #bytes = 0;
  #domainError: DomainError | null = null;

  constructor(mostObjects: number) {
    this.#most = mostObjects;
  }

  /** Why this execution is to end, once it is. */
  get domainError(): DomainError | null {
    return this.#domainError;
  }

  /** Ends the execution where it next makes something. */
  stop(domainError: DomainError): void {
    this.#domainError ??= domainError;
  }

  /** Counts what was made; gives the error where it is too much, or the execution was stopped. */
  spend(objects: number, bytes: number): DomainError | null {
    this.#objects += objects;
    this.#bytes += bytes;
    if (this.#objects > this.#most) this.stop(tooLarge(`${this.#most.toLocaleString('en')} objects`));
    if (this.#bytes > MOST_BYTES) this.stop(tooLarge(`${MOST_BYTES.toLocaleString('en')} bytes`));
    return this.#domainError;
  }

  /** Begins anew, for the next event of a subscription. */
  renew(): void {
    this.#objects = this.#bytes = 0;
    this.#domainError = null;
  }
}

/** The error of an answer that turned out to be too large. */
export const tooLarge = (what: string): CostExceeded =>
  new CostExceeded(`The answer holds more than ${what}: ask for less at a time. A change that it tells of is made.`);

export type MaybePromise<T> = T | Promise<T>;

/**
 * Waits for an operation no longer than LIMIT_GRAPHQL_SECONDS; throws Unavailable then, and CostExceeded for an answer that
 * turned out too large. Its statements end by the database's own limit. Uploads may take as long as they arrive.
 */
export function inTime<T>({ budget, ctx, res }: GraphqlContext, work: MaybePromise<T>): MaybePromise<T> {
  const checked = (result: T): T => {
    if (budget.domainError) throw budget.domainError;
    return result;
  };
  if (!(work instanceof Promise)) return checked(work);
  if (localsOf(res).upload) return work.then(checked);
  const seconds = ctx.services.config.LIMIT_GRAPHQL_SECONDS;
  // One promise and one timer: a race and a `finally` make several more for each request.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const domainError = new Unavailable(
        `The operation took longer than ${seconds} s. A change that it was making may still be made.`,
      );
      // Resolvers that still run end, too.
      budget.stop(domainError);
      reject(domainError);
    }, seconds * 1000);
    const settle = (end: () => void) => {
      clearTimeout(timer);
      end();
    };
    work.then(
      (result) => settle(() => (budget.domainError ? reject(budget.domainError) : resolve(result))),
      (error) => settle(() => reject(error)),
    );
  });
}

/** Extensions of a field of a root type that needs another scope than most. */
export interface Needs {
  /** null: core sees to it, since not all that is found needs the same one. */
  scope: Scope | null;
}

/** The scopes that fields of the root types need by default. */
const usualScopes: Readonly<Record<OperationTypeNode, Scope>> = {
  query: 'fleets:read',
  mutation: 'fleets:write',
  subscription: 'fleets:read',
};

type RootField = GraphQLField<unknown, GraphqlContext>;
const scopeOf = ({ extensions }: RootField, usual: Scope): Scope | null => {
  const { scope = usual } = extensions as Partial<Needs>;
  return scope;
};

/** The scope that a mutation needs, whatever its input; undefined for what is no field of the schema. */
export const scopeOfMutation = (schema: GraphQLSchema, name: string): Scope | null | undefined => {
  const field = schema.getMutationType()?.getFields()[name];
  return field && scopeOf(field, usualScopes.mutation);
};

/** Looks at scopes before arguments are judged: as in REST, whoever may not ask is told nothing else. */
export function scopesFirst(schema: GraphQLSchema): GraphQLSchema {
  for (const [operation, usual] of Object.entries(usualScopes)) {
    for (const field of Object.values(schema.getRootType(operation as OperationTypeNode)?.getFields() ?? {})) {
      const scope = scopeOf(field, usual);
      if (scope === null) continue;
      const { resolve, subscribe } = field;
      // The first of the two that is called.
      if (subscribe) field.subscribe = needing(scope, subscribe);
      else if (resolve) field.resolve = needing(scope, resolve);
    }
  }
  return schema;
}

const needing =
  <Args extends [unknown, unknown, GraphqlContext, ...unknown[]], Result>(
    scope: Scope,
    resolve: (...args: Args) => Result,
  ) =>
  (...args: Args): Result => {
    needScope(args[2].ctx, scope);
    return resolve(...args);
  };
