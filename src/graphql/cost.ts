import {
  type DocumentNode,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { PAGE_DEFAULT, PAGE_MAX } from '../core/page.ts';
import { fragmentOf } from './guards.ts';

export interface Operation {
  schema: GraphQLSchema;
  document: DocumentNode;
  operation: OperationDefinitionNode;
  variables: Readonly<Record<string, unknown>>;
}

/** Costs that hold whatever the variables; kept as long as readDocument keeps the document. */
const known = new WeakMap<OperationDefinitionNode, number>();

/**
 * The most objects the answer to a valid operation can hold: a connection counts as many as its page has, another list
 * as many as a page has by default.
 */
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

  function ofSet(type: GraphQLObjectType, set: SelectionSetNode | undefined, pageSize: number): number {
    let cost = 0;
    for (const node of set?.selections ?? []) {
      if (node.kind === Kind.FIELD) cost += ofField(type, node, pageSize);
      else if (node.kind === Kind.INLINE_FRAGMENT) cost += ofSet(type, node.selectionSet, pageSize);
      else cost += ofFragment(type, node.name.value, pageSize);
    }
    return cost;
  }

  /** Reckoned once for each page size it stands in, so that fragments of fragments do not multiply the work. */
  function ofFragment(type: GraphQLObjectType, name: string, pageSize: number): number {
    const key = `${name} ${pageSize}`;
    const before = fragments.get(key);
    if (before !== undefined) return before;
    const fragment = fragmentOf(document, name);
    const cost = fragment && 'selectionSet' in fragment ? ofSet(type, fragment.selectionSet, pageSize) : 0;
    fragments.set(key, cost);
    return cost;
  }

  function ofField(parent: GraphQLObjectType, node: FieldNode, pageSize: number): number {
    const field = parent.getFields()[node.name.value];
    const type = field && getNamedType(field.type);
    if (!field || !isObjectType(type)) return 0;
    const inner = field.args.some((arg) => arg.name === 'first') ? pageSizeOf(node) : PAGE_DEFAULT;
    const times = isListType(getNullableType(field.type)) ? pageSize : 1;
    return times * (1 + ofSet(type, node.selectionSet, inner));
  }

  function pageSizeOf({ arguments: given }: FieldNode): number {
    const sizes = (given ?? [])
      .filter((arg) => arg.name.value === 'first' || arg.name.value === 'last')
      .map(({ value }) => {
        if (value.kind === Kind.INT) return Number(value.value);
        return value.kind === Kind.VARIABLE ? variableOf(value.name.value) : Number.NaN;
      })
      .filter((size) => size >= 1);
    return sizes.length > 0 ? Math.min(Math.max(...sizes), PAGE_MAX) : PAGE_DEFAULT;
  }

  function variableOf(name: string): number {
    byVariables = true;
    const byDefault = operation.variableDefinitions?.find((one) => one.variable.name.value === name)?.defaultValue;
    const given = variables[name] ?? (byDefault?.kind === Kind.INT ? Number(byDefault.value) : undefined);
    // Nobody has looked yet whether it is a number.
    return typeof given === 'number' ? given : Number.NaN;
  }

  const root = schema.getRootType(operation.operation);
  const cost = root ? ofSet(root, operation.selectionSet, PAGE_DEFAULT) : 0;
  return { cost, byVariables };
}
