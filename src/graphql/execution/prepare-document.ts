import { randomUUID } from 'node:crypto';
import {
  type DocumentNode,
  type GraphQLError,
  type GraphQLObjectType,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  specifiedRules,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { getOrCreate } from '../../core/sql/sql.ts';
import { graphqlSchema } from '../schema/schema.ts';
import { operationCost } from './cost.ts';
import { findFragment, type ParsedDocument, parseGraphqlDocument } from './guards.ts';
import { type DocumentPlan, DocumentPlanner, type PlanFactory } from './plan.ts';
import { MOST_ANSWER_ERRORS, withErrorCode } from './result-errors.ts';
import { type GraphqlVariables, type SelectionContext, selectedFields } from './selected.ts';

/** Estimates of the memory of a tree for each character of its text, and of a plan for each field. */
const BYTES_PER_CHARACTER = 100;
const BYTES_PER_FIELD = 500;

class PreparedDocument {
  readonly tree: DocumentNode;
  /** The first errors, of which the last may say that there are more; none when it is valid. */
  readonly errors: readonly GraphQLError[];
  readonly #operations = new Map<OperationDefinitionNode, PreparedOperation>();

  constructor(text: string) {
    const parsed = parseGraphqlDocument(text);
    this.tree = parsed.tree;
    const errors = validate(graphqlSchema, this.tree, specifiedRules, { maxErrors: MOST_ANSWER_ERRORS - 1 });
    this.errors = errors.map((error) => withErrorCode(error, 'GRAPHQL_VALIDATION_FAILED'));
    if (this.errors.length > 0) return;
    for (const one of this.tree.definitions)
      if (one.kind === Kind.OPERATION_DEFINITION) this.#operations.set(one, new PreparedOperation(parsed, one));
  }

  /** The operation of this name, or the only one; undefined for none, and for an invalid document. */
  operation(name?: string | null): PreparedOperation | undefined {
    const node = getOperationAST(this.tree, name);
    return node ? this.#operations.get(node) : undefined;
  }
}

/** Plans by their operation, place and the variables that decide about `@include`; the least recently used are dropped. */
const plans = new LRUCache<string, DocumentPlan>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: ({ size }) => size * BYTES_PER_FIELD + 1,
});

export class PreparedOperation {
  readonly node: OperationDefinitionNode;
  readonly document: ParsedDocument;
  /** The label in log and metrics: type and first field, since clients choose the operation's name freely. */
  readonly label: string;
  readonly asksOnlyForSchema: boolean;
  /** Variables by which `@skip` and `@include` decide. */
  readonly #deciding: readonly string[];
  readonly id = randomUUID();
  #cost: number | undefined;

  /** Throws GraphQLError for a query that one statement cannot hold. */
  constructor(document: ParsedDocument, node: OperationDefinitionNode) {
    this.node = node;
    this.document = document;
    const root = graphqlSchema.getRootType(node.operation) as GraphQLObjectType;
    const { fields } = selectedFields(root, [node.selectionSet], this.#around(null));
    this.asksOnlyForSchema = fields.values().every(([first]) => first?.name.value.startsWith('__'));
    const field = node.selectionSet.selections.find((one) => one.kind === Kind.FIELD);
    this.label = `${node.operation} ${field?.name.value ?? '(fragments)'}`;
    const values = document.directives.flatMap(({ arguments: given = [] }) => given.map(({ value }) => value));
    this.#deciding = values.flatMap((value) => (value.kind === Kind.VARIABLE ? value.name.value : []));
    // The plan of all fields bounds the query; without directives it is the only one.
    if (node.operation === OperationTypeNode.QUERY) {
      const whole = this.#query(this.#planner(null));
      if (document.directives.length === 0) plans.set(this.#keyOf('', {}), whole);
    }
  }

  costFor(variables: GraphqlVariables): number {
    if (this.#cost !== undefined) return this.#cost;
    const { cost, isFixed } = operationCost(this.node, this.#around(variables));
    if (isFixed) this.#cost = cost;
    return cost;
  }

  queryPlan(variables: GraphqlVariables): DocumentPlan {
    return this.planAt('', variables, this.#query);
  }

  /** The plan of a part of the operation, made once for all variables with the same effect on `@skip` and `@include`. */
  planAt(place: string, variables: GraphqlVariables, make: PlanFactory): DocumentPlan {
    return getOrCreate<string, DocumentPlan>(plans, this.#keyOf(place, variables), () =>
      make(this.#planner(variables)),
    );
  }

  #keyOf(place: string, variables: GraphqlVariables): string {
    return `${this.id} ${place} ${JSON.stringify(this.#deciding.map((one) => variables[one]))}`;
  }

  readonly #query: PlanFactory = (planner) =>
    planner.query(graphqlSchema.getQueryType() as GraphQLObjectType, this.node.selectionSet);

  #around(variables: GraphqlVariables | null): SelectionContext {
    return { schema: graphqlSchema, fragment: (name) => findFragment(this.document.tree, name), variables };
  }

  #planner(variables: GraphqlVariables | null): DocumentPlanner {
    return new DocumentPlanner(this.#around(variables));
  }
}

/** Documents by their texts; the least recently used are dropped. */
const documents = new LRUCache<string, PreparedDocument>({
  maxSize: 32 * 1024 * 1024,
  sizeCalculation: (_, text) => text.length * BYTES_PER_CHARACTER + 1,
  memoMethod: (text) => new PreparedDocument(text),
});

/** Prepares a document once for all clients; throws GraphQLError for one that is malformed or out of bounds. */
export const prepareDocument = (text: string): PreparedDocument => documents.memo(text);
