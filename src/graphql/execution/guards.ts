import {
  type DefinitionNode,
  type DirectiveNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  type TypeNode,
  type ValueNode,
} from 'graphql';
import { RejectedDocument } from './errors.ts';

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
  const { count, asksForSchema, directives } = new Walk(tree);
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
    throw error instanceof GraphQLError && error.message.includes('tokens') && error.message.includes('aborted')
      ? outOfBounds('tokens', bounds.tokens)
      : error;
  }
}

/** Counts what is bounded. Definitions that nobody can execute have nothing of it. */
class Walk {
  readonly count = {
    aliases: 0,
    directives: 0,
    fragments: 0,
    variables: 0,
    'repeated fields': 0,
    'levels of values': 0,
    'characters in one name': 0,
    'aliases of __typename': 0,
    'levels of fields': 0,
  };
  asksForSchema = false;
  readonly directives: DirectiveNode[] = [];
  readonly #document: DocumentNode;
  /** Levels of fields. A fragment that spreads itself counts once: validation rejects it. */
  readonly #depths = new Map<DefinitionNode, number>();

  constructor(document: DocumentNode) {
    this.#document = document;
    for (const one of document.definitions) this.#most('levels of fields', this.#definition(one));
  }

  #most(what: keyof Walk['count'], found: number): void {
    if (found > this.count[what]) this.count[what] = found;
  }

  #definition(definition: DefinitionNode | undefined): number {
    if (!definition || !('selectionSet' in definition)) return 0;
    const known = this.#depths.get(definition);
    if (known !== undefined) return known;
    this.#depths.set(definition, 0);
    if (definition.kind === Kind.FRAGMENT_DEFINITION) this.count.fragments += 1;
    for (const { type, defaultValue, directives } of definition.variableDefinitions ?? []) {
      this.count.variables += 1;
      this.#type(type, 1);
      if (defaultValue) this.#value(defaultValue, 1);
      this.#directives(directives);
    }
    this.#directives(definition.directives);
    const depth = this.#set(definition.selectionSet);
    this.#depths.set(definition, depth);
    return depth;
  }

  #set({ selections }: SelectionSetNode): number {
    const names = new Set<string>();
    let depth = 0;
    let fields = 0;
    for (const node of selections) {
      this.#directives(node.directives);
      depth = Math.max(depth, this.#selection(node));
      if (node.kind !== Kind.FIELD) continue;
      fields += 1;
      names.add((node.alias ?? node.name).value);
    }
    this.count['repeated fields'] += fields - names.size;
    return depth;
  }

  #selection(node: SelectionNode): number {
    if (node.kind === Kind.FRAGMENT_SPREAD) return this.#definition(fragmentOf(this.#document, node.name.value));
    if (node.kind === Kind.INLINE_FRAGMENT) {
      this.count.fragments += 1;
      return this.#set(node.selectionSet);
    }
    const { alias, name, arguments: given = [], selectionSet } = node;
    if (name.value === '__schema' || name.value === '__type') this.asksForSchema = true;
    for (const { value } of given) this.#value(value, 1);
    if (alias) {
      this.count.aliases += 1;
      this.#most('characters in one name', alias.value.length);
      if (name.value === '__typename') this.count['aliases of __typename'] += 1;
    }
    return 1 + (selectionSet ? this.#set(selectionSet) : 0);
  }

  #directives(directives: readonly DirectiveNode[] = []): void {
    for (const directive of directives) {
      this.count.directives += 1;
      this.directives.push(directive);
      for (const { value } of directive.arguments ?? []) this.#value(value, 1);
    }
  }

  #value(value: ValueNode, level: number): void {
    if (value.kind !== Kind.LIST && value.kind !== Kind.OBJECT) return;
    this.#most('levels of values', level);
    if (value.kind === Kind.LIST) for (const one of value.values) this.#value(one, level + 1);
    else for (const one of value.fields) this.#value(one.value, level + 1);
  }

  #type(type: TypeNode, level: number): void {
    if (type.kind === Kind.NAMED_TYPE) return;
    if (type.kind === Kind.LIST_TYPE) this.#most('levels of values', level);
    this.#type(type.type, type.kind === Kind.LIST_TYPE ? level + 1 : level);
  }
}

/** The fragment of this name, if the document has one. */
export const fragmentOf = ({ definitions }: DocumentNode, name: string) =>
  definitions.find(
    (one): one is FragmentDefinitionNode => one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === name,
  );

/** The error of a document that asks for too much; the bound is in its message. */
export const outOfBounds = (what: string, bound: number): GraphQLError =>
  new RejectedDocument(`An operation has at most ${bound.toLocaleString('en')} ${what}.`);

/** Whether an operation asks for nothing but the schema: what everybody may, without a token. */
export function asksOnlyForSchema(document: DocumentNode, { selectionSet }: OperationDefinitionNode): boolean {
  const spread = new Set<string>();
  const isPublic = (node: SelectionNode): boolean => {
    if (node.kind === Kind.FIELD) return node.name.value.startsWith('__');
    if (node.kind === Kind.INLINE_FRAGMENT) return node.selectionSet.selections.every(isPublic);
    const name = node.name.value;
    if (spread.has(name)) return true;
    spread.add(name);
    return (fragmentOf(document, name)?.selectionSet.selections ?? []).every(isPublic);
  };
  return selectionSet.selections.every(isPublic);
}
