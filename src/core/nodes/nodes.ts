import { sql } from 'kysely';
import { z } from 'zod';
import { authorize, type Context, hasScope } from '../context.ts';
import { contractNode } from '../contracts/contracts.ts';
import { eventNode } from '../events/events.ts';
import { fleetNode } from '../fleets/fleets.ts';
import { importNode } from '../imports/imports.ts';
import { readInput } from '../input.ts';
import type { NodeParts, NodeSource } from '../sql/node.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { vehicleNode } from '../vehicles/vehicles.ts';
import { deliveryNode } from '../webhooks/deliveries.ts';
import { webhookNode } from '../webhooks/webhooks.ts';

/** What has an id, by its type. Callers choose ids of imports: what was there before them goes first. */
const sources = {
  Fleet: fleetNode,
  Vehicle: vehicleNode,
  Contract: contractNode,
  Event: eventNode,
  Webhook: webhookNode,
  Delivery: deliveryNode,
  Import: importNode,
} satisfies Record<string, NodeSource>;
export type NodeType = keyof typeof sources;
export const nodeTypes = Object.keys(sources) as NodeType[];

/** Something that was found by its id alone. */
export interface Node {
  type: NodeType;
  value: { id: string };
}

/** Ids that are asked for at a time. */
export const NODES_MAX = 100;

const nodesInput = z.object({ ids: z.array(z.string()).max(NODES_MAX, `has at most ${NODES_MAX} ids`) });

/** Throws Forbidden for a caller who may read nothing, and ValidationFailed for too many ids. */
export function readNodeIds(ctx: Context, input: unknown): string[] {
  companyOf(ctx);
  return readInput(nodesInput, input).ids;
}

/** Whoever may read contracts alone finds these, and nothing else. */
function companyOf(ctx: Context): string {
  const onlyContracts = !hasScope(ctx, 'fleets:read') && hasScope(ctx, 'contracts:read');
  return authorize(ctx, onlyContracts ? 'contracts:read' : 'fleets:read');
}

/**
 * What of the caller's company has these ids, in their order and in one statement; null for what is not there, another
 * company's, or of a scope that the token lacks. From the primary, where all of it is up to date.
 */
export async function nodesById(ctx: Context, ids: readonly string[], parts: NodeParts): Promise<(Node | null)[]> {
  const company = companyOf(ctx);
  const wanted = ids.filter(isId);
  const selects = nodeTypes.flatMap((type) => {
    const source: NodeSource = sources[type];
    if (!hasScope(ctx, source.scope)) return [];
    const id = sql.ref(`${source.alias}.id`);
    return sql`select ${sql.lit(type)} as type, ${id}::text as id, ${source.json(parts)} as json, ${source.more?.(parts) ?? sql`null::json`} as more
      from ${source.from(ctx, company)} and ${id} = any(${wanted}::uuid[])`;
  });
  const rows = await execute<Row>(onPrimary(ctx), sql<Row>`${sql.join(selects, sql` union all `)}`);
  const byType = Map.groupBy(rows, (row) => row.type);
  const found = new Map(nodeTypes.toReversed().flatMap((type) => (byType.get(type) ?? []).map((row) => [row.id, row])));
  return ids.map((wanted) => {
    const row = found.get(wanted.toLowerCase());
    return row ? { type: row.type, value: read(row) } : null;
  });
}

interface Row {
  type: NodeType;
  id: string;
  json: { id: string };
  more: unknown;
}

function read({ type, json, more }: Row): { id: string } {
  const source: NodeSource = sources[type];
  return source.read ? source.read(json, more) : json;
}
