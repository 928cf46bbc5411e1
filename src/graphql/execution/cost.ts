import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  getNullableType,
  type InlineFragmentNode,
  isCompositeType,
  isListType,
  isUnionType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  typeFromAST,
  type ValueNode,
} from 'graphql';
import { PAGE_DEFAULT, PAGE_MAX } from '../../core/sql/page.ts';
import { fragmentOf } from './guards.ts';

/** The cost of a field, in its `extensions`. */
export type Cost = {
  /**
   * Items that its list has at most: a number; what follows from its arguments at this time; `page`, as many as its
   * connection's page; `input`, as many as the lists in the arguments of the operation's field have together.
   */
  size?: number | ((given: Readonly<Record<string, unknown>>) => number) | 'page' | 'input';
  /** How many objects one of its objects is worth; by default 1. */
  weight?: number;
};

export interface Asked {
  schema: GraphQLSchema;
  document: DocumentNode;
  operation: OperationDefinitionNode;
  /** The coerced variables, with their defaults. */
  variables: Readonly<Record<string, unknown>>;
}

/** The sizes of what a selection stands in. */
interface Sizes {
  page: number;
  /** The operation's field that it stands below, where lists come in. */
  root: FieldNode;
}

/** The most objects that the answer to a valid operation can hold; `isFixed` where that holds whatever the variables. */
export function costOf(asked: Asked): { cost: number; isFixed: boolean } {
  const { schema, operation } = asked;
  const costs = new Costs(asked);
  const root = schema.getRootType(operation.operation) as GraphQLNamedType;
  const cost = costs.ofSet(root, operation.selectionSet, null);
  return { cost, isFixed: !costs.byVariables };
}

/** Adds up the cost of one operation. */
class Costs {
  /** Whether the cost depends on the variables. */
  byVariables = false;
  readonly #asked: Asked;
  readonly #fragments = new Map<string, number>();

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  ofSet(type: GraphQLNamedType, set: SelectionSetNode | undefined, sizes: Sizes | null): number {
    let cost = 0;
    for (const node of set?.selections ?? []) {
      if (node.kind === Kind.FIELD) cost += this.#ofField(type, node, sizes);
      else if (node.kind === Kind.FRAGMENT_SPREAD) cost += this.#ofFragment(node.name.value, sizes);
      else cost += this.ofSet(this.#typeOf(node) ?? type, node.selectionSet, sizes);
    }
    return cost;
  }

  /** Added up once for the sizes it stands in, so that fragments of fragments do not multiply the work. */
  #ofFragment(name: string, sizes: Sizes | null): number {
    const key = `${name} ${sizes?.page} ${sizes?.root.loc?.start}`;
    const before = this.#fragments.get(key);
    if (before !== undefined) return before;
    const fragment = fragmentOf(this.#asked.document, name);
    const type = fragment && this.#typeOf(fragment);
    const cost = type ? this.ofSet(type, fragment.selectionSet, sizes) : 0;
    this.#fragments.set(key, cost);
    return cost;
  }

  #typeOf({ typeCondition }: InlineFragmentNode | FragmentDefinitionNode): GraphQLNamedType | undefined {
    return typeCondition && typeFromAST(this.#asked.schema, typeCondition);
  }

  /** `sizes` are null for a field of the operation itself. */
  #ofField(parent: GraphQLNamedType, node: FieldNode, sizes: Sizes | null): number {
    if (!isCompositeType(parent) || isUnionType(parent)) return 0;
    const field = parent.getFields()[node.name.value];
    const type = field && getNamedType(field.type);
    if (!field || !isCompositeType(type)) return 0;
    const here = sizes ?? { page: PAGE_DEFAULT, root: node };
    const below = { page: this.#pageSizeOf(node), root: here.root };
    const { weight = 1 } = field.extensions as Cost;
    return this.#sizeOf(field, node, here) * (weight + this.ofSet(type, node.selectionSet, below));
  }

  /** A list of which nobody has said how long it can be is as long as any. */
  #sizeOf(field: GraphQLField<unknown, unknown>, node: FieldNode, { page, root }: Sizes): number {
    if (!isListType(getNullableType(field.type))) return 1;
    const { size = PAGE_MAX } = field.extensions as Cost;
    if (typeof size === 'number') return size;
    if (typeof size === 'function') {
      this.byVariables = true;
      const given = this.#argumentsOf(field, node);
      return given ? size(given) : 0;
    }
    return size === 'page' ? page : this.#itemsOfArguments(root);
  }

  /** Null where they are wrong: execution says so at the field's place, and makes nothing of it. */
  #argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode) {
    try {
      return getArgumentValues(field, node, this.#asked.variables);
    } catch {
      return null;
    }
  }

  #pageSizeOf({ arguments: given = [] }: FieldNode): number {
    const sizes = given
      .filter(({ name }) => name.value === 'first' || name.value === 'last')
      .map(({ value }) => Number(value.kind === Kind.INT ? value.value : this.#variableIn(value)))
      .filter((size) => size >= 1);
    return sizes.length > 0 ? Math.min(Math.max(...sizes), PAGE_MAX) : PAGE_DEFAULT;
  }

  #variableIn(value: ValueNode): unknown {
    if (value.kind !== Kind.VARIABLE) return undefined;
    this.byVariables = true;
    const { variables } = this.#asked;
    // A variable may be called like a member of every object.
    return Object.hasOwn(variables, value.name.value) ? variables[value.name.value] : undefined;
  }

  #itemsOfArguments({ arguments: given = [] }: FieldNode): number {
    return sum(given.map(({ value }) => this.#itemsOfValue(value)));
  }

  /** At least one, since a single value may stand for a list. */
  #itemsOfValue(value: ValueNode): number {
    return Math.max(1, this.#itemsOfNode(value));
  }

  /** Items of the lists in a value, as written in the document. */
  #itemsOfNode(value: ValueNode): number {
    if (value.kind === Kind.LIST) return value.values.length + sum(value.values.map((one) => this.#itemsOfNode(one)));
    if (value.kind === Kind.OBJECT) return sum(value.fields.map((field) => this.#itemsOfValue(field.value)));
    return itemsOf(this.#variableIn(value));
  }
}

/** Items of the lists in a value, as read. */
function itemsOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? sum(Object.values(value).map(itemsOf)) : 0;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
