import { type GraphQLObjectType, Kind, type OperationDefinitionNode, OperationTypeNode } from 'graphql';
import { schema } from '../schema/schema.ts';
import { costOf } from './cost.ts';
import { asksOnlyForSchema, fragmentOf, type Parsed } from './guards.ts';
import { type DocumentPlan, Planner } from './plan.ts';
import type { Variables } from './selected.ts';
import { type ReadVariables, variablesOf } from './variables.ts';

/** An operation of a valid document: its cost and how to read it, which are found out once for all that is alike. */
export class PreparedOperation {
  readonly node: OperationDefinitionNode;
  /** For log and metrics: by what it asks for, since the name of an operation is the client's invention. */
  readonly label: string;
  readonly asksForSchema: boolean;
  readonly readVariables: ReadVariables;
  readonly #document: Parsed;
  /** Variables by which `@skip` and `@include` decide. */
  readonly #deciding: readonly string[];
  readonly #plans = new Map<string, DocumentPlan>();
  #cost: number | undefined;

  /** Throws GraphQLError for a query that one statement cannot hold. */
  constructor(document: Parsed, node: OperationDefinitionNode) {
    this.node = node;
    this.#document = document;
    this.asksForSchema = document.asksForSchema;
    this.readVariables = variablesOf(node);
    const field = node.selectionSet.selections.find(({ kind }) => kind === Kind.FIELD);
    this.label = `${node.operation} ${field?.kind === Kind.FIELD ? field.name.value : '(fragments)'}`;
    const values = document.directives.flatMap(({ arguments: given = [] }) => given.map(({ value }) => value));
    this.#deciding = values.flatMap((value) => (value.kind === Kind.VARIABLE ? value.name.value : []));
    if (!this.isQuery) return;
    // Bounded with all that it can ask for, which is what it always asks for where there are no directives.
    const whole = this.#plan(null);
    if (document.directives.length === 0) this.#plans.set('', whole);
  }

  get isQuery(): boolean {
    return this.node.operation === OperationTypeNode.QUERY;
  }

  /** Whether it asks for nothing but the schema. */
  get asksOnlyForSchema(): boolean {
    return asksOnlyForSchema(this.#document.tree, this.node);
  }

  /** The most objects that its answer can hold. */
  costFor(variables: Variables): number {
    if (this.#cost !== undefined) return this.#cost;
    const { cost, isFixed } = costOf({ schema, document: this.#document.tree, operation: this.node, variables });
    if (isFixed) this.#cost = cost;
    return cost;
  }

  /** How to read a query, which `@skip` and `@include` leave with other fields for other variables. */
  planFor(variables: Variables): DocumentPlan {
    const deciding = this.#deciding;
    const key = deciding.length === 0 ? '' : JSON.stringify(deciding.map((one) => variables[one]));
    const plan = this.#plans.get(key) ?? this.#plan(variables);
    if (this.#plans.size < MOST_PLANS) this.#plans.set(key, plan);
    return plan;
  }

  #plan(variables: Variables | null): DocumentPlan {
    const fragment = (name: string) => fragmentOf(this.#document.tree, name);
    const planner = new Planner({ schema, fragment, variables });
    return planner.query(schema.getQueryType() as GraphQLObjectType, this.node.selectionSet);
  }
}

/** Of an operation. */
const MOST_PLANS = 8;
