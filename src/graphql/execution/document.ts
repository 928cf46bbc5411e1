import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type Source,
  specifiedRules,
  validate,
  visit,
} from 'graphql';
import { schema } from '../schema/schema.ts';
import { MOST_ERRORS } from './errors.ts';
import { fragmentOf, parseDocument } from './guards.ts';
import { type DocumentPlan, planQuery } from './plan.ts';
import type { Variables } from './selected.ts';
import { isPlainlyValid } from './validity.ts';

/** What follows from a document's text alone, and so is the same for all who send it. */
export interface Document {
  tree: DocumentNode;
  /** The first errors, of which the last may say that there are more; none when it is valid. */
  errors: readonly GraphQLError[];
  /** How to read a query of it, which `@skip` and `@include` leave with other fields for other variables. */
  planOf(operation: OperationDefinitionNode, variables: Variables): DocumentPlan;
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
  const errors = isPlainlyValid(schema, tree)
    ? []
    : validate(schema, tree, specifiedRules, { maxErrors: MOST_ERRORS - 1 });
  const plans = new Map<string, DocumentPlan>();
  const { hasDirectives, deciding } = directivesOf(tree);
  const keyOf = ({ name }: OperationDefinitionNode, variables: Variables) =>
    deciding.length === 0 ? (name?.value ?? '') : JSON.stringify([name?.value, deciding.map((one) => variables[one])]);
  const planWith = ({ selectionSet }: OperationDefinitionNode, variables: Variables | null) =>
    planQuery(schema.getQueryType() as GraphQLObjectType, selectionSet, {
      schema,
      fragment: (name) => fragmentOf(tree, name) as FragmentDefinitionNode | undefined,
      variables,
    });
  if (errors.length === 0) {
    // Bounded with all that it can ask for, which is what it always asks for where no variable decides.
    for (const one of tree.definitions) {
      if (one.kind !== Kind.OPERATION_DEFINITION || one.operation !== OperationTypeNode.QUERY) continue;
      const whole = planWith(one, null);
      if (!hasDirectives) plans.set(keyOf(one, {}), whole);
    }
  }
  return {
    tree,
    errors,
    planOf(operation, variables) {
      const key = keyOf(operation, variables);
      const plan = plans.get(key) ?? planWith(operation, variables);
      if (plans.size < MOST_PLANS) plans.set(key, plan);
      return plan;
    },
  };
}

/** Of a document. */
const MOST_PLANS = 8;

/** Whether a document has `@skip` and `@include` (there are no others), and the names of the variables by which they decide. */
function directivesOf(tree: DocumentNode): { hasDirectives: boolean; deciding: readonly string[] } {
  const names = new Set<string>();
  let hasDirectives = false;
  visit(tree, {
    Directive: ({ arguments: given = [] }) => {
      hasDirectives = true;
      for (const { value } of given) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
    },
  });
  return { hasDirectives, deciding: [...names] };
}

function forgetBeyond(added: number): void {
  keptCharacters += added;
  for (const oldest of kept.keys()) {
    if (keptCharacters <= KEPT_CHARACTERS) return;
    kept.delete(oldest);
    keptCharacters -= oldest.length;
  }
}
