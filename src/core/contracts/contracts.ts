import { type RawBuilder, sql } from 'kysely';
import { authorizeContracts, type Context } from '../context.ts';
import { ContractNotFound, Forbidden } from '../errors.ts';
import { announceEvents, type By, byCaller } from '../events/record-events.ts';
import { ofFleetThatIsThere } from '../fleets/there.ts';
import { readInput } from '../input.ts';
import { removed, removing } from '../remove-contracts.ts';
import { type JsonPage, readJsonPage } from '../sql/json-page.ts';
import { jsonTable } from '../sql/json-table.ts';
import { type Page, pageSql, type Slice, sliceOf, textColumn, textsColumn } from '../sql/page.ts';
import { prepareVariants } from '../sql/prepare.ts';
import { json, jsonObject, type Selection } from '../sql/selection.ts';
import { ALL_ROWS, execute, onPrimary, onReplica } from '../sql/send.ts';
import { given, isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { vinOrNull } from '../vin.ts';
import {
  type Contract,
  type ContractFilter,
  type ContractStatus,
  contractFilter,
  contractWithVehicle,
} from './contract.ts';

/** Deletes a contract and gives it back as it was; throws ContractNotFound. */
export async function deleteContract(ctx: Context, input: { id: string }): Promise<Contract> {
  const company = authorizeContracts(ctx, 'contracts:write');
  const [row] = isId(input.id) ? await removeContract(onPrimary(ctx), { ...byCaller(ctx), id: input.id, company }) : [];
  if (!row) throw new ContractNotFound();
  announceEvents(ctx);
  return row.json;
}

/** One contract; throws ContractNotFound. */
export async function getContract(ctx: Context, input: { id: string }): Promise<Contract> {
  const company = authorizeContracts(ctx, 'contracts:read');
  const [row] = isId(input.id)
    ? await execute<{ json: Contract }>(
        onReplica(ctx),
        sql`select ${contractObject} as json from ${source(ctx)} where c.id = ${input.id} ${ofCompany(company)}`,
      )
    : [];
  if (!row) throw new ContractNotFound();
  return row.json;
}

/** A page of a company's contracts. A caller with a token may name its own company only: Forbidden. */
export async function listContracts(
  ctx: Context,
  input: { company: string; page: Page; filter?: ContractFilter | null | undefined },
): Promise<Slice<Contract>> {
  const company = companyAsked(ctx, input.company);
  const { within, tail, text } = pageSql(input.page, 'c');
  const rows = await execute<{ json: Contract; text: string | null }>(
    onReplica(ctx, input.filter ? ALL_ROWS : input.page.limit),
    sql`select ${contractObject} as json ${textColumn(text)} from ${source(ctx)} where c.company = ${company} ${matching(input.filter)} ${within} ${tail}`,
  );
  return sliceOf(
    rows.map(({ json }) => json),
    input.page,
    text && rows.map((row) => row.text),
  );
}

/** A page of listContracts as JSON. */
export async function listContractsJson(
  ctx: Context,
  input: { company: string; page: Page; fields: Selection<Contract> },
): Promise<JsonPage> {
  const ofCompanyAsked = sql`${source(ctx)} where c.company = ${companyAsked(ctx, input.company)}`;
  const object = { table: contractJson, selection: input.fields };
  return readJsonPage(ctx, object, { source: ofCompanyAsked, alias: 'c' }, input.page);
}

/** How many contracts listContracts has in all. */
export async function countContracts(
  ctx: Context,
  input: { company: string; filter?: ContractFilter | null | undefined },
): Promise<number> {
  const company = companyAsked(ctx, input.company);
  const [row] = await execute<{ count: number }>(
    onReplica(ctx, ALL_ROWS),
    sql`select count(*)::int as count from ${source(ctx)} where c.company = ${company} ${matching(input.filter)}`,
  );
  return row?.count ?? 0;
}

/** The rows a contract can hang on; contracts are read for many of them in one statement. */
export type ContractParent = 'fleet' | 'vehicle';
const parentColumn: Record<ContractParent, RawBuilder<unknown>> = {
  fleet: sql`c.fleet_id`,
  vehicle: sql`c.vehicle_id`,
};
interface ContractsOfParents {
  parent: ContractParent;
  ids: readonly string[];
  filter?: ContractFilter | null | undefined;
}

/** A page of contracts for each of these fleets or vehicles. */
export async function contractsOfParents(
  ctx: Context,
  input: ContractsOfParents & { page: Page },
): Promise<Map<string, Slice<Contract>>> {
  const company = authorizeContracts(ctx, 'contracts:read');
  const { within, tail, text } = pageSql(input.page, 'c');
  const rows = await execute<{ parent: string; contracts: Contract[]; texts: (string | null)[] | null }>(
    onReplica(ctx, input.filter ? ALL_ROWS : input.ids.length * input.page.limit),
    sql`select parent.id as parent, page.* from unnest(${input.ids}::uuid[]) parent(id)
        cross join lateral (
          select coalesce(json_agg(c.json), '[]') as contracts ${textsColumn(text, 'c')} from (
            select ${contractObject} as json ${textColumn(text)} from ${source(ctx)}
            where ${parentColumn[input.parent]} = parent.id ${ofCompany(company)} ${matching(input.filter)} ${within} ${tail}
          ) c
        ) page`,
  );
  return new Map(rows.map(({ parent, contracts, texts }) => [parent, sliceOf(contracts, input.page, texts)]));
}

/** How many contracts contractsOfParents has in all for each. */
export async function countContractsOfParents(ctx: Context, input: ContractsOfParents): Promise<Map<string, number>> {
  const company = authorizeContracts(ctx, 'contracts:read');
  const column = parentColumn[input.parent];
  const rows = await execute<{ parent: string; count: number }>(
    onReplica(ctx, ALL_ROWS),
    sql`select ${column} as parent, count(*)::int as count from ${source(ctx)}
        where ${column} = any(${input.ids}::uuid[]) ${ofCompany(company)} ${matching(input.filter)} group by 1`,
  );
  const counts = new Map(rows.map((row) => [row.parent, row.count]));
  return new Map(input.ids.map((parent) => [parent, counts.get(parent) ?? 0]));
}

function companyAsked(ctx: Context, company: string): string {
  const own = authorizeContracts(ctx, 'contracts:read');
  if (own !== null && own !== company) throw new Forbidden('The conditions name another company than the token.');
  return company;
}

const ofCompany = (company: string | null) => (company === null ? sql`` : sql`and c.company = ${company}`);

function matching(filter?: ContractFilter | null) {
  const { fleetId, vin, pack, status } = readInput(contractFilter, filter ?? {});
  return sql`${given(fleetId, (one) => sql`and c.fleet_id = ${isId(one) ? one : null}::uuid`)}
    ${given(vin, (one) => sql`and v.vin = ${vinOrNull(one)}`)} ${given(pack, (one) => sql`and c.pack = ${one}`)}
    ${given(status, (one) => sql`and ${sql.raw(statusSql)} = ${one}`)}`;
}

export const statusAt = (now: Date, from: Date, to: Date): ContractStatus =>
  now < from ? 'SCHEDULED' : now < to ? 'ACTIVE' : 'ENDED';

const statusSql = `case when clock.now < c.starts_at then 'SCHEDULED' when clock.now < c.ends_at then 'ACTIVE' else 'ENDED' end`;

/** What stands beside a contract `c`: its vehicle, and the time that its status follows from. */
const beside = (ctx: Context) =>
  sql`join vehicle v on v.company = c.company and v.id = c.vehicle_id cross join (select ${ctx.now()}::timestamptz as now) clock`;
const source = (ctx: Context) => sql`contract c ${beside(ctx)}`;

const contractJson = jsonTable('contract', 'c', contractWithVehicle, {
  vin: json.code('v.vin'),
  manufacturer: json.orNull(json.code('v.manufacturer')),
  from: json.time('c.starts_at'),
  to: json.time('c.ends_at'),
  status: json.code(statusSql),
});
const contractObject = jsonObject(contractJson);

const removeContract = prepareVariants<By & { id: string; company: string | null }>()(['company'], (p, has) => {
  const company = has.company ? p.company : null;
  return removing(p, company, removed.and([removed('c.id', '=', p.id), ofFleetThatIsThere('c')]))
    .selectFrom('c')
    .innerJoin('vehicle as v', (on) => on.onRef('v.company', '=', 'c.company').onRef('v.id', '=', 'c.vehicle_id'))
    .$if(company !== null, (v) => v.where('v.company', '=', p.company))
    .crossJoin(db.selectNoFrom(sql`${p.at}::timestamptz`.as('now')).as('clock'))
    .select(contractObject.$castTo<Contract>().as('json'));
});
