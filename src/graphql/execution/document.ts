import {
  type DocumentNode,
  type GraphQLError,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  type Source,
  specifiedRules,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { schema } from '../schema/schema.ts';
import { MOST_ERRORS } from './errors.ts';
import { parseDocument } from './guards.ts';
import { PreparedOperation } from './prepared-operation.ts';

/** What follows from a document's text alone, and so is the same for all who send it. */
export class Document {
  readonly tree: DocumentNode;
  /** The first errors, of which the last may say that there are more; none when it is valid. */
  readonly errors: readonly GraphQLError[];
  readonly #operations = new Map<OperationDefinitionNode, PreparedOperation>();

  /** Throws GraphQLError for a text that cannot be read or is out of bounds. */
  constructor(text: string) {
    const parsed = parseDocument(text);
    this.tree = parsed.tree;
    this.errors = validate(schema, this.tree, specifiedRules, { maxErrors: MOST_ERRORS - 1 });
    if (this.errors.length > 0) return;
    for (const one of this.tree.definitions)
      if (one.kind === Kind.OPERATION_DEFINITION) this.#operations.set(one, new PreparedOperation(parsed, one));
  }

  /** The operation of this name, or the only one; undefined for none, and of what is not valid. */
  operation(name?: string | null): PreparedOperation | undefined {
    const node = getOperationAST(this.tree, name);
    return node ? this.#operations.get(node) : undefined;
  }
}

/** Their trees take a hundred times as many bytes. */
const MOST_CHARACTERS = 256 * 1024;
/** Documents by their texts; those used last are kept. */
const documents = new LRUCache<string, Document>({
  maxSize: MOST_CHARACTERS,
  sizeCalculation: (_, text) => text.length + 1,
});

/** Prepares a document once for all who send it; throws GraphQLError for one that cannot be read or is out of bounds. */
export function prepare(source: string | Source): Document {
  const text = typeof source === 'string' ? source : source.body;
  const known = documents.get(text);
  if (known) return known;
  const document = new Document(text);
  documents.set(text, document);
  return document;
}
