import type { GraphQLField, GraphQLFieldResolver, GraphQLSchema, OperationTypeNode } from 'graphql';
import { type Context, requireScope, type Scope } from '../../core/context.ts';
import { CostExceeded, type DomainError, Unavailable } from '../../core/errors.ts';
import { MAX_PAGE_SIZE } from '../../core/sql/page.ts';
import { limitRate, localsOf } from '../../http/request-context.ts';
import type { ErrorContext } from './errors.ts';
import type { OperationReads } from './reads.ts';

export interface OperationRequest extends ErrorContext {
  ctx: Context;
  /** Aborts when the client disconnects or has its answer, its token expires, or the process is to end. */
  closed: () => AbortSignal;
  idempotencyKey: string | undefined;
  payer: string;
  mayChange: boolean;
  onEnd?: () => void;
}

export interface GraphqlContext extends OperationRequest {
  budget: AnswerBudget;
  reads: OperationReads;
}

/** One point of the rate limit pays for the largest page of REST. */
const OBJECTS_PER_POINT = MAX_PAGE_SIZE;

/** Counts the points of an operation of this cost beyond that of its request; throws RateLimited. */
export function chargeCost({ services: { rateLimit }, payer, res }: OperationRequest, cost: number): void {
  // An operation that costs more than a minute's points takes all of them.
  const points = Math.min(Math.ceil(cost / OBJECTS_PER_POINT), rateLimit.perMinute) - 1;
  if (points > 0) limitRate(rateLimit, payer, points, res);
}

const MOST_ANSWER_BYTES = 32 * 1024 * 1024;

/** Counts the objects and bytes that an execution makes. */
export class AnswerBudget {
  readonly #most: number;
  /** Lengths of JSON values, which an answer may hold under many names. */
  readonly lengths = new WeakMap<object, number>();
  #objects = 0;
  #bytes = 0;
  #held = 0;
  domainError: DomainError | null = null;

  constructor(mostObjects: number) {
    this.#most = mostObjects;
  }

  stop(domainError: DomainError): void {
    this.domainError ??= domainError;
  }

  /** Counts objects and bytes; gives the error if they are too many, or the execution was stopped. */
  spend(objects: number, bytes: number): DomainError | null {
    this.#objects += objects;
    this.#bytes += bytes;
    if (this.#objects > this.#most) this.stop(answerTooLarge(this.#most, 'objects'));
    if (this.#bytes > MOST_ANSWER_BYTES) this.stop(answerTooLarge(MOST_ANSWER_BYTES, 'bytes'));
    return this.domainError;
  }

  /** Counts texts that statements gave, which are held until the answer is made; throws CostExceeded. */
  hold(characters: number): void {
    this.#held += characters;
    if (this.#held > MOST_ANSWER_BYTES) this.stop(answerTooLarge(MOST_ANSWER_BYTES, 'bytes'));
    if (this.domainError) throw this.domainError;
  }

  renew(): void {
    this.#objects = this.#bytes = this.#held = 0;
    this.domainError = null;
  }
}

function answerTooLarge(most: number, unit: string): CostExceeded {
  const text = `The answer holds more than ${most.toLocaleString('en')} ${unit}: ask for less at a time.`;
  return new CostExceeded(`${text} A change that it tells of is made.`);
}

export type MaybePromise<T> = T | Promise<T>;
export type Resolver = GraphQLFieldResolver<unknown, GraphqlContext>;

/** Waits at most LIMIT_GRAPHQL_SECONDS for an operation that is no upload. Throws Unavailable, and CostExceeded for a large answer. */
export async function withTimeLimit<T>({ budget, services, res }: GraphqlContext, work: MaybePromise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const seconds = services.config.LIMIT_GRAPHQL_SECONDS;
  const timer = setTimeout(() => {
    if (localsOf(res).readsUpload) return;
    const text = `The operation took longer than ${seconds} s. A change that it was making may still be made.`;
    const domainError = new Unavailable(text);
    // Resolvers that still run end, too.
    budget.stop(domainError);
    reject(domainError);
  }, seconds * 1000);
  const result = await Promise.race([work, late]).finally(() => clearTimeout(timer));
  if (budget.domainError) throw budget.domainError;
  return result;
}

/** Extensions of a root field that needs another scope than most; null where core checks it. */
export type ScopeExtension = { scope: Scope | null };

const usualScopes: Readonly<Record<OperationTypeNode, Scope>> = {
  query: 'fleets:read',
  mutation: 'fleets:write',
  subscription: 'fleets:read',
};

export function scopeOfField(field: GraphQLField<unknown, unknown>, operation: OperationTypeNode): Scope | null {
  const { scope = usualScopes[operation] } = field.extensions as Partial<ScopeExtension>;
  return scope;
}

/** Checks scopes before arguments, as REST does. */
export function withScopeChecks(schema: GraphQLSchema): GraphQLSchema {
  for (const operation of Object.keys(usualScopes) as OperationTypeNode[]) {
    for (const field of Object.values(schema.getRootType(operation)?.getFields() ?? {})) {
      const scope = scopeOfField(field, operation);
      if (scope === null) continue;
      const first = field.subscribe ? 'subscribe' : 'resolve';
      const resolve = field[first] as Resolver;
      field[first] = (source, args, context: GraphqlContext, info) => {
        requireScope(context.ctx, scope);
        return resolve(source, args, context, info);
      };
    }
  }
  return schema;
}
