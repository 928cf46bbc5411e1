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
import { schema } from '../schema/schema.ts';
import type { MaybePromise } from './context.ts';
import { costOf } from './cost.ts';
import { MOST_ERRORS, withCode } from './errors.ts';
import { fragmentOf, type Parsed, parseGraphqlDocument } from './guards.ts';
import { type DocumentPlan, type Make, Planner, type Plans } from './plan.ts';
import { type Around, selectedOf, type Variables } from './selected.ts';

/** Everything that follows from a document's text alone, and so is the same for all who send it. */
export class Document {
  readonly tree: DocumentNode;
  /** The first errors, of which the last may say that there are more; none when it is valid. */
  readonly errors: readonly GraphQLError[];
  readonly #operations = new Map<OperationDefinitionNode, PreparedOperation>();

  /** `grow` is called with the bytes that plans and statements add later. Throws GraphQLError for a text out of bounds. */
  constructor(text: string, grow: (bytes: number) => void) {
    const parsed = parseGraphqlDocument(text);
    this.tree = parsed.tree;
    const errors = validate(schema, this.tree, specifiedRules, { maxErrors: MOST_ERRORS - 1 });
    this.errors = errors.map((error) => withCode(error, 'GRAPHQL_VALIDATION_FAILED'));
    if (this.errors.length > 0) return;
    for (const one of this.tree.definitions)
      if (one.kind === Kind.OPERATION_DEFINITION) this.#operations.set(one, new PreparedOperation(parsed, one, grow));
  }

  /** The operation of this name, or the only one; undefined for none, and of what is not valid. */
  operation(name?: string | null): PreparedOperation | undefined {
    const node = getOperationAST(this.tree, name);
    return node ? this.#operations.get(node) : undefined;
  }
}

/** Plans of an operation: of the whole query, or of fields whose objects core gave, by their place and `@include`. */
const MOST_PLANS = 100;

/** An operation of a valid document: its cost and its plans, which are the same for all variables that are alike. */
export class PreparedOperation implements Plans {
  readonly node: OperationDefinitionNode;
  readonly tree: DocumentNode;
  /** The label in log and metrics: type and first field, since clients choose the operation's name freely. */
  readonly label: string;
  readonly asksForSchema: boolean;
  /** Whether it asks for nothing but the schema. */
  readonly asksOnlyForSchema: boolean;
  /** Variables by which `@skip` and `@include` decide. */
  readonly #deciding: readonly string[];
  readonly #plans = new Map<string, DocumentPlan>();
  readonly #grow: (bytes: number) => void;
  #cost: number | undefined;
  #schemaText: string | undefined;

  /** Throws GraphQLError for a query that one statement cannot hold. */
  constructor(
    { tree, asksForSchema, directives }: Parsed,
    node: OperationDefinitionNode,
    grow: (bytes: number) => void,
  ) {
    this.node = node;
    this.tree = tree;
    this.asksForSchema = asksForSchema;
    const root = schema.getRootType(node.operation) as GraphQLObjectType;
    const { fields } = selectedOf(root, [node.selectionSet], this.#around(null));
    this.asksOnlyForSchema = fields.values().every(([first]) => first?.name.value.startsWith('__'));
    this.#grow = grow;
    const field = node.selectionSet.selections.find(({ kind }) => kind === Kind.FIELD);
    this.label = `${node.operation} ${field?.kind === Kind.FIELD ? field.name.value : '(fragments)'}`;
    const values = directives.flatMap(({ arguments: given = [] }) => given.map(({ value }) => value));
    this.#deciding = values.flatMap((value) => (value.kind === Kind.VARIABLE ? value.name.value : []));
    // Bounded with all that it can ask for, which is what it always asks for where there are no directives.
    if (this.node.operation === OperationTypeNode.QUERY) {
      const whole = this.#made(null, this.#query);
      if (directives.length === 0) this.#plans.set('', whole);
    }
  }

  /** The most objects that its answer can hold. */
  costFor(variables: Variables): number {
    if (this.#cost !== undefined) return this.#cost;
    const { cost, isFixed } = costOf({ schema, document: this.tree, operation: this.node, variables });
    if (isFixed) this.#cost = cost;
    return cost;
  }

  /** Whether its answer is a part of the schema, the same for everybody. */
  get isOfSchema(): boolean {
    return this.asksForSchema && this.asksOnlyForSchema && !this.node.variableDefinitions?.length;
  }

  /** The data of such an answer: made once, since a look at the whole schema holds the event loop for some 15 ms. */
  schemaText(execute: () => MaybePromise<ExecutionResult>): MaybePromise<ExecutionResult | string> {
    if (this.#schemaText !== undefined) return this.#schemaText;
    const result = execute();
    if (result instanceof Promise || result.errors) return result;
    this.#schemaText = JSON.stringify(result.data);
    this.#grow(this.#schemaText.length);
    return this.#schemaText;
  }

  queryPlan(variables: Variables): DocumentPlan {
    return this.planAt('', variables, this.#query);
  }

  planAt(place: string, variables: Variables, make: Make): DocumentPlan {
    const deciding = this.#deciding;
    const key = deciding.length === 0 ? place : `${place} ${JSON.stringify(deciding.map((one) => variables[one]))}`;
    const known = this.#plans.get(key);
    if (known) return known;
    const plan = this.#made(variables, make);
    for (const oldest of this.#plans.keys()) if (this.#plans.size >= MOST_PLANS) this.#plans.delete(oldest);
    this.#plans.set(key, plan);
    return plan;
  }

  readonly #query: Make = (planner) =>
    planner.query(schema.getQueryType() as GraphQLObjectType, this.node.selectionSet);

  #around(variables: Variables | null): Around {
    return { schema, fragment: (name) => fragmentOf(this.tree, name), variables };
  }

  #made(variables: Variables | null, make: Make): DocumentPlan {
    const planner = new Planner(this.#around(variables));
    const plan = make(planner);
    this.#grow(planner.count * BYTES_PER_FIELD);
    return { ...plan, onWritten: (characters) => this.#grow(characters) };
  }
}

/** Estimates, by which documents are kept: of a tree for each character of its text, and of a plan for each field. */
const BYTES_PER_CHARACTER = 100;
const BYTES_PER_FIELD = 500;
const MOST_BYTES = 32 * 1024 * 1024;

interface Kept {
  document: Document;
  bytes: number;
}
/** Documents by their texts; those used last are kept. */
const documents = new LRUCache<string, Kept>({ maxSize: MOST_BYTES, sizeCalculation: ({ bytes }) => bytes });

/** Prepares a document once for all who send it; throws GraphQLError for one that cannot be read or is out of bounds. */
export function prepare(text: string): Document {
  const known = documents.get(text);
  if (known) return known.document;
  let bytes = text.length * BYTES_PER_CHARACTER + 1;
  const document = new Document(text, (more) => {
    bytes += more;
    // The cache asks for the size of what is new to it.
    if (documents.delete(text)) documents.set(text, { document, bytes });
  });
  documents.set(text, { document, bytes });
  return document;
}
