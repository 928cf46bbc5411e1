import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  GraphQLObjectType,
  getArgumentValues,
  getNamedType,
  getVariableValues,
  isEnumType,
  isScalarType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  specifiedScalarTypes,
} from 'graphql';
import type { Context } from '../../core/context.ts';
import { domainErrorOf } from '../../core/database-errors.ts';
import { Unavailable } from '../../core/errors.ts';
import {
  answerBySql,
  type ConnectionPart,
  cursorSql,
  type JsonSource,
  type Members,
  NotInSql,
  type Part,
  pageFacts,
  type RootPart,
} from '../../core/sql/json-answer.ts';
import { isValue, type JsonTable } from '../../core/sql/selection.ts';
import { schema } from '../schema/schema.ts';
import { fragmentOf } from './guards.ts';

/** What a field's `extensions` may say: that core can write its connection, or its object, as JSON. */
export interface InSql {
  list?: JsonSource;
  one?: JsonSource;
}

type Variables = Readonly<Record<string, unknown>>;
type Field = GraphQLField<unknown, unknown>;

/** A query that core can answer as JSON: what is to be made, and where the arguments of each field come from. */
export interface Plan {
  operation: OperationDefinitionNode;
  parts: readonly (readonly [name: string, part: RootPart])[];
  fields: readonly { field: Field; node: FieldNode }[];
}

/** The data of a query as JSON; null where it is to be executed after all: wrong arguments, and what ends in an error. */
export async function answerPlan(ctx: Context, plan: Plan, inputs: Variables): Promise<string | null> {
  const { coerced } = getVariableValues(schema, plan.operation.variableDefinitions ?? [], inputs, { maxErrors: 1 });
  if (!coerced) return null;
  try {
    const args = plan.fields.map(({ field, node }) => getArgumentValues(field, node, coerced));
    const answers = await answerBySql(
      ctx,
      plan.parts.map(([, part]) => part),
      args,
    );
    if (answers.includes(null)) return null;
    return `{${plan.parts.map(([name], at) => `"${name}":${answers[at]}`).join(',')}}`;
  } catch (error) {
    const known = error instanceof NotInSql || error instanceof GraphQLError || domainErrorOf(error);
    // Told by execution, with its place in the document; but a database that is away is not asked once more.
    if (known && !(known instanceof Unavailable)) return null;
    throw error;
  }
}

/** The plan of a valid document with one query, where all of it is what core can write in one statement; else null. */
export function planOf(document: DocumentNode): Plan | null {
  const operations = document.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION);
  const [operation] = operations;
  const simple = operations.length === 1 && operation?.operation === OperationTypeNode.QUERY;
  return simple ? new Planner(document).plan(operation) : null;
}

/** Leaves whose values are written in JSON as core has them. */
const PLAIN = new Set(['DateTime', ...specifiedScalarTypes.map(({ name }) => name)]);

/** What asks for more is rare, and PostgreSQL's functions take a hundred values at most. */
const MOST_MEMBERS = 90;

class Planner {
  readonly #document: DocumentNode;
  readonly #fields: Plan['fields'][number][] = [];
  #members = 0;

  constructor(document: DocumentNode) {
    this.#document = document;
  }

  plan(operation: OperationDefinitionNode): Plan | null {
    try {
      const sets = [operation.selectionSet];
      const parts = this.#membersOf<RootPart>(schema.getQueryType(), sets, ({ extensions }, nodes) => {
        const { one, list } = extensions as InSql;
        if (list) return this.#list(list, nodes);
        if (!one) throw new NotInSql();
        const args = this.#argsOf(nodes);
        return { kind: 'one', source: one, args, members: this.#object(one.table, one, nodes) };
      });
      // Where nothing is read, execution is as quick.
      return this.#fields.length > 0 ? { operation, parts, fields: this.#fields } : null;
    } catch (error) {
      if (error instanceof NotInSql) return null;
      throw error;
    }
  }

  /** The members that these nodes of one field select of its object; `source` is whose lists are there. */
  #object(table: JsonTable, source: JsonSource | null, nodes: Nodes): Members {
    return this.#membersOf<Part>(nodes.type, nodes.sets, (field, below) => {
      const { list, pothosExposedField: exposed } = field.extensions as InSql & { pothosExposedField?: string };
      if (list && source?.lists[field.name] === list) return this.#list(list, below);
      const made = exposed === undefined ? undefined : table[exposed];
      if (!made) throw new NotInSql();
      if (!isValue(made)) return { kind: 'object', members: this.#object(made, null, below) };
      if (!isPlain(below.type)) throw new NotInSql();
      return { kind: 'value', value: made };
    });
  }

  #list(source: JsonSource, nodes: Nodes): Extract<Part, { kind: 'list' }> {
    const args = this.#argsOf(nodes);
    let item: Members | undefined;
    const items = (made: Members): ConnectionPart => {
      // Two lists of the same items in one connection are rare enough.
      if (item) throw new NotInSql();
      item = made;
      return { kind: 'items' };
    };
    const connection = this.#membersOf<ConnectionPart>(nodes.type, nodes.sets, ({ name }, below) => {
      if (name === 'nodes') return items(this.#object(source.table, source, below));
      if (name === 'edges') return items(this.#edge(source, below));
      if (name !== 'pageInfo') throw new NotInSql();
      const facts = this.#membersOf(below.type, below.sets, (fact) => {
        const found = pageFacts.find((one) => one === fact.name);
        return found ? ({ kind: 'fact', fact: found } as const) : notInSql();
      });
      return { kind: 'object', members: facts };
    });
    return { kind: 'list', source, args, item: item ?? [], connection };
  }

  #edge(source: JsonSource, nodes: Nodes): Members {
    return this.#membersOf<Part>(nodes.type, nodes.sets, ({ name }, below) =>
      name === 'cursor'
        ? { kind: 'value', value: cursorSql(`${source.alias}.id`) }
        : { kind: 'object', members: this.#object(source.table, source, below) },
    );
  }

  #argsOf({ field, nodes: [node] }: Nodes): number {
    if (!node) throw new NotInSql();
    return this.#fields.push({ field, node }) - 1;
  }

  /** What stands under each name that the selections have for an object of this type, through all fragments. */
  #membersOf<P>(
    type: unknown,
    sets: readonly SelectionSetNode[],
    make: (field: Field, nodes: Nodes) => P,
  ): (readonly [string, P | { kind: 'text'; text: string }])[] {
    if (!(type instanceof GraphQLObjectType)) throw new NotInSql();
    const found = new Map<string, FieldNode[]>();
    const spread = new Set<string>();
    for (const set of sets) this.#collect(set, found, spread);
    this.#members += found.size;
    if (this.#members > MOST_MEMBERS) throw new NotInSql();
    return [...found].map(([key, nodes]) => {
      const name = nodes[0]?.name.value ?? '';
      if (name === '__typename') return [key, { kind: 'text', text: `"${type.name}"` }];
      const field = type.getFields()[name];
      if (!field) throw new NotInSql();
      const below = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
      return [key, make(field, { field, nodes, sets: below, type: getNamedType(field.type) })];
    });
  }

  #collect(set: SelectionSetNode, found: Map<string, FieldNode[]>, spread: Set<string>): void {
    for (const node of set.selections) {
      // `@skip` and `@include` are for execution.
      if (node.directives?.length) throw new NotInSql();
      if (node.kind === Kind.FIELD) {
        const key = node.alias?.value ?? node.name.value;
        const same = found.get(key);
        if (same) same.push(node);
        else found.set(key, [node]);
      } else if (node.kind === Kind.INLINE_FRAGMENT) this.#collect(node.selectionSet, found, spread);
      else this.#spread(node.name.value, found, spread);
    }
  }

  /** Once for each object, however often it stands there: fragments of fragments would multiply. */
  #spread(name: string, found: Map<string, FieldNode[]>, spread: Set<string>): void {
    if (spread.has(name)) return;
    spread.add(name);
    const fragment = fragmentOf(this.#document, name);
    if (!fragment || !('selectionSet' in fragment)) throw new NotInSql();
    this.#collect(fragment.selectionSet, found, spread);
  }
}

/** The nodes of one field under one name, what they select, and of which type. */
interface Nodes {
  field: Field;
  nodes: readonly FieldNode[];
  sets: readonly SelectionSetNode[];
  type: unknown;
}

const isPlain = (type: unknown): boolean =>
  (isScalarType(type) && PLAIN.has(type.name)) ||
  (isEnumType(type) && type.getValues().every(({ name, value }) => name === value));

function notInSql(): never {
  throw new NotInSql();
}
