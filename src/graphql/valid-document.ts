import { type DocumentNode, type GraphQLError, specifiedRules, validate } from 'graphql';
import { MOST_ERRORS } from './errors.ts';
import { schema } from './schema.ts';

/** What was found of documents; kept as long as readDocument keeps them. */
const found = new WeakMap<DocumentNode, readonly GraphQLError[]>();

/** The first faults of a document, of which the last may say that there are more; none when it is valid. */
export function faultsOf(document: DocumentNode): readonly GraphQLError[] {
  const before = found.get(document);
  if (before) return before;
  const faults = validate(schema, document, specifiedRules, { maxErrors: MOST_ERRORS - 1 });
  found.set(document, faults);
  return faults;
}
