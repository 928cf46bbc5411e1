import { type Expression, sql } from 'kysely';
import { activationField, activationJson, activationReasonSql, activationStateSql } from '../activation/activation.ts';
import { contractsWithVehicles } from '../activation/contracts-of-vehicles.ts';
import { type PlanValues, planValues } from '../activation/needs.ts';
import { planClause, planned, wantClause } from '../activation/plan-activations.ts';
import { touchActivations } from '../activation/touch-activations.ts';
import { scheduleClause, scheduleForKind } from '../companies/schedule.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { ContractNotFound, Forbidden, type Precondition, requirePrecondition } from '../errors.ts';
import { contractFactsQuery, vehicleNamesOf, type WithContracts } from '../events/contract-facts.ts';
import { type EventOrigin, eventsClause, systemOrigin } from '../events/record-events.ts';
import { existingFleetConditions, fleetExistsExpression, ofFleets } from '../fleets/fleet.ts';
import type { ListInput } from '../sql/page.ts';
import { type RowWriter, readOneRow, readTextPage } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { jsonMembersOf, jsonObjectExpression, jsonSql } from '../sql/selection.ts';
import { anyOfIds, asTimestamptz, db, isId, prepare, uniqueIds } from '../sql/sql.ts';
import {
  type Contract,
  type ContractFilter,
  contractFilterSchema,
  contractSortOrders,
  contractWithVehicleSchema,
} from './contract.ts';
import { readVinFilter, vinConditions, vinSeeks } from './vin-filter.ts';

/** Where a contract stands by the clock; one that is over stays over, since its end was carried out. */
const phase = (now: Expression<string>) =>
  sql<'notBegun' | 'inForce' | 'over'>`case when c.starts_at >= ${now} then 'notBegun'
    when c.ends_at > ${now} and c.due_at is not null then 'inForce' else 'over' end`;

/** Locks contracts after their vehicles, whose periods change one at a time, in the order of VINs, in which contracts are made. */
export const lockContracts = prepare((p: { company: string; ids: readonly string[]; at: Date }) =>
  contractsWithVehicles(p.company)
    .select(['c.company', 'c.id', 'v.vin', phase(asTimestamptz(p.at)).as('phase')])
    .where('c.id', '=', anyOfIds(p.ids))
    .where(fleetExistsExpression('c', p.company))
    .orderBy('v.vin')
    .orderBy('c.id')
    .forNoKeyUpdate('v')
    .forUpdate('c'),
);

/** Locks a contract and gives it as it is. Throws ContractNotFound and PreconditionFailed. */
export async function lockContract(ctx: Context, company: string, id: string, expected: Precondition<Contract>) {
  await lockContracts(ctx, { company, ids: [id], at: ctx.now() });
  const contract = await readOneRow<Contract>(ctx, contractResource, { id }, { company });
  requirePrecondition(contract, expected);
  return contract;
}

export async function getContract(ctx: Context, input: { id: string }): Promise<Contract> {
  const company = authorizeContracts(ctx, 'contracts:read') ?? (await companyOfContract(ctx, input));
  return readOneRow(ctx, contractResource, input, { company });
}

/** The company of a contract, for callers without a token; throws ContractNotFound. */
export async function companyOfContract(ctx: Context, { id }: { id: string }): Promise<string> {
  const [found] = isId(id) ? await findCompany(ctx, { id }) : [];
  if (!found) throw new ContractNotFound();
  ctx.services.fence?.check(found.company);
  return found.company;
}

/** The company of the first of these contracts, for callers without a token; throws ContractNotFound. */
export async function companyOfNamed(ctx: Context, ids: readonly string[]): Promise<string> {
  return companyOfContract(ctx, { id: ids.find(isId) ?? '' });
}

const findCompany = prepare((p: { id: string }) => db.selectFrom('contract').select('company').where('id', '=', p.id));

/** A page of a company's contracts. Throws Forbidden where the token is of another company. */
export async function listContracts(
  ctx: Context,
  writer: RowWriter,
  { company, ...list }: ListInput<ContractFilter> & { company: string },
) {
  const own = authorizeContracts(ctx, 'contracts:read');
  ctx.services.fence?.check(company);
  if (own !== null && own !== company) {
    throw new Forbidden('The conditions name another company than the token. Name the company of the token.');
  }
  return readTextPage(ctx, contractResource, writer, { company, ...list });
}

export const statusSql = `case when clock.now < c.starts_at then 'SCHEDULED' when clock.now < c.ends_at then 'ACTIVE' else 'ENDED' end`;

const contractJson = jsonMembersOf('contract', 'c', contractWithVehicleSchema, {
  vin: jsonSql.code('cv.vin'),
  manufacturer: jsonSql.orNull(jsonSql.code('cv.manufacturer')),
  from: jsonSql.time('c.starts_at'),
  to: jsonSql.time('c.ends_at'),
  status: jsonSql.code(statusSql),
  activation: activationJson,
});

const contractJsonExpression = jsonObjectExpression<Contract>(contractJson);

export const contractResource: Resource = {
  table: 'contract c',
  ...existingFleetConditions('c'),
  id: 'c.id',
  joins: {
    cv: 'join vehicle cv on cv.company = c.company and cv.id = c.vehicle_id',
    clock: 'cross join (select $now::timestamptz as now) clock',
  },
  members: contractJson,
  fields: { manufacturer: { kind: 'manufacturer', slug: 'cv.manufacturer' }, activation: activationField },
  filter: contractFilterSchema.transform(readVinFilter),
  conditions: {
    id: ['c.id = ?::uuid', idOrNull],
    fleetIds: ['c.fleet_id = any(?::uuid[])', uniqueIds],
    fleetIdsAlone: ['c.fleet_id = ?::uuid', idOrNull],
    fleetId: ['c.fleet_id = ?::uuid', idOrNull],
    ...vinConditions,
    packs: ['c.pack = any(?::text[])'],
    pack: ['c.pack = ?'],
    statuses: [`${statusSql} = any(?::text[])`],
    status: [`${statusSql} = ?`],
    activation: [`${activationStateSql} = any(?::text[])`],
    activationReason: [`${activationReasonSql} = any(?::text[])`],
    name: ['position(folded(?::text) in c.folded_name) > 0'],
  },
  leading: { fleetIdsAlone: 'c.fleet_id', fleetId: 'c.fleet_id' },
  seeks: [...vinSeeks, ofFleets('c')],
  orders: contractSortOrders,
  scope: 'contracts:read',
  missing: () => new ContractNotFound(),
};

const contractsOf = (company: string) =>
  db.selectFrom('contract as c').where('c.company', '=', company).where(fleetExistsExpression('c', company));

/** The contracts of clause `c`, as a query of `json`. */
export const contractJsonQuery = (q: WithContracts, p: { company: string; at: Date | string }) =>
  q
    .selectFrom('c')
    .innerJoin('vehicle as cv', (on) => on.onRef('cv.company', '=', 'c.company').onRef('cv.id', '=', 'c.vehicle_id'))
    .where('cv.company', '=', p.company)
    .crossJoin(db.selectNoFrom(asTimestamptz(p.at).as('now')).as('clock'))
    .select(contractJsonExpression.as('json'));

/** Contracts with these ids, which are looked up before their vehicles (contracts-of-vehicles.ts). */
const readContracts = prepare((p: { company: string; ids: readonly string[]; at: Date }) =>
  contractJsonQuery(
    db.with(
      (c) => c('c').materialized(),
      () => contractsOf(p.company).selectAll('c').where('c.id', '=', anyOfIds(p.ids)),
    ),
    p,
  ),
);

/** These contracts by their ids, in any order. */
export const findContracts = (ctx: Context, given: { company: string; ids: readonly string[] }) =>
  readContracts(ctx, { ...given, at: ctx.now() });

const CONTRACTS_AT_ONCE = 500;

export const contractSchedule = scheduleForKind('contract', (company) =>
  contractsOf(company).select('c.due_at').where('c.due_at', 'is not', null).orderBy('c.due_at').limit(sql.lit(1)),
);

const recordDue = prepare((p: EventOrigin & PlanValues & { company: string }) => {
  const now = asTimestamptz(p.at);
  const facts = (q: WithContracts, since: 'c.starts_at' | 'c.ends_at') =>
    contractFactsQuery(q, vehicleNamesOf(p.company)).whereRef('c.due_at', '=', since);
  return db
    .with('c', () =>
      contractsOf(p.company)
        .selectAll('c')
        .where('c.due_at', '<=', p.at)
        .orderBy('c.due_at')
        .limit(CONTRACTS_AT_ONCE)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .with('plan', () => planClause(p, now))
    .with('moved', (q) =>
      q
        .updateTable('contract')
        .from('plan')
        .set({
          ...planned(now),
          due_at: sql<string | null>`case when contract.due_at = contract.starts_at then contract.ends_at end`,
        })
        .where('contract.company', '=', p.company)
        .whereRef('contract.id', '=', 'plan.id'),
    )
    .with('wanted', (q) => wantClause(q, now))
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('wanted').select(['company', 'due_at'])))
    .with('started', (q) => eventsClause(q, p, { 'contract.started': facts(q, 'c.starts_at') }))
    .with('ended', (q) => eventsClause(q, p, { 'contract.ended': facts(q, 'c.ends_at') }))
    .selectFrom('plan')
    .select(['company', 'vin', 'activation']);
});

/** Records due starts and ends of a company's contracts; skips rows that another process is recording. */
export async function recordContractPeriods(ctx: Context, company: string): Promise<void> {
  const record = async () => {
    const rows = await recordDue(ctx, { ...systemOrigin(ctx), ...planValues(ctx), company });
    if (rows.some(({ activation }) => activation === 'PENDING')) ctx.services.changes.announce('due', 'activation');
    const ended = rows.filter(({ activation }) => activation !== 'PENDING' && activation !== 'OFF');
    await touchActivations(ctx, ended);
  };
  await transaction(ctx, record, { repeats: true });
  await contractSchedule.reschedule(ctx, company);
}
