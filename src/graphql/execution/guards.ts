import {
  type DirectiveNode,
  type DocumentNode,
  type ExecutableDefinitionNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  parse,
  type SelectionSetNode,
  visit,
} from 'graphql';
import { rejectedDocumentError, withErrorCode } from './errors.ts';

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
  const { count, ...facts } = measure(tree);
  for (const what of Object.keys(count) as (keyof typeof count)[]) {
    if (count[what] > documentBounds[what]) throw outOfBoundsError(what, documentBounds[what]);
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
  const zeros = Object.keys(documentBounds).map((what) => [what, 0]);
  const count: Record<keyof typeof documentBounds, number> = Object.fromEntries(zeros);
  const directives: DirectiveNode[] = [];
  let asksForSchema = false;
  let level = 0;
  let listItems = 0;
  const countFragment = () => {
    count.fragments += 1;
  };
  const countLevel = {
    enter() {
      level += 1;
      count['levels of values'] = Math.max(count['levels of values'], level);
    },
    leave() {
      level -= 1;
    },
  };
  visit(
    { ...document, definitions },
    {
      FragmentDefinition: countFragment,
      InlineFragment: countFragment,
      VariableDefinition() {
        count.variables += 1;
      },
      ListType: countLevel,
      ListValue: {
        enter({ values }) {
          listItems += values.length;
          countLevel.enter();
        },
        leave: countLevel.leave,
      },
      ObjectValue: countLevel,
      Directive(node) {
        directives.push(node);
      },
      SelectionSet({ selections }) {
        const names = selections.filter((node) => node.kind === Kind.FIELD).map(responseName);
        count['repeated fields'] += names.length - new Set(names).size;
      },
      Field({ name, alias }) {
        if (name.value === '__schema' || name.value === '__type') asksForSchema = true;
        if (!alias) return;
        count.aliases += 1;
        count['characters in one name'] = Math.max(count['characters in one name'], alias.value.length);
        if (name.value === '__typename') count['aliases of __typename'] += 1;
      },
    },
  );
  count.directives = directives.length;
  count['levels of fields'] = levelsOfFields(document, definitions);
  if (asksForSchema) count['aliases where it asks for the schema'] = count.aliases;
  return { count, asksForSchema, directives, listItems };
}

/** The most levels, through fragments. Validation rejects fragments that spread themselves. */
function levelsOfFields(document: DocumentNode, definitions: readonly ExecutableDefinitionNode[]): number {
  const known = new Map<string, number>();
  const levelsOf = ({ selections }: SelectionSetNode): number =>
    Math.max(
      0,
      ...selections.map((node) => {
        if (node.kind === Kind.FRAGMENT_SPREAD) return levelsOfFragment(node.name.value);
        const below = node.selectionSet ? levelsOf(node.selectionSet) : 0;
        return node.kind === Kind.FIELD ? below + 1 : below;
      }),
    );
  const levelsOfFragment = (name: string): number => {
    const before = known.get(name);
    if (before !== undefined) return before;
    known.set(name, 0);
    const fragment = findFragment(document, name);
    if (fragment) known.set(name, levelsOf(fragment.selectionSet));
    return known.get(name) ?? 0;
  };
  const levels = definitions.map((one) =>
    one.kind === Kind.FRAGMENT_DEFINITION ? levelsOfFragment(one.name.value) : levelsOf(one.selectionSet),
  );
  return Math.max(0, ...levels);
}

export const findFragment = ({ definitions }: DocumentNode, name: string) =>
  definitions.find(
    (one): one is FragmentDefinitionNode => one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === name,
  );

export const responseName = ({ alias, name }: FieldNode): string => (alias ?? name).value;

export const outOfBoundsError = (what: string, bound: number): GraphQLError =>
  rejectedDocumentError(`An operation has at most ${bound.toLocaleString('en')} ${what}.`);
