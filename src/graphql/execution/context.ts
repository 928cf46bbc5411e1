import type { GraphQLField, GraphQLFieldResolver, GraphQLSchema, OperationTypeNode } from 'graphql';
import { type Context, needScope, type Scope } from '../../core/context.ts';
import { CostExceeded, type DomainError, Unavailable } from '../../core/errors.ts';
import { PAGE_MAX } from '../../core/sql/page.ts';
import { type AnswerHead, limitRate, localsOf, type RateLimit } from '../../http/request-context.ts';
import type { Shown } from './errors.ts';
import type { Reads } from './reads.ts';

/** A request of whichever transport. */
export interface OperationRequest extends Shown {
  ctx: Context;
  /** Aborts when the client has gone or has its answer, the token expires, or the process is to end. */
  closed: () => AbortSignal;
  idempotencyKey: string | undefined;
  /** Counts what an operation of this cost is worth beyond a request; throws RateLimited. */
  charge: (cost: number) => void;
  /** False for GET, which changes nothing. */
  mayChange: boolean;
  /** Called when a stream of results has ended. */
  onEnd?: () => void;
}

/** The context of resolvers. */
export interface GraphqlContext extends OperationRequest {
  /** The objects that the answer may still hold. */
  budget: AnswerBudget;
  reads: Reads;
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
  /** Why this execution is to end, once it is. */
  domainError: DomainError | null = null;

  constructor(mostObjects: number) {
    this.#most = mostObjects;
  }

  /** Ends the execution where it next makes something. */
  stop(domainError: DomainError): void {
    this.domainError ??= domainError;
  }

  /** Counts what was made; gives the error where it is too much, or the execution was stopped. */
  spend(objects: number, bytes: number): DomainError | null {
    this.#objects += objects;
    this.#bytes += bytes;
    if (this.#objects > this.#most) this.stop(tooLarge(`${this.#most.toLocaleString('en')} objects`));
    if (this.#bytes > MOST_BYTES) this.stop(tooLarge(`${MOST_BYTES.toLocaleString('en')} bytes`));
    return this.domainError;
  }

  /** Begins anew, for the next event of a subscription. */
  renew(): void {
    this.#objects = this.#bytes = 0;
    this.domainError = null;
  }
}

/** The error of an answer that turned out to be too large. */
export const tooLarge = (what: string): CostExceeded =>
  new CostExceeded(`The answer holds more than ${what}: ask for less at a time. A change that it tells of is made.`);

export type MaybePromise<T> = T | Promise<T>;
export type Resolver = GraphQLFieldResolver<unknown, GraphqlContext>;

/**
 * Waits for an operation no longer than LIMIT_GRAPHQL_SECONDS; throws Unavailable then, and CostExceeded for an answer that
 * turned out too large. Its statements end by the database's own limit. Uploads may take as long as they arrive.
 */
export async function inTime<T>({ budget, ctx, res }: GraphqlContext, work: MaybePromise<T>): Promise<T> {
  const result = await (localsOf(res).upload ? work : withTimeLimit(budget, ctx.services.config, work));
  if (budget.domainError) throw budget.domainError;
  return result;
}

async function withTimeLimit<T>(
  budget: AnswerBudget,
  { LIMIT_GRAPHQL_SECONDS: seconds }: Context['services']['config'],
  work: MaybePromise<T>,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const text = `The operation took longer than ${seconds} s. A change that it was making may still be made.`;
    const domainError = new Unavailable(text);
    // Resolvers that still run end, too.
    budget.stop(domainError);
    reject(domainError);
  }, seconds * 1000);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Extensions of a field of a root type that needs another scope than most. */
export type Needs = {
  /** null: core sees to it, since not all that is found needs the same one. */
  scope: Scope | null;
};

/** The scopes that fields of the root types need by default. */
const usualScopes: Readonly<Record<OperationTypeNode, Scope>> = {
  query: 'fleets:read',
  mutation: 'fleets:write',
  subscription: 'fleets:read',
};

/** The scope that a field of a root type needs, whatever its arguments. */
export function scopeOf(field: GraphQLField<unknown, unknown>, operation: OperationTypeNode): Scope | null {
  const { scope = usualScopes[operation] } = field.extensions as Partial<Needs>;
  return scope;
}

/** Looks at scopes before arguments are judged: as in REST, whoever may not ask is told nothing else. */
export function scopesFirst(schema: GraphQLSchema): GraphQLSchema {
  for (const operation of Object.keys(usualScopes) as OperationTypeNode[]) {
    for (const field of Object.values(schema.getRootType(operation)?.getFields() ?? {})) {
      const scope = scopeOf(field, operation);
      if (scope === null) continue;
      // Of a field that has both, this is called first.
      const first = field.subscribe ? 'subscribe' : 'resolve';
      const resolve = field[first] as Resolver;
      field[first] = (source, args, context: GraphqlContext, info) => {
        needScope(context.ctx, scope);
        return resolve(source, args, context, info);
      };
    }
  }
  return schema;
}
