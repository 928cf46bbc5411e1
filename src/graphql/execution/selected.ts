import {
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getDirectiveValues,
  type InlineFragmentNode,
  isAbstractType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { nameInAnswer } from './guards.ts';

export type Variables = Readonly<Record<string, unknown>>;

/** The surroundings of selections. */
export interface Around {
  schema: GraphQLSchema;
  fragment(name: string): FragmentDefinitionNode | undefined;
  /** The variables for `@skip` and `@include`; null leaves nothing out. */
  variables: Variables | null;
}

/**
 * What stands under each name that the sets select of an object of this type, through all fragments. Not the whole where a
 * directive is wrong: graphql-js tells of it, at its place.
 */
export function selectedOf(type: GraphQLObjectType, sets: readonly SelectionSetNode[], around: Around) {
  const fields = new Map<string, FieldNode[]>();
  // Once for each object, however often it stands there: fragments of fragments would multiply.
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
  const add = (node: FieldNode) => {
    const key = nameInAnswer(node);
    const same = fields.get(key);
    if (same) same.push(node);
    else fields.set(key, [node]);
  };
  const collect = (set: SelectionSetNode): void => {
    for (const node of set.selections) {
      if (!isIncluded(node)) continue;
      if (node.kind === Kind.FIELD) add(node);
      else if (node.kind === Kind.INLINE_FRAGMENT) {
        if (isAbout(type, node, around)) collect(node.selectionSet);
      } else if (!spread.has(node.name.value)) {
        spread.add(node.name.value);
        const fragment = around.fragment(node.name.value);
        if (fragment && isAbout(type, fragment, around)) collect(fragment.selectionSet);
      }
    }
  };
  for (const set of sets) collect(set);
  return { fields, isWhole };
}

function isAbout(
  type: GraphQLObjectType,
  { typeCondition }: InlineFragmentNode | FragmentDefinitionNode,
  { schema }: Around,
): boolean {
  const named = typeCondition ? schema.getType(typeCondition.name.value) : type;
  return named === type || (isAbstractType(named) && schema.isSubType(named, type));
}
