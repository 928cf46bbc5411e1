import { type DocumentNode, type GraphQLError, type Source, specifiedRules, validate } from 'graphql';
import { schema } from '../schema/schema.ts';
import { MOST_ERRORS } from './errors.ts';
import { parseDocument } from './guards.ts';
import { type Plan, planOf } from './sql-plan.ts';

/** What follows from a document's text alone, and so is the same for all who send it. */
export interface Document {
  tree: DocumentNode;
  /** The first errors, of which the last may say that there are more; none when it is valid. */
  errors: readonly GraphQLError[];
  /** How core can answer it; null where it is to be executed. */
  plan: Plan | null;
}

/** Documents are kept up to this sum of their characters: their trees take a hundred times as much. */
const KEPT_CHARACTERS = 256 * 1024;
const kept = new Map<string, Document>();
let keptCharacters = 0;
let latest: Document | undefined;

/** Prepares a document for execution; throws GraphQLError for one that cannot be read or is out of bounds. */
export function prepare(source: string | Source): Document {
  const text = typeof source === 'string' ? source : source.body;
  const before = kept.get(text);
  const document = before ?? judge(text);
  // Those used last are kept.
  if (document !== latest) {
    kept.delete(text);
    kept.set(text, document);
  }
  if (!before) forgetBeyond(text.length);
  latest = document;
  return document;
}

function judge(text: string): Document {
  const tree = parseDocument(text);
  const errors = validate(schema, tree, specifiedRules, { maxErrors: MOST_ERRORS - 1 });
  return { tree, errors, plan: errors.length === 0 ? planOf(tree) : null };
}

function forgetBeyond(added: number): void {
  keptCharacters += added;
  for (const oldest of kept.keys()) {
    if (keptCharacters <= KEPT_CHARACTERS) return;
    kept.delete(oldest);
    keptCharacters -= oldest.length;
  }
}
