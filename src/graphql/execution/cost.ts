import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
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
  type ValueNode,
} from 'graphql';
import { countInputItems } from '../../core/input.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../core/sql/page.ts';
import type { CostExtension } from '../schema/graphql-context.ts';
import type { SelectionContext } from './selected.ts';

/** The page size around a selection, and its root field, whose arguments may be lists. */
interface Surroundings {
  page: number;
  root: FieldNode;
}

/** The most objects in the answer to a valid operation; `isFixed` if it does not depend on the variables. */
export function operationCost({ operation, selectionSet }: OperationDefinitionNode, context: SelectionContext) {
  const costs = new Costs(context);
  const cost = costs.ofSet(context.schema.getRootType(operation) as GraphQLNamedType, selectionSet, null);
  return { cost, isFixed: !costs.byVariables };
}

class Costs {
  byVariables = false;
  readonly #context: SelectionContext;
  readonly #fragments = new Map<string, number>();

  constructor(context: SelectionContext) {
    this.#context = context;
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
    const fragment = this.#context.fragment(name);
    const type = fragment && this.#typeOf(fragment);
    const cost = type ? this.ofSet(type, fragment.selectionSet, around) : 0;
    this.#fragments.set(key, cost);
    return cost;
  }

  #typeOf({ typeCondition }: InlineFragmentNode | FragmentDefinitionNode): GraphQLNamedType | undefined {
    return typeCondition && this.#context.schema.getType(typeCondition.name.value);
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
    if (size === 'page') return page;
    if (size === 'input') return this.#itemsOfAll((root.arguments ?? []).map(({ value }) => value));
    this.byVariables = true;
    try {
      return size(getArgumentValues(field, node, this.#context.variables));
    } catch {
      // Execution rejects wrong arguments.
      return 0;
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
    const { variables } = this.#context;
    // A variable may be called `toString`.
    return variables && Object.hasOwn(variables, value.name.value) ? variables[value.name.value] : undefined;
  }

  /** Items of the lists in values; of each at least one: a single value may stand for a list. */
  #itemsOfAll(values: readonly ValueNode[]): number {
    return values.reduce((sum, value) => sum + Math.max(1, this.#itemsOf(value)), 0);
  }

  /** Items of the lists in a value, as written in the document. */
  #itemsOf(value: ValueNode): number {
    if (value.kind === Kind.OBJECT) return this.#itemsOfAll(value.fields.map((field) => field.value));
    if (value.kind !== Kind.LIST) return countInputItems(this.#variableIn(value));
    return value.values.reduce((sum, one) => sum + this.#itemsOf(one), value.values.length);
  }
}
