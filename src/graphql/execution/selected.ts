import {
  doTypesOverlap,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getDirectiveValues,
  type InlineFragmentNode,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { responseName } from './guards.ts';

export type GraphqlVariables = Readonly<Record<string, unknown>>;

export interface SelectionContext {
  schema: GraphQLSchema;
  fragment(name: string): FragmentDefinitionNode | undefined;
  /** The variables for `@skip` and `@include`; null leaves nothing out. */
  variables: GraphqlVariables | null;
}

/** The fields under each name that the sets select of this type; not whole if a directive is wrong. */
export function selectedFields(type: GraphQLObjectType, sets: readonly SelectionSetNode[], around: SelectionContext) {
  const fields = new Map<string, FieldNode[]>();
  // Each fragment counts once: fragments of fragments would multiply.
  const spread = new Set<string>();
  let isWhole = true;
  const isIncluded = (node: SelectionNode): boolean => {
    const { variables } = around;
    if (!variables || !node.directives?.length) return true;
    try {
      if (getDirectiveValues(GraphQLSkipDirective, node, variables)?.if === true) return false;
      return getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false;
    } catch {
      isWhole = false;
      return false;
    }
  };
  const applies = ({ typeCondition }: InlineFragmentNode | FragmentDefinitionNode) => {
    if (!typeCondition) return true;
    const named = around.schema.getType(typeCondition.name.value) as GraphQLCompositeType;
    return doTypesOverlap(around.schema, named, type);
  };
  const collect = (set: SelectionSetNode): void => {
    for (const node of set.selections) {
      if (!isIncluded(node)) continue;
      if (node.kind === Kind.FIELD) {
        const key = responseName(node);
        fields.set(key, [...(fields.get(key) ?? []), node]);
      } else if (node.kind === Kind.INLINE_FRAGMENT) {
        if (applies(node)) collect(node.selectionSet);
      } else if (!spread.has(node.name.value)) {
        spread.add(node.name.value);
        const fragment = around.fragment(node.name.value);
        if (fragment && applies(fragment)) collect(fragment.selectionSet);
      }
    }
  };
  for (const set of sets) collect(set);
  return { fields, isWhole };
}
