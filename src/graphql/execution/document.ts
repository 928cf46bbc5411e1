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
import { schema } from '../schema/schema.ts';
import { MOST_ERRORS } from './errors.ts';
import { parseDocument } from './guards.ts';
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

/** Documents are kept up to this sum of their characters: their trees take a hundred times as much. */
const KEPT_CHARACTERS = 256 * 1024;
const kept = new Map<string, Document>();
const byTree = new WeakMap<DocumentNode, Document>();
let keptCharacters = 0;
let latest: Document | undefined;

/** The document that a tree was prepared of. */
export const documentOf = (tree: DocumentNode): Document | undefined => byTree.get(tree);

/** Prepares a document for execution; throws GraphQLError for one that cannot be read or is out of bounds. */
export function prepare(source: string | Source): Document {
  const text = typeof source === 'string' ? source : source.body;
  const before = kept.get(text);
  const document = before ?? new Document(text);
  // Those used last are kept.
  if (document !== latest) {
    kept.delete(text);
    kept.set(text, document);
  }
  if (!before) {
    byTree.set(document.tree, document);
    forgetBeyond(text.length);
  }
  latest = document;
  return document;
}

function forgetBeyond(added: number): void {
  keptCharacters += added;
  for (const oldest of kept.keys()) {
    if (keptCharacters <= KEPT_CHARACTERS) return;
    kept.delete(oldest);
    keptCharacters -= oldest.length;
  }
}
