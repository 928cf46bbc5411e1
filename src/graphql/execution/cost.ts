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
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../core/sql/page.ts';
import { findFragment } from './guards.ts';

/** The cost of a field, in its `extensions`. */
export type CostExtension = {
  /** The most items of its list; `page`: of its connection's page; `input`: of lists in the root field's arguments. */
  size?: number | ((given: Readonly<Record<string, unknown>>) => number) | 'page' | 'input';
  /** The cost of one object; by default 1. */
  weight?: number;
};

interface CostInput {
  schema: GraphQLSchema;
  document: DocumentNode;
  operation: OperationDefinitionNode;
  variables: Readonly<Record<string, unknown>>;
}

/** The page size around a selection, and its root field, whose arguments may be lists. */
interface Surroundings {
  page: number;
  root: FieldNode;
}

/** The most objects in the answer to a valid operation; `isFixed` if it does not depend on the variables. */
export function operationCost(input: CostInput): { cost: number; isFixed: boolean } {
  const { schema, operation } = input;
  const costs = new Costs(input);
  const root = schema.getRootType(operation.operation) as GraphQLNamedType;
  const cost = costs.ofSet(root, operation.selectionSet, null);
  return { cost, isFixed: !costs.byVariables };
}

class Costs {
  byVariables = false;
  readonly #input: CostInput;
  readonly #fragments = new Map<string, number>();

  constructor(input: CostInput) {
    this.#input = input;
  }

  ofSet(type: GraphQLNamedType, set: SelectionSetNode | undefined, around: Surroundings | null): number {
    let cost = 0;
    for (const node of set?.selections ?? []) {
      if (node.kind === Kind.FIELD) cost += this.#ofField(type, node, around);
      else if (node.kind === Kind.FRAGMENT_SPREAD) cost += this.#ofFragment(node.name.value, around);
      else cost += this.ofSet(this.#typeOf(node) ?? type, node.selectionSet, around);
    }
    return cost;
  }

  /** Each fragment is added up once per surroundings: fragments of fragments would multiply the work. */
  #ofFragment(name: string, around: Surroundings | null): number {
    const key = `${name} ${around?.page} ${around?.root.loc?.start}`;
    const before = this.#fragments.get(key);
    if (before !== undefined) return before;
    const fragment = findFragment(this.#input.document, name);
    const type = fragment && this.#typeOf(fragment);
    const cost = type ? this.ofSet(type, fragment.selectionSet, around) : 0;
    this.#fragments.set(key, cost);
    return cost;
  }

  #typeOf({ typeCondition }: InlineFragmentNode | FragmentDefinitionNode): GraphQLNamedType | undefined {
    return typeCondition && typeFromAST(this.#input.schema, typeCondition);
  }

  /** `around` are null for a field of the operation itself. */
  #ofField(parent: GraphQLNamedType, node: FieldNode, around: Surroundings | null): number {
    if (!isCompositeType(parent) || isUnionType(parent)) return 0;
    const field = parent.getFields()[node.name.value];
    const type = field && getNamedType(field.type);
    if (!field || !isCompositeType(type)) return 0;
    const here = around ?? { page: DEFAULT_PAGE_SIZE, root: node };
    const below = { page: this.#pageSizeOf(node), root: here.root };
    const { weight = 1 } = field.extensions as CostExtension;
    return this.#sizeOf(field, node, here) * (weight + this.ofSet(type, node.selectionSet, below));
  }

  /** A list without a size counts as the longest page. */
  #sizeOf(field: GraphQLField<unknown, unknown>, node: FieldNode, { page, root }: Surroundings): number {
    if (!isListType(getNullableType(field.type))) return 1;
    const { size = MAX_PAGE_SIZE } = field.extensions as CostExtension;
    if (typeof size === 'number') return size;
    if (typeof size === 'function') {
      this.byVariables = true;
      const given = this.#argumentsOf(field, node);
      return given ? size(given) : 0;
    }
    if (size === 'page') return page;
    return sum((root.arguments ?? []).map(({ value }) => this.#itemsOfValue(value)));
  }

  /** Null for wrong arguments, which execution rejects. */
  #argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode) {
    try {
      return getArgumentValues(field, node, this.#input.variables);
    } catch {
      return null;
    }
  }

  #pageSizeOf({ arguments: given = [] }: FieldNode): number {
    const around = given
      .filter(({ name }) => name.value === 'first' || name.value === 'last')
      .map(({ value }) => Number(value.kind === Kind.INT ? value.value : this.#variableIn(value)))
      .filter((size) => size >= 1);
    return around.length > 0 ? Math.min(Math.max(...around), MAX_PAGE_SIZE) : DEFAULT_PAGE_SIZE;
  }

  #variableIn(value: ValueNode): unknown {
    if (value.kind !== Kind.VARIABLE) return undefined;
    this.byVariables = true;
    const { variables } = this.#input;
    // A variable may be called `toString`.
    return Object.hasOwn(variables, value.name.value) ? variables[value.name.value] : undefined;
  }

  /** At least one: a single value may stand for a list. */
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

/** Items of the lists in the value of a variable. */
function itemsOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? sum(Object.values(value).map(itemsOf)) : 0;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
