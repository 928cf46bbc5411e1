import { type AliasedExpression, type QueryCreator, type Selectable, sql } from 'kysely';
import { readVin, vinOrNull } from '../../vin-files/index.ts';
import { contractsOfEach, contractsOfVins } from '../activation/contracts-of-vehicles.ts';
import { scheduleClause } from '../companies/schedule.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { violatedConstraint } from '../database-errors.ts';
import { ContractOverlap, ValidationFailed, VehicleNotFound } from '../errors.ts';
import { contractFactsQuery, vehicleNamesOf } from '../events/contract-facts.ts';
import { announceEvents, callerOrigin, type EventOrigin, eventsClause } from '../events/record-events.ts';
import { companyOfFleet, requireFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { db, isId, newId, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { isInFleets } from '../vehicles/vehicles.ts';
import { type Contract, createContractInput } from './contract.ts';
import { contractJsonQuery } from './contracts.ts';
import { type ContractWarning, warningsOf } from './packs.ts';

type CreatedContract = { contract: Contract; warnings: ContractWarning[] };

/**
 * Gives the new contract; in a dry run, as it would be. Throws FleetNotFound, VehicleNotFound (not in that fleet),
 * ValidationFailed, and ContractOverlap with the ids.
 */
export async function createContract(ctx: Context, input: unknown): Promise<CreatedContract> {
  const caller = authorizeContracts(ctx, 'contracts:write');
  const { fleetId, vin: vinAsGiven, from, to, dryRun, ...terms } = readInput(createContractInput, input);
  requirePack(ctx, terms.pack);
  const vin = vinOrNull(vinAsGiven) ?? '';
  const company = caller ?? (await companyOfFleet(ctx, fleetId));
  const period = { from: from.toISOString(), to: to.toISOString() };
  const made = { ...callerOrigin(ctx), ...terms, ...period, activation: initialActivation(ctx) };
  const given = { ...made, id: newId(), company, fleetId, vin };
  const inserting = () => insert(ctx, given, { short: true, mayFail: true });
  const inserted = isId(fleetId) ? (dryRun ? undone(ctx, inserting) : inserting()) : Promise.resolve([]);
  const rows = await inserted.catch(async (error) => {
    // Under a race, only the constraint sees an overlap; it does not name the contracts.
    if (violatedConstraint(error) !== 'contract_no_overlap') throw error;
    const rows = await findOverlaps(ctx, { ...given, vins: [vin] });
    throw new ContractOverlap(rows.map(({ id }) => id));
  });
  const conflicts = rows.flatMap(({ conflict }) => conflict ?? []);
  if (conflicts.length > 0) throw new ContractOverlap(conflicts);
  const [row] = rows;
  if (!row) {
    await requireFleet(ctx, company, fleetId);
    const read = readVin(vinAsGiven);
    const fault = 'message' in read ? ` ${read.message}` : '';
    throw new VehicleNotFound(`This fleet has no vehicle with this VIN.${fault}`);
  }
  if (!dryRun) announceEvents(ctx);
  return { contract: row.json, warnings: warningsOf(ctx, terms.pack, [{ ...row.json, status: row.status }]) };
}

/** Undoes work of a dry run, and gives its result. */
export async function undone<T>(ctx: Context, work: () => Promise<T>): Promise<T> {
  const rollback = new Error('a dry run');
  let result: { value: T } | undefined;
  await transaction(ctx, async () => {
    result = { value: await work() };
    throw rollback;
  }).catch((error) => {
    if (error !== rollback) throw error;
  });
  if (!result) throw rollback;
  return result.value;
}

/** Throws ValidationFailed for a pack that is not in the catalogue, where there is one. */
export function requirePack({ services }: Context, pack: string): void {
  const { PACKS } = services.config;
  if (PACKS.size === 0 || PACKS.has(pack)) return;
  const packs = [...PACKS.keys()].join(', ');
  throw new ValidationFailed([
    { path: 'pack', code: 'INVALID_VALUE', message: `must be one of the packs ${packs}, not "${pack}"` },
  ]);
}

/** The state of a new contract until its start is carried out. */
export const initialActivation = ({ services }: Context) =>
  services.config.CONTRACTS_ACTIVATION ? ('PENDING' as const) : ('OFF' as const);

type NewContract = NewTerms & Pick<Contract, 'id' | 'vin'>;

/**
 * Locks the fleet, then the vehicle, which gets one contract at a time: two that overlap would wait for each other. Gives the contract,
 * or the ids of those in its way: they are looked up beside the constraint, whose index may have lost one (docs/decisions/periods.md).
 */
const insert = prepare((p: NewContract) => {
  const vehicle = db
    .selectFrom('fleet as f')
    .innerJoin('vehicle as v', (on) => on.on(isInFleets(sql.ref('f.id'))))
    .select(['v.company', 'v.fleet_id', 'v.id'])
    .where('f.company', '=', p.company)
    .where('f.id', '=', p.fleetId)
    .where('f.deletion', 'is', null)
    .where('v.company', '=', p.company)
    .where('v.vin', '=', p.vin)
    .forKeyShare('f')
    .forNoKeyUpdate('v');
  const overlap = (q: QueryCreator<Tables & { v: { id: string } }>) =>
    q
      .selectFrom('v')
      .innerJoinLateral(contractsOfEach(p.company).as('c'), (on) => on.onTrue())
      .select('c.id')
      .where(overlaps(p))
      .orderBy('c.id');
  const row = sql<ContractKey>`(select ${p.id}::uuid as id, v.company, v.fleet_id, v.id as vehicle_id from v
    where not exists (select from overlap))`;
  const nothing = [sql<Contract>`null::json`.as('json'), sql<'PENDING'>`null::text`.as('status')] as const;
  const conflicts = db.selectFrom(sql<{ id: string }>`overlap`.as('o')).select(nothing).select('o.id as conflict');
  return creationQuery(db.with('v', () => vehicle).with('overlap', overlap), p, row)
    .select(sql<string | null>`null::uuid`.as('conflict'))
    .unionAll(conflicts);
});

const keys = ['id', 'company', 'fleet_id', 'vehicle_id'] as const;
type ContractKey = Pick<Selectable<Tables['contract']>, (typeof keys)[number]>;
type ContractKeys = { as<A extends string>(alias: A): AliasedExpression<ContractKey, A> };

export type NewTerms = EventOrigin &
  Pick<Contract, 'company' | 'fleetId' | 'name' | 'description' | 'pack' | 'from' | 'to'> & {
    activation: ReturnType<typeof initialActivation>;
  };

/** A query that inserts contracts of the same terms, records them, and gives each as `json`, with its vehicle's status. */
export const creationQuery = (creator: QueryCreator<Tables>, p: NewTerms, rows: ContractKeys) =>
  contractJsonQuery(
    creator
      .with('c', (q) =>
        q
          .insertInto('contract')
          .columns([
            ...keys,
            'name',
            'description',
            'pack',
            'starts_at',
            'ends_at',
            'created_at',
            'due_at',
            'activation',
          ])
          .expression(
            db
              .selectFrom(rows.as('n'))
              .select(({ cast, val }) => [
                ...keys,
                cast<string>(val(p.name), 'text').as('name'),
                cast<string>(val(p.description), 'text').as('description'),
                cast<string>(val(p.pack), 'text').as('pack'),
                cast<string>(val(p.from), 'timestamptz').as('starts_at'),
                cast<string>(val(p.to), 'timestamptz').as('ends_at'),
                cast<string>(val(p.at), 'timestamptz').as('created_at'),
                cast<string>(val(p.from), 'timestamptz').as('due_at'),
                cast<NewTerms['activation']>(val(p.activation), 'text').as('activation'),
              ]),
          )
          .returningAll(),
      )
      .with('scheduled', (q) => scheduleClause(q, 'contract', q.selectFrom('c').select(['company', 'due_at'])))
      .with('recorded', (q) =>
        eventsClause(q, p, { 'contract.created': contractFactsQuery(q, vehicleNamesOf(p.company)) }),
      ),
    p,
  ).select('cv.status');

type Period = Pick<Contract, 'pack' | 'from' | 'to'>;

/** Whether a contract `c` is for the pack and in force within the period; `greatest` leaves it to its vehicle to find it. */
const overlaps = (p: Period) => sql<boolean>`greatest(c.pack) = ${p.pack}
  and greatest(c.starts_at) < ${p.to}::timestamptz and greatest(c.ends_at) > ${p.from}::timestamptz`;

/** Contracts of vehicles for a pack that are in force within a period, in any fleet. */
export const findOverlaps = prepare((p: Period & { company: string; vins: readonly string[] }) =>
  contractsOfVins(p.company, p.vins).select(['c.id', 'v.vin']).where(overlaps(p)).orderBy('c.id'),
);
