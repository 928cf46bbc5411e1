import { z } from 'zod';
import { authorizeAnyScope } from '../../core/context.ts';
import { readInput } from '../../core/input.ts';
import { nodeResources } from '../../core/reads/reads.ts';
import { schemaBuilder } from './builder.ts';
import type { CostExtension, ScopeExtension } from './extensions.ts';
import { resolvePlannedType } from './planned.ts';

const NODES_MAX = 100;
const nodesInput = z.object({ ids: z.array(z.string()).max(NODES_MAX, `has at most ${NODES_MAX} ids`) });

const NodeRef = schemaBuilder.interfaceRef<{ id: string }>('Node').implement({
  description: `What can be read again by its id alone: ${Object.keys(nodeResources).join(', ')}.`,
  fields: (t) => ({ id: t.exposeID('id', { description: 'Identifies it: the same in both interfaces.' }) }),
  resolveType: resolvePlannedType,
});

export const nodeInterfaces = (name: string) => (name in nodeResources ? [NodeRef] : []);

const same =
  'Null, without an error, for what is not there, is not the company’s, or is of a scope that the token lacks.';
const readScopes = ['fleets:read', 'contracts:read'] as const;
const needs = { scope: null } satisfies ScopeExtension;

schemaBuilder.queryFields((t) => ({
  node: t.field({
    type: NodeRef,
    nullable: true,
    description: `Whatever has this id. ${same}`,
    extensions: needs,
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    async resolve(_root, { id }, { ctx, reads }, info) {
      authorizeAnyScope(ctx, readScopes);
      const [found] = await reads.nodes([String(id)], info);
      return (found ?? null) as never;
    },
  }),
  nodes: t.field({
    type: [NodeRef],
    nullable: { list: false, items: true },
    description: `Whatever has these ids, in their order. ${same} Errors: VALIDATION_FAILED (more than ${NODES_MAX} ids).`,
    extensions: { ...needs, size: 'input' } satisfies ScopeExtension & CostExtension,
    args: { ids: t.arg.idList({ required: true, description: `Their ids, at most ${NODES_MAX}.` }) },
    resolve(_root, { ids }, { ctx, reads }, info) {
      authorizeAnyScope(ctx, readScopes);
      return reads.nodes(readInput(nodesInput, { ids: ids.map(String) }).ids, info) as never;
    },
  }),
}));
