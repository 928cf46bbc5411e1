import type { GraphQLField, GraphQLFieldResolver, GraphQLResolveInfo, GraphQLSchema, OperationTypeNode } from 'graphql';
import { type Context, requireScope, type Scope } from '../../core/context.ts';
import { CostExceeded, type DomainError, type ErrorCode } from '../../core/errors.ts';
import type { PlanAnswer } from '../../core/sql/answer.ts';
import type { AnswerMembers, AnswerPart } from '../../core/sql/resource.ts';
import type { AnswerHead, HttpServices } from '../../http/request-context.ts';

export interface ErrorContext {
  services: HttpServices;
  /** Its `locals` have the request id, and get the code of the first error for the log. */
  res: AnswerHead;
}

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
  reads: Reads;
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
}

function answerTooLarge(most: number, unit: string): CostExceeded {
  const text = `The answer holds more than ${most.toLocaleString('en')} ${unit}: ask for less at a time.`;
  return new CostExceeded(`${text} If it reports a change, that change was made.`);
}

export type MaybePromise<T> = T | Promise<T>;
export type Resolver = GraphQLFieldResolver<unknown, GraphqlContext>;

/** The cost of a field, in its `extensions`. */
export type CostExtension = {
  /** The most items of its list; `page`: of its connection's page; `input`: of lists in the root field's arguments. */
  size?: number | ((given: Readonly<Record<string, unknown>>) => number) | 'page' | 'input';
  /** The cost of one object; by default 1. */
  weight?: number;
};

/** Extensions of a root field: its scope, if it is another than most have (null where core checks it), and its own errors. */
export type OperationExtension = { scope?: Scope | null; errors?: readonly ErrorCode[] };

const usualScopes: Readonly<Record<OperationTypeNode, Scope>> = {
  query: 'fleets:read',
  mutation: 'fleets:write',
  subscription: 'fleets:read',
};

export function scopeOfField(field: GraphQLField<unknown, unknown>, operation: OperationTypeNode): Scope | null {
  const { scope = usualScopes[operation] } = field.extensions as OperationExtension;
  return scope;
}

/** Checks scopes before arguments, and adds scopes and errors to descriptions. */
export function withScopeChecks(schema: GraphQLSchema): GraphQLSchema {
  for (const operation of Object.keys(usualScopes) as OperationTypeNode[]) {
    for (const field of Object.values(schema.getRootType(operation)?.getFields() ?? {})) {
      const scope = scopeOfField(field, operation);
      const { errors = [] } = field.extensions as OperationExtension;
      if (scope) field.description += ` Scope: \`${scope}\`.`;
      if (errors.length > 0) field.description += ` Errors: ${errors.map((code) => `\`${code}\``).join(', ')}.`;
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

/** The reads of one operation, as its execution makes them. */
export interface Reads {
  /** A field of Query. */
  root(info: GraphQLResolveInfo): Promise<unknown>;
  /** A field of an object from core. */
  of(source: object, info: GraphQLResolveInfo): Promise<unknown>;
  nodes(ids: readonly string[], info: GraphQLResolveInfo): Promise<(PlannedObject | null)[]>;
  companyMember(name: string): Promise<unknown>;
}

/** An object read by a plan, with its members under their names in the answer. */
export class PlannedObject {
  readonly #members: AnswerMembers;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #reads: PlanAnswer['reads'];
  /** The name of its type, for a field of an interface or union. */
  readonly type: string | undefined;

  constructor(members: AnswerMembers, values: unknown, reads: PlanAnswer['reads'], type?: string) {
    this.type = type;
    this.#members = members;
    this.#values = values as Readonly<Record<string, unknown>>;
    this.#reads = reads;
  }

  /** The value under this name; throws the error of its arguments. */
  take(name: string | number): unknown {
    const part = this.#members.find(([one]) => one === name)?.[1];
    if (!part) throw new Error(`${name} was not planned`);
    return shown(part, this.#values[name], this.#reads);
  }
}

/** The value of a part for graphql-js; throws the error of its arguments. */
export function shown(part: AnswerPart, json: unknown, reads: PlanAnswer['reads']): unknown {
  const read = 'read' in part ? reads[part.read] : null;
  if (read instanceof Error) throw read;
  if (json === null) return null;
  if (part.kind === 'value') return part.make ? part.make(json as never) : json;
  if (part.kind === 'union') {
    const type = part.types.find(({ members }) => isMadeOf(json as object, members));
    return new PlannedObject(type?.members ?? [], json, reads, type?.name);
  }
  if (!('members' in part)) return json;
  if (Array.isArray(json)) return json.map((one) => new PlannedObject(part.members, one, reads));
  return new PlannedObject(part.members, json, reads);
}

/** Whether an object has these members. Types with the same members give the same answer. */
function isMadeOf(json: object, members: AnswerMembers): boolean {
  const found = Object.entries(json);
  const isAlike = ([name, part]: AnswerMembers[number], at: number) =>
    found[at]?.[0] === name && (part.kind !== 'text' || part.text === JSON.stringify(found[at]?.[1]));
  return found.length === members.length && members.every(isAlike);
}

/** Resolves fields of Query, of objects that a plan has read, and relations of objects from core. */
export function resolvePlannedField(
  source: unknown,
  _args: object,
  { reads }: { reads: Reads },
  info: GraphQLResolveInfo,
): never {
  if (source instanceof PlannedObject) return source.take(info.path.key) as never;
  return (source === undefined ? reads.root(info) : reads.of(source as object, info)) as never;
}

export const resolvePlannedType = (value: unknown) => (value instanceof PlannedObject ? value.type : null) as never;
