import type { GraphQLResolveInfo } from 'graphql';
import { z } from 'zod';
import { authorizeAnyScope, type Context, hasScope } from '../../core/context.ts';
import { readInput } from '../../core/input.ts';
import { nodeResources } from '../../core/reads/root-fields.ts';
import { isId } from '../../core/sql/sql.ts';
import { schemaBuilder } from './builder.ts';
import {
  type CostExtension,
  type GraphqlContext,
  type OperationExtension,
  resolvePlannedType,
} from './graphql-context.ts';

const NODES_MAX = 100;
const nodesInput = z.object({ ids: z.array(z.string()).max(NODES_MAX, `has at most ${NODES_MAX} ids`) });

export const manufacturerOf = ({ services }: Context, slug: string | null) =>
  services.manufacturers.list().find(({ id }) => id === slug) ?? null;

/** Nodes with ids that are no UUIDs, which no table has. A company named like a manufacturer is found by `company` alone. */
const others: Readonly<Record<string, (ctx: Context, id: string) => object | null>> = {
  Manufacturer: manufacturerOf,
  Company: (ctx, id) => (id === ctx.caller?.company && hasScope(ctx, 'fleets:read') ? { id } : null),
};

function otherNode(ctx: Context, id: string): object | null {
  if (isId(id)) return null;
  for (const [__typename, find] of Object.entries(others)) {
    const found = find(ctx, id);
    if (found) return { __typename, ...found };
  }
  return null;
}

const nodeTypes = [...Object.keys(nodeResources), ...Object.keys(others)];
const NodeRef = schemaBuilder.interfaceRef<{ id: string }>('Node').implement({
  description: `An object that \`node\` reads by its id alone: ${nodeTypes.join(', ')}.`,
  fields: (t) => ({
    id: t.exposeID('id', {
      description:
        'The id of the object: the same in GraphQL and REST. It is a UUID, but for a manufacturer (`bmw`) and the company (its name in tokens).',
    }),
  }),
  resolveType: (value) => (resolvePlannedType(value) ?? (value as { __typename?: string }).__typename) as never,
});

export const nodeInterfaces = (name: string) => (nodeTypes.includes(name) ? [NodeRef] : []);

async function nodesOf({ ctx, reads }: GraphqlContext, given: readonly unknown[], info: GraphQLResolveInfo) {
  authorizeAnyScope(ctx, readScopes);
  const { ids } = readInput(nodesInput, { ids: given.map(String) });
  const found = await reads.nodes(ids, info);
  return found.map((one, at) => one ?? otherNode(ctx, ids[at] ?? '')) as never[];
}

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
    args: { id: t.arg.id({ required: true, description: 'The id of the object to read, the `id` of any `Node`.' }) },
    resolve: async (_root, { id }, context, info) => (await nodesOf(context, [id], info))[0] as never,
  }),
  nodes: t.field({
    type: [NodeRef],
    nullable: { list: false, items: true },
    description: `Returns the objects with these ids, in their order. ${same} ${scope}`,
    extensions: { ...needs, size: 'input' } satisfies OperationExtension & CostExtension,
    args: { ids: t.arg.idList({ required: true, description: `The ids of objects to read, at most ${NODES_MAX}.` }) },
    resolve: (_root, { ids }, context, info) => nodesOf(context, ids, info) as never,
  }),
}));
