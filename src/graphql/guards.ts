import {
  type DefinitionNode,
  type DocumentNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  type Source,
  visit,
} from 'graphql';

/** What a document may hold. Checked on its text before it is parsed, and on its tree before it is validated. */
export const bounds = {
  characters: 16 * 1024,
  tokens: 2000,
  depth: 20,
  aliases: 50,
  directives: 50,
  fragments: 50,
  variables: 100,
};

/** Documents that are kept parsed: few, and small ones, since their trees take a hundred times their text. */
const KEPT_DOCUMENTS = 100;
const KEPT_CHARACTERS = 4096;
const kept = new Map<string, DocumentNode>();

/** Reads a document; throws GraphQLError for one that is wrong or out of bounds. The same text gives the same tree. */
export function readDocument(source: string | Source): DocumentNode {
  const text = typeof source === 'string' ? source : source.body;
  const before = kept.get(text);
  if (before) {
    // The last ones used are kept.
    kept.delete(text);
    kept.set(text, before);
    return before;
  }
  if (text.length > bounds.characters) throw outOfBounds('characters', bounds.characters);
  const document = parseBounded(text);
  checkTree(document);
  if (text.length <= KEPT_CHARACTERS) {
    kept.set(text, document);
    if (kept.size > KEPT_DOCUMENTS) kept.delete(kept.keys().next().value ?? '');
  }
  return document;
}

function parseBounded(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: bounds.tokens });
  } catch (error) {
    throw error instanceof GraphQLError && error.message.includes('tokens') && error.message.includes('aborted')
      ? outOfBounds('tokens', bounds.tokens)
      : error;
  }
}

function checkTree(document: DocumentNode): void {
  const count = { aliases: 0, directives: 0, fragments: 0, variables: 0 };
  visit(document, {
    Field: ({ alias }) => {
      if (alias) count.aliases += 1;
    },
    Directive: () => {
      count.directives += 1;
    },
    FragmentDefinition: () => {
      count.fragments += 1;
    },
    VariableDefinition: () => {
      count.variables += 1;
    },
  });
  for (const what of ['aliases', 'directives', 'fragments', 'variables'] as const) {
    if (count[what] > bounds[what]) throw outOfBounds(what, bounds[what]);
  }
  if (depthOf(document) > bounds.depth) throw outOfBounds('levels of fields', bounds.depth);
}

/** Levels of fields below the deepest operation. A fragment that spreads itself counts once: validation refuses it. */
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

/** The refusal of a document that asks for too much; the bound is in its message. */
export function outOfBounds(what: string, bound: number): GraphQLError {
  return new GraphQLError(`An operation has at most ${bound.toLocaleString('en')} ${what}.`, {
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400, spec: true } },
  });
}

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
