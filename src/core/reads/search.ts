import { z } from 'zod';
import { authorize, type Context, hasScope } from '../context.ts';
import type { Contract } from '../contracts/contract.ts';
import { contractRows } from '../contracts/contracts.ts';
import type { Fleet } from '../fleets/fleet.ts';
import { fleetRows } from '../fleets/fleets.ts';
import { readInput, text } from '../input.ts';
import { rowsOf, whereOf } from '../sql/list-rows.ts';
import { readPage } from '../sql/page.ts';
import { readSlice } from '../sql/read.ts';
import { fromClause, type Resource } from '../sql/resource.ts';
import { jsonText } from '../sql/selection.ts';
import { readRows } from '../sql/send.ts';
import { numbered } from '../sql/sql.ts';
import type { Vehicle } from '../vehicles/vehicle.ts';
import { vehicleRows } from '../vehicles/vehicles.ts';
import { isPartOfVin, vinCharacters } from '../vin.ts';

export const FOUND_MOST = 50;

export const searchInput = z.object({
  text: text(255).describe('A part of a name, or of a VIN: its beginning or end.'),
  first: z.int().min(1, 'is at least 1').max(FOUND_MOST, `is at most ${FOUND_MOST}`).default(10),
});

export type SearchResult =
  | ({ type: 'Fleet' } & Fleet)
  | ({ type: 'Vehicle' } & Vehicle)
  | ({ type: 'Contract' } & Contract);

/** Ranks of results, the best first. */
const [WHOLE, BEGINNING, ELSEWHERE] = [0, 1, 2];
type Fit = { fit: number; found: SearchResult };

/**
 * Fleets and contracts by a part of their names, and vehicles by the beginning or end of their VIN: whole matches
 * first, then beginnings, then the others, by name. Contracts need `contracts:read`.
 */
export async function search(ctx: Context, input: unknown): Promise<SearchResult[]> {
  const company = authorize(ctx, 'fleets:read');
  const asked = { company, ...readInput(searchInput, input) };
  const found = await Promise.all([
    byName(ctx, 'Fleet', fleetRows, 'folded(f.name)', asked),
    byVin(ctx, asked),
    hasScope(ctx, 'contracts:read') ? byName(ctx, 'Contract', contractRows, 'c.folded_name', asked) : [],
  ]);
  const all = found.flat().sort((a, b) => a.fit - b.fit);
  return all.slice(0, asked.first).map((one) => one.found);
}

type SearchTerms = z.output<typeof searchInput> & { company: string };

async function byVin(ctx: Context, { company, text }: SearchTerms): Promise<Fit[]> {
  const vin = vinCharacters(text);
  if (!isPartOfVin(vin)) return [];
  const page = readPage({ first: FOUND_MOST, orderBy: { field: 'VIN' } }, vehicleRows.orders);
  const { items } = await readSlice<Vehicle>(ctx, vehicleRows, { company, page, filter: { vin } });
  return items.map((one) => ({
    fit: one.vin === vin ? WHOLE : one.vin.startsWith(vin) ? BEGINNING : ELSEWHERE,
    found: { type: 'Vehicle', ...one },
  }));
}

/** `name` is SQL for the folded name, for which there is an index, or few rows. */
async function byName(ctx: Context, type: 'Fleet' | 'Contract', of: Resource, name: string, terms: SearchTerms) {
  const part = 'folded($text::text)';
  const fit = `case when ${name} = ${part} then ${WHOLE} when starts_with(${name}, ${part}) then ${BEGINNING} else ${ELSEWHERE} end`;
  const [alias = ''] = of.id.split('.');
  const json = jsonText(of.members);
  const where = `${whereOf(rowsOf(of, { names: [], hidden: false }))} and position(${part} in ${name}) > 0`;
  const order = `order by fit, ${name}, ${of.id}`;
  const best = `select ${alias}.*, ${fit} as fit from ${of.table} where ${where} ${order} limit $first`;
  const from = fromClause({ ...of, table: alias }, json);
  const statement = numbered(`select fit::text, ${json} from (${best}) ${from} ${order}`);
  const values = statement.values({ ...terms, now: ctx.now() });
  const rows = await readRows(ctx, statement.text, values, { long: true });
  return rows.map(([fits, found]): Fit => ({ fit: Number(fits), found: { type, ...JSON.parse(found ?? '') } }));
}
