import {
  type ASTNode,
  type DirectiveNode,
  type DocumentNode,
  type ExecutableDefinitionNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  visit,
} from 'graphql';
import { rejectedDocumentError, withErrorCode } from './result-errors.ts';

/** The bounds of a document, checked on its text before it is parsed and on its tree before it is validated. */
export const documentBounds = {
  characters: 16 * 1024,
  tokens: 2000,
  aliases: 50,
  directives: 50,
  fragments: 50,
  variables: 100,
  /** Fields that their set has already: validation compares each with each. */
  'repeated fields': 50,
  /** Nested lists and objects, in a value or a type, which are read recursively. */
  'levels of values': 20,
  'characters in one name': 100,
  'aliases of __typename': 3,
  'levels of fields': 20,
  /** One copy of the schema is large enough. */
  'aliases where it asks for the schema': 3,
  /** The fields of all types, as tools ask for them. A further level would multiply the answer, which has no cost. */
  'levels of lists and aliases in the schema': 2,
};

/** A document within its bounds, and facts from the one walk over it. */
export interface ParsedDocument {
  tree: DocumentNode;
  /** `__typename` does not count. */
  asksForSchema: boolean;
  directives: readonly DirectiveNode[];
  /** The number of items in lists that are written in the document. */
  listItems: number;
}

/** Parses a document; throws GraphQLError if it is malformed or out of bounds. */
export function parseGraphqlDocument(text: string): ParsedDocument {
  if (text.length > documentBounds.characters) throw outOfBoundsError('characters', documentBounds.characters);
  const tree = parseBounded(text);
  const { counts, ...facts } = measure(tree);
  for (const what of Object.keys(counts) as (keyof typeof counts)[]) {
    if (counts[what] > documentBounds[what]) throw outOfBoundsError(what, documentBounds[what]);
  }
  return { tree, ...facts };
}

function parseBounded(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: documentBounds.tokens });
  } catch (error) {
    // The parser is recursive: deep documents overflow its stack.
    if (error instanceof RangeError) throw outOfBoundsError('levels of values', documentBounds['levels of values']);
    if (!(error instanceof GraphQLError)) throw error;
    const isTooLong = error.message.includes('tokens') && error.message.includes('aborted');
    throw isTooLong ? outOfBoundsError('tokens', documentBounds.tokens) : withErrorCode(error, 'GRAPHQL_PARSE_FAILED');
  }
}

/** Counts in operations and fragments; validation rejects other definitions. */
function measure(document: DocumentNode) {
  const definitions = document.definitions.filter((one) => 'selectionSet' in one);
  const nodes: ASTNode[] = [];
  let level = 0;
  let levelsOfValues = 0;
  visit(
    { ...document, definitions },
    {
      enter(node) {
        nodes.push(node);
        if (nested.has(node.kind)) level += 1;
        levelsOfValues = Math.max(levelsOfValues, level);
      },
      leave({ kind }) {
        if (nested.has(kind)) level -= 1;
      },
    },
  );
  const countOf = (...kinds: Kind[]) => nodes.filter(({ kind }) => kinds.includes(kind)).length;
  const directives = nodes.filter((node) => node.kind === Kind.DIRECTIVE);
  const lists = nodes.filter((node) => node.kind === Kind.LIST);
  const fields = nodes.filter((node) => node.kind === Kind.FIELD);
  const aliased = fields.filter(({ alias }) => alias);
  const ofSchema = fields.filter(({ name }) => name.value === '__schema' || name.value === '__type');
  const asksForSchema = ofSchema.length > 0;
  const repeated = nodes.filter((node) => node.kind === Kind.SELECTION_SET).map(repeatedFields);
  const counts = {
    aliases: aliased.length,
    directives: directives.length,
    fragments: countOf(Kind.FRAGMENT_DEFINITION, Kind.INLINE_FRAGMENT),
    variables: countOf(Kind.VARIABLE_DEFINITION),
    'repeated fields': repeated.reduce((sum, one) => sum + one, 0),
    'levels of values': levelsOfValues,
    'characters in one name': Math.max(0, ...aliased.map((node) => responseName(node).length)),
    'aliases of __typename': aliased.filter(({ name }) => name.value === '__typename').length,
    'levels of fields': levelsOf(document, definitions, () => 1),
    'aliases where it asks for the schema': asksForSchema ? aliased.length : 0,
    'levels of lists and aliases in the schema': levelsOf(document, ofSchema, schemaLevels),
  } satisfies Record<Exclude<keyof typeof documentBounds, 'characters' | 'tokens'>, number>;
  return { counts, asksForSchema, directives, listItems: lists.reduce((sum, { values }) => sum + values.length, 0) };
}

const nested = new Set<Kind>([Kind.LIST_TYPE, Kind.LIST, Kind.OBJECT]);

function repeatedFields({ selections }: SelectionSetNode): number {
  const names = selections.filter((node) => node.kind === Kind.FIELD).map(responseName);
  return names.length - new Set(names).size;
}

const schemaLists = new Set([
  ...['types', 'directives', 'fields', 'inputFields', 'interfaces', 'possibleTypes', 'enumValues'],
]);

/** By lists and by aliases. `args` do not count: there are few of each field. */
function schemaLevels({ alias, name, selectionSet }: FieldNode): number {
  if (!selectionSet) return 0;
  return (alias ? 1 : 0) + (schemaLists.has(name.value) ? 1 : 0);
}

/** The most levels of nested fields, through fragments. Validation rejects fragments that spread themselves. */
function levelsOf(
  document: DocumentNode,
  nodes: readonly (ExecutableDefinitionNode | FieldNode)[],
  levelsOfField: (field: FieldNode) => number,
): number {
  const known = new Map<string, number>();
  const levelsOfNode = (node: SelectionNode | ExecutableDefinitionNode): number => {
    if (node.kind === Kind.FRAGMENT_SPREAD) return levelsOfFragment(node.name.value);
    const below = node.selectionSet?.selections.map(levelsOfNode) ?? [];
    return Math.max(0, ...below) + (node.kind === Kind.FIELD ? levelsOfField(node) : 0);
  };
  const levelsOfFragment = (name: string): number => {
    const before = known.get(name);
    if (before !== undefined) return before;
    known.set(name, 0);
    const fragment = findFragment(document, name);
    const levels = fragment ? levelsOfNode(fragment) : 0;
    known.set(name, levels);
    return levels;
  };
  return Math.max(0, ...nodes.map(levelsOfNode));
}

export const findFragment = ({ definitions }: DocumentNode, name: string) =>
  definitions.find(
    (one): one is FragmentDefinitionNode => one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === name,
  );

export const responseName = ({ alias, name }: FieldNode): string => (alias ?? name).value;

export const outOfBoundsError = (what: string, bound: number): GraphQLError =>
  rejectedDocumentError(`An operation has at most ${bound.toLocaleString('en')} ${what}.`);
