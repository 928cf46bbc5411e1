import type { GraphQLResolveInfo } from 'graphql';
import { NODES_MAX, nodeTypes, readNodeIds } from '../../core/nodes/nodes.ts';
import type { Cost } from '../execution/cost.ts';
import type { Needs } from '../execution/scopes.ts';
import { asksFor } from '../execution/selection.ts';
import { builder } from './builder.ts';

const NodeRef = builder.interfaceRef<{ id: string; __typename?: string }>('Node').implement({
  description: `What can be read again by its id alone: ${nodeTypes.join(', ')}.`,
  fields: (t) => ({ id: t.exposeID('id', { description: 'Identifies it: the same in both interfaces.' }) }),
  // `node` and `nodes` alone are of this type, and their items say what they are.
  resolveType: ({ __typename }) => __typename as never,
});

/** The interfaces of the object type of this name. */
export const interfacesOf = (name: string) => ((nodeTypes as string[]).includes(name) ? [NodeRef] : []);

/** What is large is read where anything below asks for a field of its name. */
const partsOf = (info: GraphQLResolveInfo) => ({
  vehicles: asksFor(info, 'vehicles'),
  requests: asksFor(info, 'request'),
});

const same =
  'Null, without an error, for what is not there, is not the company’s, or is of a scope that the token lacks.';
const needs = { scope: null } satisfies Needs;

builder.queryFields((t) => ({
  node: t.field({
    type: NodeRef,
    nullable: true,
    description: `Whatever has this id. ${same}`,
    extensions: { ...needs },
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_root, { id }, { loaders }, info) => loaders.node(id, partsOf(info)),
  }),
  nodes: t.field({
    type: [NodeRef],
    nullable: { list: false, items: true },
    description: `Whatever has these ids, in their order. ${same} Errors: VALIDATION_FAILED (more than ${NODES_MAX} ids).`,
    extensions: { ...needs, size: 'input' } satisfies Needs & Cost,
    args: { ids: t.arg.idList({ required: true, description: `Their ids, at most ${NODES_MAX}.` }) },
    resolve(_root, { ids }, { ctx, loaders }, info) {
      const parts = partsOf(info);
      return Promise.all(readNodeIds(ctx, { ids }).map((id) => loaders.node(id, parts)));
    },
  }),
}));
