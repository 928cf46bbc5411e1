import {
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLArgument,
  GraphQLEnumType,
  type GraphQLField,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInterfaceType,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  type GraphQLSchema,
  getNamedType,
  isRequiredArgument,
  isRequiredInputField,
  isTypeSubTypeOf,
  Kind,
  type NamedTypeNode,
  type ObjectValueNode,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  specifiedDirectives,
  TypeNameMetaFieldDef,
  typeFromAST,
  type ValueNode,
  type VariableDefinitionNode,
} from 'graphql';

/**
 * Whether graphql-js' rules find nothing wrong with a document, found out in one walk, which takes a tenth of their time. It is
 * false of what is wrong, and of what is rare (directives of definitions, the schema's own fields, subscriptions): these the rules
 * judge, and word.
 */
export const isPlainlyValid = (schema: GraphQLSchema, document: DocumentNode): boolean =>
  new Judgement(schema, document).isValid();

type Composite = GraphQLObjectType | GraphQLInterfaceType;

/** What stands under a name of the answer, and below it. */
interface Entry {
  field: GraphQLField<unknown, unknown>;
  node: FieldNode;
  below: Entries;
}
type Entries = Map<string, Entry>;

interface Variable {
  type: GraphQLInputType;
  hasDefault: boolean;
  isUsed: boolean;
}

/** Where a value stands. */
interface Place {
  type: GraphQLInputType;
  hasDefault?: boolean;
  isOneOf?: boolean;
}

/** Fields that are looked at: fragments of fragments multiply them. */
const MOST_FIELDS = 5000;

class Judgement {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  readonly #spread = new Set<string>();
  /** Those that the walk is in. */
  readonly #open = new Set<string>();
  #variables = new Map<string, Variable>();
  #left = MOST_FIELDS;

  constructor(schema: GraphQLSchema, document: DocumentNode) {
    this.#schema = schema;
    this.#document = document;
  }

  isValid(): boolean {
    const operations: OperationDefinitionNode[] = [];
    for (const one of this.#document.definitions) {
      if (one.kind === Kind.OPERATION_DEFINITION) operations.push(one);
      else if (one.kind !== Kind.FRAGMENT_DEFINITION || this.#fragments.has(one.name.value)) return false;
      else this.#fragments.set(one.name.value, one);
    }
    const names = new Set(operations.map(({ name }) => name?.value));
    const areNamed = operations.length === 1 || (names.size === operations.length && !names.has(undefined));
    return areNamed && operations.every((one) => this.#operation(one)) && this.#spread.size === this.#fragments.size;
  }

  #operation({ operation, directives, variableDefinitions = [], selectionSet }: OperationDefinitionNode): boolean {
    const type = this.#schema.getRootType(operation);
    if (!type || operation === OperationTypeNode.SUBSCRIPTION || directives?.length) return false;
    this.#variables = new Map();
    if (!variableDefinitions.every((one) => this.#define(one)) || !this.#set(type, selectionSet, new Map()))
      return false;
    for (const { isUsed } of this.#variables.values()) if (!isUsed) return false;
    return true;
  }

  #define({ variable, type: node, defaultValue, directives }: VariableDefinitionNode): boolean {
    const name = variable.name.value;
    const type = typeFromAST(this.#schema, node as NamedTypeNode) as GraphQLInputType | undefined;
    if (!type || !isInput(getNamedType(type)) || this.#variables.has(name) || directives?.length) return false;
    const hasDefault = defaultValue !== undefined && defaultValue.kind !== Kind.NULL;
    this.#variables.set(name, { type, hasDefault, isUsed: false });
    return !defaultValue || this.#value(defaultValue, { type });
  }

  #set(type: Composite, { selections }: SelectionSetNode, entries: Entries): boolean {
    for (const node of selections) if (!this.#selection(type, node, entries)) return false;
    return true;
  }

  #selection(type: Composite, node: SelectionNode, entries: Entries): boolean {
    if (node.directives?.length && !this.#directives(node.directives)) return false;
    if (node.kind === Kind.FIELD) return this.#field(type, node, entries);
    if (node.kind === Kind.INLINE_FRAGMENT) return this.#fragment(type, node, entries);
    const name = node.name.value;
    const fragment = this.#fragments.get(name);
    if (!fragment || fragment.directives?.length || this.#open.has(name)) return false;
    this.#spread.add(name);
    this.#open.add(name);
    const isValid = this.#fragment(type, fragment, entries);
    this.#open.delete(name);
    return isValid;
  }

  #fragment(
    type: Composite,
    { typeCondition, selectionSet }: { typeCondition?: NamedTypeNode | undefined; selectionSet: SelectionSetNode },
    entries: Entries,
  ): boolean {
    const own = typeCondition ? this.#schema.getType(typeCondition.name.value) : type;
    return isComposite(own) && this.#overlap(own, type) && this.#set(own, selectionSet, entries);
  }

  #overlap(one: Composite, other: Composite): boolean {
    if (one === other) return true;
    const isPart = (type: Composite, of: Composite) =>
      of instanceof GraphQLInterfaceType && this.#schema.isSubType(of, type);
    return isPart(one, other) || isPart(other, one);
  }

  #field(type: Composite, node: FieldNode, entries: Entries): boolean {
    this.#left -= 1;
    const name = node.name.value;
    const field = name === '__typename' ? TypeNameMetaFieldDef : type.getFields()[name];
    if (!field || this.#left < 0) return false;
    const { arguments: given = [], selectionSet } = node;
    const key = (node.alias ?? node.name).value;
    const known = entries.get(key);
    // The same field twice: what it is given need not be compared where that is nothing, or one place in the document.
    if (known && (known.field !== field || (known.node !== node && field.args.length > 0))) return false;
    const entry = known ?? { field, node, below: new Map() };
    if (!known) entries.set(key, entry);
    if (!this.#arguments(field.args, given)) return false;
    const below = getNamedType(field.type);
    return isComposite(below) ? !!selectionSet && this.#set(below, selectionSet, entry.below) : !selectionSet;
  }

  #directives(directives: readonly DirectiveNode[]): boolean {
    const names = new Set(directives.map(({ name }) => name.value));
    return (
      names.size === directives.length &&
      directives.every(({ name: { value: name }, arguments: given = [] }) => {
        const directive = DECIDING.includes(name) && specifiedDirectives.find((one) => one.name === name);
        return directive && this.#arguments(directive.args, given);
      })
    );
  }

  #arguments(args: readonly GraphQLArgument[], given: readonly ArgumentNode[]): boolean {
    let required = 0;
    for (const arg of args) if (isRequiredArgument(arg)) required += 1;
    for (const [at, { name, value }] of given.entries()) {
      const arg = args.find((one) => one.name === name.value);
      if (!arg || given.findIndex((one) => one.name.value === name.value) !== at) return false;
      if (!this.#value(value, { type: arg.type, hasDefault: arg.defaultValue !== undefined })) return false;
      if (isRequiredArgument(arg)) required -= 1;
    }
    return required === 0;
  }

  #value(node: ValueNode, place: Place): boolean {
    if (node.kind === Kind.VARIABLE) return this.#usage(node.name.value, place);
    const { type, isOneOf } = place;
    if (node.kind === Kind.NULL) return !isOneOf && !(type instanceof GraphQLNonNull);
    const own = type instanceof GraphQLNonNull ? type.ofType : type;
    if (own instanceof GraphQLList) {
      const item = { type: own.ofType };
      return node.kind === Kind.LIST ? node.values.every((one) => this.#value(one, item)) : this.#value(node, item);
    }
    if (own instanceof GraphQLInputObjectType) return node.kind === Kind.OBJECT && this.#object(node, own);
    return node.kind !== Kind.LIST && node.kind !== Kind.OBJECT && isRead(node, own);
  }

  #object({ fields: given }: ObjectValueNode, type: GraphQLInputObjectType): boolean {
    const fields = type.getFields();
    const names = new Set(given.map(({ name }) => name.value));
    if (names.size !== given.length || (type.isOneOf && given.length !== 1)) return false;
    for (const field of Object.values(fields)) if (isRequiredInputField(field) && !names.has(field.name)) return false;
    return given.every(({ name, value }) => {
      const field = fields[name.value];
      if (!field) return false;
      return this.#value(value, {
        type: field.type,
        hasDefault: field.defaultValue !== undefined,
        isOneOf: type.isOneOf,
      });
    });
  }

  #usage(name: string, { type, hasDefault = false, isOneOf = false }: Place): boolean {
    const variable = this.#variables.get(name);
    if (!variable) return false;
    variable.isUsed = true;
    const mayBeNull = !(variable.type instanceof GraphQLNonNull);
    if (!mayBeNull || !(type instanceof GraphQLNonNull)) {
      return !(isOneOf && mayBeNull) && isTypeSubTypeOf(this.#schema, variable.type, type);
    }
    return (hasDefault || variable.hasDefault) && !isOneOf && isTypeSubTypeOf(this.#schema, variable.type, type.ofType);
  }
}

const DECIDING = ['skip', 'include'];

const isComposite = (type: GraphQLNamedType | undefined): type is Composite =>
  type instanceof GraphQLObjectType || type instanceof GraphQLInterfaceType;

const isInput = (type: GraphQLNamedType): boolean =>
  type instanceof GraphQLScalarType || type instanceof GraphQLEnumType || type instanceof GraphQLInputObjectType;

function isRead(node: ValueNode, type: GraphQLScalarType | GraphQLEnumType): boolean {
  try {
    return type.parseLiteral(node, undefined) !== undefined;
  } catch {
    return false;
  }
}
