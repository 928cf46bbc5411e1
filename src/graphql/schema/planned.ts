import type { GraphQLResolveInfo } from 'graphql';
import type { PlanAnswer } from '../../core/sql/answer.ts';
import type { AnswerMembers, AnswerPart } from '../../core/sql/json-parts.ts';

/** The reads of one operation, as its execution makes them. */
export interface Reads {
  /** A field of Query. */
  root(info: GraphQLResolveInfo): Promise<unknown>;
  /** A field of an object from core. */
  of(source: object, info: GraphQLResolveInfo): Promise<unknown>;
  nodes(ids: readonly string[], info: GraphQLResolveInfo): Promise<(PlannedObject | null)[]>;
  companyMember(name: string): Promise<unknown>;
  text(): Promise<string | null>;
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
