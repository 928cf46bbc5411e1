import { z } from 'zod';
import { authorizeAnyScope } from '../../core/context.ts';
import { readInput } from '../../core/input.ts';
import { nodeResources } from '../../core/reads/reads.ts';
import { schemaBuilder } from './builder.ts';
import type { CostExtension, OperationExtension } from './extensions.ts';
import { resolvePlannedType } from './planned.ts';

const NODES_MAX = 100;
const nodesInput = z.object({ ids: z.array(z.string()).max(NODES_MAX, `has at most ${NODES_MAX} ids`) });

const NodeRef = schemaBuilder.interfaceRef<{ id: string }>('Node').implement({
  description: `An object that \`node\` reads by its id alone: ${Object.keys(nodeResources).join(', ')}.`,
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id of the object, a UUID: the same in GraphQL and REST.' }),
  }),
  resolveType: resolvePlannedType,
});

export const nodeInterfaces = (name: string) => (name in nodeResources ? [NodeRef] : []);

const same =
  'An object that does not exist, is another company’s or needs a scope that the token lacks is null, without an error.';
const readScopes = ['fleets:read', 'contracts:read'] as const;
const scope = `Scope: ${readScopes.map((one) => `\`${one}\``).join(' or ')}.`;
const needs = { scope: null } satisfies OperationExtension;

schemaBuilder.queryFields((t) => ({
  node: t.field({
    type: NodeRef,
    nullable: true,
    description: `Returns the object with this id. ${same} ${scope}`,
    extensions: needs,
    args: { id: t.arg.id({ required: true, description: 'The id of the object.' }) },
    async resolve(_root, { id }, { ctx, reads }, info) {
      authorizeAnyScope(ctx, readScopes);
      const [found] = await reads.nodes([String(id)], info);
      return (found ?? null) as never;
    },
  }),
  nodes: t.field({
    type: [NodeRef],
    nullable: { list: false, items: true },
    description: `Returns the objects with these ids, in their order. ${same} ${scope}`,
    extensions: { ...needs, size: 'input' } satisfies OperationExtension & CostExtension,
    args: { ids: t.arg.idList({ required: true, description: `The ids of the objects, at most ${NODES_MAX}.` }) },
    resolve(_root, { ids }, { ctx, reads }, info) {
      authorizeAnyScope(ctx, readScopes);
      return reads.nodes(readInput(nodesInput, { ids: ids.map(String) }).ids, info) as never;
    },
  }),
}));
