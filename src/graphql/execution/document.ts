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
import { bounds, parseDocument } from './guards.ts';
import { PreparedOperation } from './prepared-operation.ts';
import { isPlainlyValid } from './validity.ts';

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
    this.errors = isPlainlyValid(schema, this.tree)
      ? []
      : validate(schema, this.tree, specifiedRules, { maxErrors: MOST_ERRORS - 1 });
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

/** Of documents that are kept: their trees take a hundred times as much. */
const KEPT_CHARACTERS = 256 * 1024;
/** By texts, of which those used last are kept up to a sum of their characters. */
const byText = <Value extends object | true>(maxSize: number) =>
  new LRUCache<string, Value>({ maxSize, sizeCalculation: (_, text) => text.length + 1 });
const kept = byText<Document>(KEPT_CHARACTERS);
const seen = byText<true>(KEPT_CHARACTERS);
/** Those that are not valid, for a moment. */
const invalid = byText<Document>(4 * bounds.characters);

/**
 * Prepares a document for execution; throws GraphQLError for one that cannot be read or is out of bounds. It is kept when it
 * comes for the second time, so that those that come once push out no others, and are forgotten while that is cheap. One that
 * is not valid is kept at once, apart from them: Yoga asks for it again, to tell what is wrong.
 */
export function prepare(source: string | Source): Document {
  const text = typeof source === 'string' ? source : source.body;
  const known = kept.get(text) ?? invalid.get(text);
  if (known) return known;
  const document = new Document(text);
  if (document.errors.length > 0) invalid.set(text, document);
  else if (seen.get(text)) kept.set(text, document);
  else seen.set(text, true);
  return document;
}
