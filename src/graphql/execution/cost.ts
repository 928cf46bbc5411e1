import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  isUnionType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { PAGE_DEFAULT, PAGE_MAX } from '../../core/sql/page-size.ts';
import { fragmentOf } from './guards.ts';

/** What a field's `extensions` say of what it costs. */
export interface Cost {
  /**
   * Items that its list has at most: a number; `page`, as many as its connection's page; `input`, as many as the lists in the
   * arguments of the operation's field have together.
   */
  size?: number | 'page' | 'input';
  /** How many objects one of its objects is worth; by default 1. */
  weight?: number;
}

export interface Operation {
  schema: GraphQLSchema;
  document: DocumentNode;
  operation: OperationDefinitionNode;
  /** As they are read, with their defaults. */
  variables: Readonly<Record<string, unknown>>;
}

/** The sizes of what a selection stands in: of a page, and of the lists that came in. */
interface Sizes {
  page: number;
  input: number;
}

/** Costs that hold whatever the variables; kept as long as the document. */
const known = new WeakMap<OperationDefinitionNode, number>();

/** The most objects that the answer to a valid operation can hold. */
export function costOf(asked: Operation): number {
  const before = known.get(asked.operation);
  if (before !== undefined) return before;
  const { cost, byVariables } = reckon(asked);
  if (!byVariables) known.set(asked.operation, cost);
  return cost;
}

function reckon({ schema, document, operation, variables }: Operation): { cost: number; byVariables: boolean } {
  let byVariables = false;
  const fragments = new Map<string, number>();

  function ofSet(type: GraphQLNamedType, set: SelectionSetNode | undefined, sizes: Sizes | null): number {
    let cost = 0;
    for (const node of set?.selections ?? []) {
      if (node.kind === Kind.FIELD) cost += ofField(type, node, sizes);
      else if (node.kind === Kind.FRAGMENT_SPREAD) cost += ofFragment(node.name.value, sizes);
      else cost += ofSet(typeNamed(node.typeCondition?.name.value) ?? type, node.selectionSet, sizes);
    }
    return cost;
  }

  /** Reckoned once for the sizes it stands in, so that fragments of fragments do not multiply the work. */
  function ofFragment(name: string, sizes: Sizes | null): number {
    const key = `${name} ${sizes?.page} ${sizes?.input}`;
    const before = fragments.get(key);
    if (before !== undefined) return before;
    const fragment = fragmentOf(document, name);
    const type = fragment?.kind === Kind.FRAGMENT_DEFINITION && typeNamed(fragment.typeCondition.name.value);
    const cost = type ? ofSet(type, fragment.selectionSet, sizes) : 0;
    fragments.set(key, cost);
    return cost;
  }

  const typeNamed = (name: string | undefined) => (name === undefined ? undefined : schema.getType(name));

  /** `sizes` are null for a field of the operation itself, which is where lists come in. */
  function ofField(parent: GraphQLNamedType, node: FieldNode, sizes: Sizes | null): number {
    if (!isCompositeType(parent) || isUnionType(parent)) return 0;
    const field = parent.getFields()[node.name.value];
    const type = field && getNamedType(field.type);
    if (!field || !isCompositeType(type)) return 0;
    const here = sizes ?? { page: PAGE_DEFAULT, input: itemsOfArguments(node) };
    const below = { page: pageSizeOf(node), input: here.input };
    const { weight = 1 } = field.extensions as Cost;
    return sizeOf(field, here) * (weight + ofSet(type, node.selectionSet, below));
  }

  function pageSizeOf({ arguments: given = [] }: FieldNode): number {
    const sizes = given
      .filter(({ name }) => name.value === 'first' || name.value === 'last')
      .map(({ value }) => Number(value.kind === Kind.INT ? value.value : variableIn(value)))
      .filter((size) => size >= 1);
    return sizes.length > 0 ? Math.min(Math.max(...sizes), PAGE_MAX) : PAGE_DEFAULT;
  }

  function variableIn(value: ValueNode): unknown {
    if (value.kind !== Kind.VARIABLE) return undefined;
    byVariables = true;
    // A variable may be called like a member of every object.
    return Object.hasOwn(variables, value.name.value) ? variables[value.name.value] : undefined;
  }

  const itemsOfArguments = ({ arguments: given = [] }: FieldNode) => sum(given.map(({ value }) => itemsOfNode(value)));

  /** Items of the lists in a value, as written in the document; a single value may stand for a list. */
  function itemsOfNode(value: ValueNode): number {
    if (value.kind === Kind.LIST) return value.values.length + sum(value.values.map(itemsOfNode));
    if (value.kind === Kind.OBJECT) return sum(value.fields.map((field) => Math.max(1, itemsOfNode(field.value))));
    return itemsOf(variableIn(value));
  }

  const root = schema.getRootType(operation.operation);
  const cost = root ? ofSet(root, operation.selectionSet, null) : 0;
  return { cost, byVariables };
}

/** Items of the lists in a value, as read. */
function itemsOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? sum(Object.values(value).map(itemsOf)) : 0;
}

/** A list of which nobody has said how long it can be is as long as any. */
function sizeOf({ type, extensions }: GraphQLField<unknown, unknown>, sizes: Sizes): number {
  if (!isListType(getNullableType(type))) return 1;
  const { size = PAGE_MAX } = extensions as Cost;
  return typeof size === 'number' ? size : sizes[size];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
