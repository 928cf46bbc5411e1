import { randomUUID } from 'node:crypto';
import {
  type FieldNode,
  type GraphQLField,
  GraphQLObjectType,
  getNamedType,
  isAbstractType,
  type SelectionSetNode,
} from 'graphql';
import { nodeField, nodeResources as nodeTypes, rootQueryFields } from '../../core/reads/root-fields.ts';
import type { ReadPlan } from '../../core/sql/answer.ts';
import type {
  AnswerMembers,
  AnswerPart,
  ListField,
  ReadField,
  Resource,
  ResourceField,
  SingleRowField,
} from '../../core/sql/resource.ts';
import { isValueSql, type JsonMembers, type ValueSql } from '../../core/sql/selection.ts';
import { outOfBoundsError } from './guards.ts';
import { type SelectionContext, selectedFields } from './selected.ts';
import { type ArgumentReader, argumentReaderOf } from './variables.ts';

type GraphqlField = GraphQLField<unknown, unknown>;

/** The plan for a part of a document: core's plan, and the readers of its fields' arguments. */
export interface DocumentPlan extends ReadPlan {
  given: readonly ArgumentReader[];
  /** Core's texts are the whole answer: no resolver makes a part of it, nor does introspection. */
  isWhole: boolean;
  /** The number of fields in its parts. */
  size: number;
}

export type PlanFactory = (planner: DocumentPlanner) => DocumentPlan;

const MOST_RELATIONS = 100;
const MOST_FIELDS = 2000;

/** Selections of a type. */
type Selected = { type: unknown; sets: readonly SelectionSetNode[] };
/** The nodes of one field under one name, their selections and its type. */
type Nodes = Selected & { field: GraphqlField; nodes: readonly FieldNode[] };

export class DocumentPlanner {
  readonly #around: SelectionContext;
  readonly #fields: ReadField[] = [];
  readonly #given: ArgumentReader[] = [];
  #isWhole = true;
  #relations = 0;
  #size = 0;

  constructor(around: SelectionContext) {
    this.#around = around;
  }

  /** Plans the selection of Query; throws GraphQLError if it is out of bounds. */
  query(type: GraphQLObjectType, set: SelectionSetNode): DocumentPlan {
    return this.#plan(this.#members({ type, sets: [set] }, (nodes) => this.#root(nodes)));
  }

  field(field: ResourceField, type: GraphQLObjectType, nodes: readonly FieldNode[]): DocumentPlan {
    return this.#plan([['', this.#part(field, this.#nodesOf(type, nodes))]]);
  }

  /** Plans the selection of a node, with a part under the name of each possible type. */
  node(type: GraphQLObjectType, nodes: readonly FieldNode[]): DocumentPlan {
    return this.#plan(this.#nodeParts(this.#nodesOf(type, nodes)));
  }

  #nodeParts(nodes: Nodes): AnswerMembers {
    const possible = isAbstractType(nodes.type) ? this.#around.schema.getPossibleTypes(nodes.type) : [];
    return Object.entries(nodeTypes).flatMap(([name, of]): [string, AnswerPart][] => {
      const type = possible.find((one) => one.name === name);
      return type ? [[name, this.#one(nodeField(of), { ...nodes, type })]] : [];
    });
  }

  #plan(parts: AnswerMembers): DocumentPlan {
    const [fields, given, isWhole, size] = [this.#fields, this.#given, this.#isWhole, this.#size];
    return { id: randomUUID(), parts, fields, given, isWhole, size };
  }

  /** `members` and `fields` are those of the object's resource. */
  #object({ members, fields }: Pick<Resource, 'members' | 'fields'>, selected: Selected): AnswerMembers {
    return this.#members(selected, (nodes) => {
      const { name } = nodes.field;
      return this.#part(fields?.[name] ?? members[name], nodes);
    });
  }

  #root(nodes: Nodes): AnswerPart {
    const field = rootQueryFields[nodes.field.name];
    if (field) return this.#part(field, nodes);
    // The field has a resolver. Its selection of nodes is planned to check the bounds; its own plan has its arguments.
    this.#isWhole = false;
    this.#relate();
    const reads = this.#fields.length;
    this.#nodeParts(nodes);
    this.#fields.length = this.#given.length = reads;
    return { kind: 'text', text: 'null' };
  }

  #part(made: ResourceField | ValueSql | JsonMembers | undefined, nodes: Nodes): AnswerPart {
    if (!made) throw new Error(`the field ${nodes.field.name} has no description`);
    if (!isField(made)) {
      if (isValueSql(made)) return { kind: 'value', value: made };
      return { kind: 'object', members: this.#object({ members: made }, nodes) };
    }
    switch (made.kind) {
      case 'value':
        if (!made.isText) this.#isWhole = false;
        return made;
      case 'object':
        return { kind: 'object', unless: made.unless, members: this.#object(made, nodes) };
      case 'union':
        return {
          kind: 'union',
          types: Object.entries(made.types).map(([name, { when, ...own }]) => {
            const type = this.#around.schema.getType(name);
            return { name, when, members: this.#object(own, { type, sets: nodes.sets }) };
          }),
        };
      case 'rows':
        this.#relate();
        return { kind: 'rows', field: made, members: this.#object(made, nodes) };
      case 'manufacturer': {
        this.#relate();
        const members = this.#members(nodes, ({ field: { name } }) => ({ kind: 'member', name }));
        return { kind: 'manufacturer', field: made, members };
      }
      case 'one':
        this.#relate();
        return this.#one(made, nodes);
      case 'list':
        this.#relate();
        return { kind: 'list', field: made, read: this.#read(made, nodes), members: this.#connection(made, nodes) };
    }
  }

  #one(field: SingleRowField, nodes: Nodes): AnswerPart {
    return { kind: 'one', field, read: this.#read(field, nodes), members: this.#object(field.of(), nodes) };
  }

  #connection(list: ListField, connection: Nodes): AnswerMembers {
    const of = list.of();
    const edge = (nodes: Nodes): AnswerPart =>
      nodes.field.name === 'cursor' ? { kind: 'cursor' } : { kind: 'object', members: this.#object(of, nodes) };
    const pageFact = ({ field }: Nodes) => pageParts[field.name] as AnswerPart;
    return this.#members(connection, (nodes) => {
      const { name } = nodes.field;
      if (name === 'nodes') return { kind: 'items', members: this.#object(of, nodes) };
      if (name === 'edges') return { kind: 'items', members: this.#members(nodes, edge) };
      this.#relate();
      return pageParts[name] ?? { kind: 'object', members: this.#members(nodes, pageFact) };
    });
  }

  #read(field: ReadField, { field: own, nodes: [node] }: Nodes): number {
    if (node) this.#given.push(argumentReaderOf(field, own, node));
    return this.#fields.push(field) - 1;
  }

  #relate(): void {
    this.#relations += 1;
    if (this.#relations > MOST_RELATIONS)
      throw outOfBoundsError('lists, counts and related objects, with those of its fragments', MOST_RELATIONS);
  }

  /** The parts under each name that the sets select of this type. */
  #members({ type, sets }: Selected, make: (nodes: Nodes) => AnswerPart): AnswerMembers {
    if (!(type instanceof GraphQLObjectType)) throw new Error('only objects have members');
    const { fields: found, isWhole } = selectedFields(type, sets, this.#around);
    if (!isWhole) this.#isWhole = false;
    this.#size += found.size;
    if (this.#size > MOST_FIELDS) throw outOfBoundsError('fields, with those of its fragments', MOST_FIELDS);
    return [...found].flatMap(([key, nodes]): [string, AnswerPart, boolean][] => {
      const name = nodes[0]?.name.value ?? '';
      if (name === '__typename') return [[key, { kind: 'text', text: `"${type.name}"` }, key !== name]];
      if (!name.startsWith('__')) return [[key, make(this.#nodesOf(type, nodes)), key !== name]];
      // graphql-js answers introspection.
      this.#isWhole = false;
      return [];
    });
  }

  #nodesOf(type: GraphQLObjectType, nodes: readonly FieldNode[]): Nodes {
    const field = type.getFields()[nodes[0]?.name.value ?? ''] as GraphqlField;
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    return { field, nodes, sets, type: getNamedType(field.type) };
  }
}

const isField = (made: ResourceField | ValueSql | JsonMembers): made is ResourceField =>
  'kind' in made && typeof made.kind === 'string';

/** The parts of a page beside its items, by their names in connections and in PageInfo. */
const pageParts: Readonly<Record<string, AnswerPart>> = {
  totalCount: { kind: 'count' },
  totalCountIsExact: { kind: 'count', of: 'isExact' },
  hasNextPage: { kind: 'fact', fact: 'hasNext' },
  hasPreviousPage: { kind: 'fact', fact: 'hasPrevious' },
  startCursor: { kind: 'fact', fact: 'first' },
  endCursor: { kind: 'fact', fact: 'last' },
};
