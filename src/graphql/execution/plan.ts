import {
  type FieldNode,
  type GraphQLField,
  GraphQLObjectType,
  getNamedType,
  isAbstractType,
  type SelectionSetNode,
} from 'graphql';
import { nodeOf, nodes as nodeTypes, queries } from '../../core/reads/reads.ts';
import type { Plan } from '../../core/sql/answer.ts';
import type { Members, Part } from '../../core/sql/json-parts.ts';
import type { Field, Fields, ListField, OneField } from '../../core/sql/resource.ts';
import { isValue, type JsonTable, type ValueSql } from '../../core/sql/selection.ts';
import { outOfBounds } from './guards.ts';
import { type Around, selectedOf, type Variables } from './selected.ts';
import { argumentsOf, type ReadArguments } from './variables.ts';

type GraphqlField = GraphQLField<unknown, unknown>;

/** The plan for a part of a document: core's plan, and the sources of its fields' arguments. */
export interface DocumentPlan extends Plan {
  given: readonly ReadArguments[];
  /** Nothing of it is made by Node, or is told of the schema: the texts that core reads are the answer. */
  isWhole: boolean;
}

/** Makes one plan by a planner of its own. */
export type Make = (planner: Planner) => DocumentPlan;

/** The plans of one operation, each made once for all variables that decide alike about what is left out. */
export interface Plans {
  /** The plan of the whole query. */
  queryPlan(variables: Variables): DocumentPlan;
  /** The plan of one place in the answer. */
  planAt(place: string, variables: Variables, make: Make): DocumentPlan;
}

/** After fragments are spread, which multiply what a short document asks for. */
const MOST_RELATIONS = 100;
const MOST_FIELDS = 2000;

/** The resource or members that an object is made of. */
interface Owner {
  members: JsonTable;
  fields?: Fields | undefined;
}

/** The nodes of one field under one name, and what they select of which type. */
interface Nodes {
  field: GraphqlField;
  nodes: readonly FieldNode[];
  sets: readonly SelectionSetNode[];
  type: unknown;
}

/** Plans one part of a document: each part has a planner of its own. */
export class Planner {
  readonly #around: Around;
  readonly #fields: (OneField | ListField)[] = [];
  readonly #given: ReadArguments[] = [];
  #isWhole = true;
  #relations = 0;
  /** Fields that were planned. */
  count = 0;

  constructor(around: Around) {
    this.#around = around;
  }

  /** Plans what these sets select of Query; throws GraphQLError for more than one statement may hold. */
  query(type: GraphQLObjectType, set: SelectionSetNode): DocumentPlan {
    return this.#plan(this.#members(type, [set], (nodes) => this.#root(queries[nodes.field.name], nodes)));
  }

  /** Plans one field of a resource. */
  field(field: Field, type: GraphQLObjectType, nodes: readonly FieldNode[]): DocumentPlan {
    return this.#plan([['', this.#part(field, this.#nodesOf(type, nodes))]]);
  }

  /** Plans what a field selects of a node, for each type that this may be: a part under the name of each. */
  node(type: GraphQLObjectType, nodes: readonly FieldNode[]): DocumentPlan {
    return this.#plan(this.#nodeParts(this.#nodesOf(type, nodes)));
  }

  #nodeParts(nodes: Nodes): Members {
    const possible = isAbstractType(nodes.type) ? this.#around.schema.getPossibleTypes(nodes.type) : [];
    return Object.entries(nodeTypes).flatMap(([name, of]): [string, Part][] => {
      const type = possible.find((one) => one.name === name);
      return type ? [[name, this.#part(nodeOf(of), { ...nodes, type })]] : [];
    });
  }

  #plan(parts: Members): DocumentPlan {
    return {
      parts,
      fields: this.#fields,
      given: this.#given,
      statements: new WeakMap(),
      isWhole: this.#isWhole,
    };
  }

  #object({ members, fields }: Owner, { type, sets }: Nodes): Members {
    return this.#members(type, sets, (nodes) =>
      this.#part(fields?.[nodes.field.name] ?? members[nodes.field.name], nodes),
    );
  }

  #root(made: Field | undefined, nodes: Nodes): Part {
    if (made) return this.#part(made, nodes);
    // The field has a resolver. Unions and interfaces are planned all the same, to count their bounds.
    this.#isWhole = false;
    this.#nodeParts(nodes);
    return { kind: 'text', text: 'null' };
  }

  #part(made: Field | ValueSql | JsonTable | undefined, nodes: Nodes): Part {
    if (!made) throw new Error(`nobody has described the field ${nodes.field.name}`);
    if (!isField(made)) {
      if (isValue(made)) return { kind: 'value', value: made };
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
            return { name, when, members: this.#object(own, { ...nodes, type }) };
          }),
        };
      case 'rows':
        this.#relate();
        return { kind: 'rows', field: made, members: this.#object(made, nodes) };
      case 'manufacturer': {
        // Their texts stand in the statement each time.
        this.#relate();
        const members = this.#members(nodes.type, nodes.sets, ({ field: { name } }) => ({ kind: 'member', name }));
        return { kind: 'manufacturer', field: made, members };
      }
      case 'one': {
        this.#relate();
        const read = this.#read(made, nodes);
        return { kind: 'one', field: made, read, members: this.#object(made.of(), nodes) };
      }
      case 'list':
        this.#relate();
        return { kind: 'list', field: made, read: this.#read(made, nodes), members: this.#connection(made, nodes) };
    }
  }

  #connection(list: ListField, { type, sets }: Nodes): Members {
    const of = list.of();
    return this.#members(type, sets, (nodes) => {
      switch (nodes.field.name) {
        case 'nodes':
          return { kind: 'items', members: this.#object(of, nodes) };
        case 'edges':
          return {
            kind: 'items',
            members: this.#members(nodes.type, nodes.sets, (below) =>
              below.field.name === 'cursor' ? { kind: 'cursor' } : { kind: 'object', members: this.#object(of, below) },
            ),
          };
        case 'totalCount':
          this.#relate();
          return { kind: 'count' };
        case 'totalCountIsExact':
          this.#relate();
          return { kind: 'count', of: 'isExact' };
        default:
          this.#relate();
          return { kind: 'object', members: this.#members(nodes.type, nodes.sets, factOf) };
      }
    });
  }

  #read(field: OneField | ListField, { field: own, nodes: [node] }: Nodes): number {
    if (node) this.#given.push(argumentsOf(field, own, node));
    return this.#fields.push(field) - 1;
  }

  #relate(): void {
    this.#relations += 1;
    if (this.#relations > MOST_RELATIONS)
      throw outOfBounds('lists, counts and related objects, with those of its fragments', MOST_RELATIONS);
  }

  /** The parts under each name that the sets select of an object of this type, through all fragments. */
  #members(type: unknown, sets: readonly SelectionSetNode[], make: (nodes: Nodes) => Part): Members {
    if (!(type instanceof GraphQLObjectType)) throw new Error('only objects have members');
    const { fields: found, isWhole } = selectedOf(type, sets, this.#around);
    if (!isWhole) this.#isWhole = false;
    this.count += found.size;
    if (this.count > MOST_FIELDS) throw outOfBounds('fields, with those of its fragments', MOST_FIELDS);
    return [...found].flatMap(([key, nodes]): [string, Part, boolean][] => {
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
    return {
      field,
      nodes,
      sets: nodes.flatMap(({ selectionSet }) => selectionSet ?? []),
      type: getNamedType(field.type),
    };
  }
}

const isField = (made: Field | ValueSql | JsonTable): made is Field => 'kind' in made && typeof made.kind === 'string';

/** The members of PageInfo. */
const pageFacts = {
  hasNextPage: 'hasNext',
  hasPreviousPage: 'hasPrevious',
  startCursor: 'first',
  endCursor: 'last',
} as const;

function factOf({ field: { name } }: Nodes): Part {
  const fact = pageFacts[name as keyof typeof pageFacts];
  if (!fact) throw new Error(`nothing is called ${name} here`);
  return { kind: 'fact', fact };
}
