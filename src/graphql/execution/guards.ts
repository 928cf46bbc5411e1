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
import { rejectedDocument, withCode } from './errors.ts';

/** The bounds of a document, checked on its text before it is parsed and on its tree before it is validated. */
export const bounds = {
  characters: 16 * 1024,
  tokens: 2000,
  'levels of fields': 20,
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

/** A document within its bounds, and what the one walk over it has found. */
export interface Parsed {
  tree: DocumentNode;
  /** Asks for the schema, alone or beside other things. `__typename` does not count. */
  asksForSchema: boolean;
  /** All of it; `@skip` and `@include`, for there are no others. */
  directives: readonly DirectiveNode[];
}

/** Reads a document; throws GraphQLError for one that is wrong or out of bounds. */
export function parseGraphqlDocument(text: string): Parsed {
  if (text.length > bounds.characters) throw outOfBounds('characters', bounds.characters);
  const tree = parseBounded(text);
  const { count, asksForSchema, directives } = measure(tree);
  for (const what of Object.keys(count) as (keyof typeof count)[]) {
    if (count[what] > bounds[what]) throw outOfBounds(what, bounds[what]);
  }
  const ofSchema = 'aliases where it asks for the schema';
  if (asksForSchema && count.aliases > bounds[ofSchema]) throw outOfBounds(ofSchema, bounds[ofSchema]);
  return { tree, asksForSchema, directives };
}

function parseBounded(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: bounds.tokens });
  } catch (error) {
    // The parser calls itself for each level; where that overflows the stack, no bound was kept.
    if (error instanceof RangeError) throw outOfBounds('levels of values', bounds['levels of values']);
    if (!(error instanceof GraphQLError)) throw error;
    const isTooLong = error.message.includes('tokens') && error.message.includes('aborted');
    throw isTooLong ? outOfBounds('tokens', bounds.tokens) : withCode(error, 'GRAPHQL_PARSE_FAILED');
  }
}

/** Counts what is bounded, in operations and fragments: validation rejects other definitions. */
function measure(document: DocumentNode) {
  const definitions = document.definitions.filter((one) => 'selectionSet' in one);
  const count = {
    aliases: 0,
    directives: 0,
    fragments: 0,
    variables: 0,
    'repeated fields': 0,
    'levels of values': 0,
    'characters in one name': 0,
    'aliases of __typename': 0,
    'levels of fields': levelsOfFields(document, definitions),
  };
  const directives: DirectiveNode[] = [];
  let asksForSchema = false;
  let level = 0;
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
      ListValue: countLevel,
      ObjectValue: countLevel,
      Directive(node) {
        count.directives += 1;
        directives.push(node);
      },
      SelectionSet({ selections }) {
        const names = selections.filter((node) => node.kind === Kind.FIELD).map(nameInAnswer);
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
  return { count, asksForSchema, directives };
}

/** The most levels, through fragments. A fragment that spreads itself counts once: validation rejects it. */
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
    const fragment = fragmentOf(document, name);
    if (fragment) known.set(name, levelsOf(fragment.selectionSet));
    return known.get(name) ?? 0;
  };
  const levels = definitions.map((one) =>
    one.kind === Kind.FRAGMENT_DEFINITION ? levelsOfFragment(one.name.value) : levelsOf(one.selectionSet),
  );
  return Math.max(0, ...levels);
}

/** The fragment of this name, if the document has one. */
export const fragmentOf = ({ definitions }: DocumentNode, name: string) =>
  definitions.find(
    (one): one is FragmentDefinitionNode => one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === name,
  );

/** The name of a field in the answer. */
export const nameInAnswer = ({ alias, name }: FieldNode): string => (alias ?? name).value;

/** The error of a document that asks for too much; the bound is in its message. */
export const outOfBounds = (what: string, bound: number): GraphQLError =>
  rejectedDocument(`An operation has at most ${bound.toLocaleString('en')} ${what}.`);
