import {
  type DefinitionNode,
  type DocumentNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  visit,
} from 'graphql';
import { RejectedDocument } from './errors.ts';

/** What a document may hold. Checked on its text before it is parsed, and on its tree before it is validated. */
export const bounds = {
  characters: 16 * 1024,
  tokens: 2000,
  depth: 20,
  /** Lists and objects within each other, in a value or a type: whoever reads them calls itself for each. */
  'levels of values': 20,
  aliases: 50,
  /** Each object of the answer repeats them. */
  'characters in one name': 100,
  'aliases of __typename': 3,
  directives: 50,
  fragments: 50,
  variables: 100,
  /** Fields that stand in their set already: validation compares each with each. */
  'repeated fields': 50,
  /** The schema is for everybody, and one copy of it is big enough. */
  'aliases where it asks for the schema': 3,
};

/** Documents with `__schema` or `__type` in them. */
const introspecting = new WeakSet<DocumentNode>();

/** Reads a document; throws GraphQLError for one that is wrong or out of bounds. */
export function parseDocument(text: string): DocumentNode {
  if (text.length > bounds.characters) throw outOfBounds('characters', bounds.characters);
  const document = parseBounded(text);
  checkTree(document);
  return document;
}

function parseBounded(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: bounds.tokens });
  } catch (error) {
    // The parser calls itself for each level; where that overflows the stack, no bound was kept.
    if (error instanceof RangeError) throw outOfBounds('levels of values', bounds['levels of values']);
    throw error instanceof GraphQLError && error.message.includes('tokens') && error.message.includes('aborted')
      ? outOfBounds('tokens', bounds.tokens)
      : error;
  }
}

function checkTree(document: DocumentNode): void {
  const count = countsOf(document);
  for (const what of Object.keys(count) as (keyof typeof count)[]) {
    if (count[what] > bounds[what]) throw outOfBounds(what, bounds[what]);
  }
  const ofSchema = 'aliases where it asks for the schema';
  if (introspecting.has(document) && count.aliases > bounds[ofSchema]) throw outOfBounds(ofSchema, bounds[ofSchema]);
  if (depthOf(document) > bounds.depth) throw outOfBounds('levels of fields', bounds.depth);
}

/** What is bounded and can be counted in one walk; notes whether the document asks for the schema. */
function countsOf(document: DocumentNode) {
  const count = {
    aliases: 0,
    directives: 0,
    fragments: 0,
    variables: 0,
    'repeated fields': 0,
    'levels of values': 0,
    'characters in one name': 0,
    'aliases of __typename': 0,
  };
  let level = 0;
  const nested = {
    enter() {
      level += 1;
      count['levels of values'] = Math.max(count['levels of values'], level);
    },
    leave() {
      level -= 1;
    },
  };
  const counted = (what: 'directives' | 'fragments' | 'variables') => () => {
    count[what] += 1;
  };
  visit(document, {
    ListValue: nested,
    ObjectValue: nested,
    ListType: nested,
    Directive: counted('directives'),
    FragmentDefinition: counted('fragments'),
    InlineFragment: counted('fragments'),
    VariableDefinition: counted('variables'),
    Field({ alias, name }) {
      if (name.value === '__schema' || name.value === '__type') introspecting.add(document);
      if (!alias) return;
      count.aliases += 1;
      count['characters in one name'] = Math.max(count['characters in one name'], alias.value.length);
      if (name.value === '__typename') count['aliases of __typename'] += 1;
    },
    SelectionSet({ selections }) {
      const names = selections.flatMap((node) => (node.kind === Kind.FIELD ? (node.alias ?? node.name).value : []));
      count['repeated fields'] += names.length - new Set(names).size;
    },
  });
  return count;
}

/** Whether a document asks for the schema, alone or beside other things. `__typename` does not count. */
export const asksForSchema = (document: DocumentNode): boolean => introspecting.has(document);

/** Levels of fields below the deepest operation. A fragment that spreads itself counts once: validation rejects it. */
function depthOf(document: DocumentNode): number {
  const depths = new Map<string, number>();
  const ofFragment = (name: string): number => {
    const known = depths.get(name);
    if (known !== undefined) return known;
    depths.set(name, 0);
    const depth = ofSet(selectionsOf(fragmentOf(document, name)));
    depths.set(name, depth);
    return depth;
  };
  const ofSet = (set: SelectionSetNode | undefined): number => Math.max(0, ...(set?.selections ?? []).map(ofSelection));
  const ofSelection = (node: SelectionNode): number => {
    if (node.kind === Kind.FRAGMENT_SPREAD) return ofFragment(node.name.value);
    return ofSet(node.selectionSet) + (node.kind === Kind.FIELD ? 1 : 0);
  };
  return Math.max(0, ...document.definitions.map((definition) => ofSet(selectionsOf(definition))));
}

/** The fragment of this name, if the document has one. */
export const fragmentOf = ({ definitions }: DocumentNode, name: string) =>
  definitions.find((one) => one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === name);

const selectionsOf = (definition: DefinitionNode | undefined) =>
  definition && 'selectionSet' in definition ? definition.selectionSet : undefined;

/** The error of a document that asks for too much; the bound is in its message. */
export const outOfBounds = (what: string, bound: number): GraphQLError =>
  rejectedDocument(`An operation has at most ${bound.toLocaleString('en')} ${what}.`);

/** The error of a document that GraphQL itself would let pass. */
export const rejectedDocument = (message: string): GraphQLError => new RejectedDocument(message);

/** Whether an operation asks for nothing but the schema: what everybody may, without a token. */
export function asksOnlyForSchema(document: DocumentNode, { selectionSet }: OperationDefinitionNode): boolean {
  const spread = new Set<string>();
  const isPublic = (node: SelectionNode): boolean => {
    if (node.kind === Kind.FIELD) return node.name.value.startsWith('__');
    if (node.kind === Kind.INLINE_FRAGMENT) return node.selectionSet.selections.every(isPublic);
    const name = node.name.value;
    if (spread.has(name)) return true;
    spread.add(name);
    return (selectionsOf(fragmentOf(document, name))?.selections ?? []).every(isPublic);
  };
  return selectionSet.selections.every(isPublic);
}
