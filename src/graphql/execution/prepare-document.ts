import {
  type DocumentNode,
  type ExecutionResult,
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
import { charactersOf } from '../../core/sql/answer.ts';
import { keepNewest } from '../../core/sql/sql.ts';
import type { MaybePromise } from '../schema/graphql-context.ts';
import { graphqlSchema } from '../schema/schema.ts';
import { operationCost } from './cost.ts';
import { findFragment, type ParsedDocument, parseGraphqlDocument } from './guards.ts';
import { type DocumentPlan, DocumentPlanner, type OperationPlans, type PlanFactory } from './plan.ts';
import { MOST_ANSWER_ERRORS, withErrorCode } from './result-errors.ts';
import { type GraphqlVariables, type SelectionContext, selectedFields } from './selected.ts';

/** Estimates of the memory of a tree for each character of its text, and of a plan for each field. */
const BYTES_PER_CHARACTER = 100;
const BYTES_PER_FIELD = 500;

/** Characters of an answer of the schema that is kept: longer ones would displace many documents. */
const MOST_SCHEMA_TEXT = 1024 * 1024;

class PreparedDocument {
  readonly tree: DocumentNode;
  /** The first errors, of which the last may say that there are more; none when it is valid. */
  readonly errors: readonly GraphQLError[];
  readonly #characters: number;
  readonly #operations = new Map<OperationDefinitionNode, PreparedOperation>();

  constructor(text: string) {
    this.#characters = text.length;
    const parsed = parseGraphqlDocument(text);
    this.tree = parsed.tree;
    const errors = validate(graphqlSchema, this.tree, specifiedRules, { maxErrors: MOST_ANSWER_ERRORS - 1 });
    this.errors = errors.map((error) => withErrorCode(error, 'GRAPHQL_VALIDATION_FAILED'));
    if (this.errors.length > 0) return;
    const onResize = () => {
      // The cache asks for the size of new entries only.
      if (documents.delete(text)) documents.set(text, this);
    };
    for (const one of this.tree.definitions)
      if (one.kind === Kind.OPERATION_DEFINITION)
        this.#operations.set(one, new PreparedOperation(parsed, one, onResize));
  }

  /** An estimate, which grows by plans and statements. */
  get bytes(): number {
    const ofOperations = this.#operations.values().reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#characters * BYTES_PER_CHARACTER + ofOperations + 1;
  }

  /** The operation of this name, or the only one; undefined for none, and for an invalid document. */
  operation(name?: string | null): PreparedOperation | undefined {
    const node = getOperationAST(this.tree, name);
    return node ? this.#operations.get(node) : undefined;
  }
}

/** Plans of an operation, by their place and the variables that decide about `@include`. */
const MOST_PLANS = 100;

export class PreparedOperation implements OperationPlans {
  readonly node: OperationDefinitionNode;
  readonly document: ParsedDocument;
  /** The label in log and metrics: type and first field, since clients choose the operation's name freely. */
  readonly label: string;
  readonly asksOnlyForSchema: boolean;
  /** Variables by which `@skip` and `@include` decide. */
  readonly #deciding: readonly string[];
  readonly #plans = new Map<string, DocumentPlan>();
  readonly #onResize: () => void;
  #cost: number | undefined;
  #schemaText: string | undefined;

  /** Throws GraphQLError for a query that one statement cannot hold. */
  constructor(document: ParsedDocument, node: OperationDefinitionNode, onResize: () => void) {
    this.node = node;
    this.document = document;
    this.#onResize = onResize;
    const root = graphqlSchema.getRootType(node.operation) as GraphQLObjectType;
    const { fields } = selectedFields(root, [node.selectionSet], this.#around(null));
    this.asksOnlyForSchema = fields.values().every(([first]) => first?.name.value.startsWith('__'));
    const field = node.selectionSet.selections.find((one) => one.kind === Kind.FIELD);
    this.label = `${node.operation} ${field?.name.value ?? '(fragments)'}`;
    const values = document.directives.flatMap(({ arguments: given = [] }) => given.map(({ value }) => value));
    this.#deciding = values.flatMap((value) => (value.kind === Kind.VARIABLE ? value.name.value : []));
    // The plan of all fields bounds the query; without directives it is the only one.
    if (node.operation === OperationTypeNode.QUERY) {
      const whole = this.#plan(null, this.#query);
      if (document.directives.length === 0) this.#plans.set('', whole);
    }
  }

  costFor(variables: GraphqlVariables): number {
    if (this.#cost !== undefined) return this.#cost;
    const { cost, isFixed } = operationCost(this.node, this.#around(variables));
    if (isFixed) this.#cost = cost;
    return cost;
  }

  /** Whether its answer is a part of the schema, the same for all callers. */
  get isOfSchema(): boolean {
    return this.document.asksForSchema && this.asksOnlyForSchema && !this.node.variableDefinitions?.length;
  }

  /** The data of such an answer, made once unless it is long: the whole schema takes some 15 ms. */
  schemaText(execute: () => MaybePromise<ExecutionResult>): MaybePromise<ExecutionResult | string> {
    if (this.#schemaText !== undefined) return this.#schemaText;
    const result = execute();
    if (result instanceof Promise || result.errors) return result;
    const text = JSON.stringify(result.data);
    if (text.length > MOST_SCHEMA_TEXT) return text;
    this.#schemaText = text;
    this.#onResize();
    return text;
  }

  queryPlan(variables: GraphqlVariables): DocumentPlan {
    return this.planAt('', variables, this.#query);
  }

  planAt(place: string, variables: GraphqlVariables, make: PlanFactory): DocumentPlan {
    const deciding = this.#deciding;
    const key = deciding.length === 0 ? place : `${place} ${JSON.stringify(deciding.map((one) => variables[one]))}`;
    const known = this.#plans.get(key);
    if (known) return keepNewest(this.#plans, key, known, MOST_PLANS);
    const plan = keepNewest(this.#plans, key, this.#plan(variables, make), MOST_PLANS);
    this.#onResize();
    return plan;
  }

  get bytes(): number {
    const ofPlans = this.#plans.values().map((plan) => plan.size * BYTES_PER_FIELD + charactersOf(plan));
    return ofPlans.reduce((sum, one) => sum + one, this.#schemaText?.length ?? 0);
  }

  readonly #query: PlanFactory = (planner) =>
    planner.query(graphqlSchema.getQueryType() as GraphQLObjectType, this.node.selectionSet);

  #around(variables: GraphqlVariables | null): SelectionContext {
    return { schema: graphqlSchema, fragment: (name) => findFragment(this.document.tree, name), variables };
  }

  #plan(variables: GraphqlVariables | null, make: PlanFactory): DocumentPlan {
    return { ...make(new DocumentPlanner(this.#around(variables))), onWritten: this.#onResize };
  }
}

/** Documents by their texts; the least recently used are dropped. */
const documents = new LRUCache<string, PreparedDocument>({
  maxSize: 32 * 1024 * 1024,
  sizeCalculation: ({ bytes }) => bytes,
  memoMethod: (text) => new PreparedDocument(text),
});

/** Prepares a document once for all clients; throws GraphQLError for one that is malformed or out of bounds. */
export const prepareDocument = (text: string): PreparedDocument => documents.memo(text);
