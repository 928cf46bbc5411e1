import { NIL } from 'uuid';
import { z } from 'zod';
import { isPartOfVin, normalizeVinPart } from '../../vin-files/index.ts';
import { authorize, type Context, hasScope } from '../context.ts';
import type { Contract } from '../contracts/contract.ts';
import { contractResource } from '../contracts/contracts.ts';
import { search } from '../database.ts';
import type { Fleet } from '../fleets/fleet.ts';
import { fleetResource } from '../fleets/fleets.ts';
import { readInput, textSchema } from '../input.ts';
import { rowSelectionOf, whereSql } from '../sql/list-rows.ts';
import type { ListPosition } from '../sql/order.ts';
import { readPageArguments } from '../sql/page.ts';
import { readItemsPage } from '../sql/read.ts';
import { fromClause, type Resource } from '../sql/resource.ts';
import { jsonObjectSql } from '../sql/selection.ts';
import { numberParameters } from '../sql/sql.ts';
import type { Vehicle } from '../vehicles/vehicle.ts';
import { vehicleResource, vinCondition } from '../vehicles/vehicles.ts';

export const MOST_SEARCH_RESULTS = 50;

export const searchInput = z.object({
  text: textSchema(255).describe(
    'The text to find: a part of a name, or the beginning or end of a VIN. Two characters find VINs and the beginning of names, one only the latter.',
  ),
  first: z
    .int()
    .min(1, 'must be at least 1')
    .max(MOST_SEARCH_RESULTS, `must be at most ${MOST_SEARCH_RESULTS}`)
    .default(10),
});

type SearchResult = ({ type: 'Fleet' } & Fleet) | ({ type: 'Vehicle' } & Vehicle) | ({ type: 'Contract' } & Contract);

/** Ranks of results, the best first. */
const [WHOLE, BEGINNING, ELSEWHERE] = [0, 1, 2];
type Fit = { fit: number; found: SearchResult };

/**
 * Fleets and contracts by a part of their names (the beginning for one or two characters), and vehicles by the beginning or end of their VIN: whole matches
 * first, then beginnings, then the others, by name. Contracts need `contracts:read`.
 */
export async function searchResources(ctx: Context, input: unknown): Promise<SearchResult[]> {
  const company = authorize(ctx, 'fleets:read');
  const given = { company, ...readInput(searchInput, input) };
  const found = await Promise.all([
    searchFleets(ctx, given),
    byVin(ctx, given),
    hasScope(ctx, 'contracts:read') ? searchContracts(ctx, given) : [],
  ]);
  const all = found.flat().sort((a, b) => a.fit - b.fit);
  return all.slice(0, given.first).map((one) => one.found);
}

type SearchTerms = z.output<typeof searchInput> & { company: string };

const searchedVehicles: Resource = {
  ...vehicleResource,
  filter: z.object({ vin: z.string() }).transform(({ vin }) => vinCondition(vin)),
};

async function byVin(ctx: Context, { company, text }: SearchTerms): Promise<Fit[]> {
  const vin = normalizeVinPart(text);
  if (!isPartOfVin(vin)) return [];
  const page = readPageArguments({ first: MOST_SEARCH_RESULTS, orderBy: { field: 'VIN' } }, vehicleResource.orders);
  const read = async (after: ListPosition | null) => {
    const request = { company, page: { ...page, after }, filter: { vin } };
    return (await readItemsPage<Vehicle>(ctx, searchedVehicles, request)).items;
  };
  const all = await read(null);
  // By VIN, those that begin with the text come right after it, perhaps behind the first page.
  const next = all.length < MOST_SEARCH_RESULTS ? all : await read({ id: NIL, text: vin });
  const begins = (one: Vehicle) => one.vin.startsWith(vin);
  return [...next.filter(begins), ...all.filter((one) => !begins(one))].map((one) => ({
    fit: one.vin === vin ? WHOLE : begins(one) ? BEGINNING : ELSEWHERE,
    found: { type: 'Vehicle', ...one },
  }));
}

/** Finds rows by their names; `name` is SQL for the folded name, for which there is an index, or few rows. */
function searchOf(type: 'Fleet' | 'Contract', of: Resource, name: string) {
  const part = 'folded($text::text)';
  const begins = `starts_with(${name}, ${part})`;
  const fit = `case when ${name} = ${part} then ${WHOLE} when ${begins} then ${BEGINNING} else ${ELSEWHERE} end`;
  const [alias = ''] = of.id.split('.');
  const json = jsonObjectSql(of.members);
  // By code points, as lists are, whatever the database's language.
  const order = `order by fit, ${name} collate "C", ${of.id}`;
  const statement = (found: string) => {
    const where = `${whereSql(rowSelectionOf(of, { names: [], hidden: false }))} and ${found}`;
    const best = `select ${alias}.*, ${fit} as fit from ${of.table} where ${where} ${order} limit $first`;
    const from = fromClause({ ...of, table: alias }, json);
    return numberParameters(`select fit::text, ${json} from (${best}) ${from} ${order}`);
  };
  const [anywhere, atBeginning] = [statement(`position(${part} in ${name}) > 0`), statement(begins)];
  return async (ctx: Context, terms: SearchTerms) => {
    // So few characters are in most names.
    const { text, values } = terms.text.length < 3 ? atBeginning : anywhere;
    const rows = await search(ctx, text, values({ ...terms, now: ctx.now() }));
    return rows.map(([fits, row]): Fit => ({ fit: Number(fits), found: { type, ...JSON.parse(row ?? '') } }));
  };
}

const searchFleets = searchOf('Fleet', fleetResource, 'folded(f.name)');
const searchContracts = searchOf('Contract', contractResource, 'c.folded_name');
