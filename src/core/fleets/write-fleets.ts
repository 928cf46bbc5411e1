import { type Insertable, sql } from 'kysely';
import type { z } from 'zod';
import { Fleet as FleetEntity } from '../../entities/fleet.ts';
import { authorize, type Context } from '../context.ts';
import { type Expected, FleetNotFound, needExpected, ValidationFailed } from '../errors.ts';
import { knowCompany } from '../events/log.ts';
import { announceEvents, type By, byCaller, type Fact, inBatches, record, recording } from '../events/record-events.ts';
import { readInput } from '../input.ts';
import { removeContractsOfFleet } from '../remove-contracts.ts';
import { readOne } from '../sql/read.ts';
import { isoOf } from '../sql/selection.ts';
import { againAfterDeadlock, append, onPrimary, transaction } from '../sql/send.ts';
import { anyOf, isId, newId, prepare } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import { createFleetInput, DELETED_AT_ONCE, type Fleet, updateFleetInput } from './fleet.ts';
import { type FleetKey, fleetRows, fleetsOf, lockFleet } from './fleets.ts';

/** Stores a new fleet of the caller's company; throws ValidationFailed with every wrong field. */
export async function createFleet(ctx: Context, input: unknown): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const fields = readInput(createFleetInput, input);
  const by = byCaller(ctx);
  const made: Fleet = { id: newId(), company, ...fields, vehicleCount: 0, createdAt: by.at, updatedAt: by.at };
  const { id, name, companyAddress: company_address, email, vat } = made;
  const row = { id, company, name, company_address, email, vat };
  await insertFleet(append(ctx), { ...row, ...by, data: JSON.stringify(fields) });
  announceEvents(ctx);
  return made;
}

type NewFleet = Omit<Insertable<Tables['fleet']>, 'created_at' | 'updated_at' | 'deletion'> & By & { data: string };

// One statement is a transaction by itself: a unit of work would take four round trips for the fleet and its event.
const insertFleet = prepare((p: NewFleet) => {
  const { id, company, name, company_address, email, vat } = p;
  const fleet = { id, company, name, company_address, email, vat, created_at: p.at, updated_at: p.at };
  return db
    .with('made', (q) => q.insertInto('fleet').values(fleet).returning(['company', 'id']))
    .with('known', knowCompany(company))
    .with('recorded', (q) => {
      const facts = q
        .selectFrom('made')
        .select([
          'company',
          'id as fleet_id',
          sql<null>`null::uuid`.as('contract_id'),
          sql<string[]>`'{}'::uuid[]`.as('vehicle_ids'),
          sql<string[]>`'{}'::text[]`.as('vins'),
          sql`${p.data}::jsonb`.as('data'),
        ]);
      return recording(q, p, { 'fleet.created': facts });
    })
    .selectNoFrom([]);
});

/**
 * Changes the named fields of a fleet; one that stays as it was keeps its time of change. Throws FleetNotFound,
 * PreconditionFailed, or ValidationFailed when no field is named.
 */
export async function updateFleet(ctx: Context, input: unknown, expected?: Expected<Fleet>): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const { id: fleetId, ...fields } = readInput(updateFleetInput, input);
  return transaction(ctx, async (em) => {
    const [row] = isId(fleetId) ? await lockToChange(onPrimary(ctx), { id: fleetId, company }) : [];
    if (!row) throw new FleetNotFound();
    const { vehicleCount, createdAt, updatedAt, ...columns } = row;
    const fleet = em.map(FleetEntity, columns);
    const shown = (): Fleet => {
      const { id, name, companyAddress, email, vat } = fleet;
      return { id, company, name, companyAddress, email, vat, vehicleCount, createdAt, updatedAt };
    };
    needExpected(shown(), expected);
    if (Object.values(fields).every((value) => value === undefined)) {
      const names = Object.keys(createFleetInput.shape).join(', ');
      throw new ValidationFailed([], `Nothing to change: name at least one of ${names}.`);
    }
    const changes = changesOf(fleet, fields);
    if (Object.keys(changes).length === 0) return shown();
    const now = ctx.now();
    em.assign(fleet, { ...fields, updatedAt: now }, { ignoreUndefined: true });
    await em.flush();
    await record(ctx, [{ type: 'fleet.updated', company, fleetId: fleet.id, data: { changes } }]);
    return { ...shown(), updatedAt: now.toISOString() };
  });
}

/**
 * Locks a fleet against other changes, but not against new vehicles, which hold on to its id until they are committed. MikroORM
 * gets no times: it would read them in the session's style.
 */
const lockToChange = prepare((p: FleetKey) =>
  fleetsOf(p.company)
    .select(['id', 'company', 'name', 'company_address', 'email', 'vat'])
    .select(({ ref, selectFrom }) => [
      isoOf(ref('created_at')).as('createdAt'),
      isoOf(ref('updated_at')).as('updatedAt'),
      selectFrom('vehicle_tally as t')
        .select((t) => sql<number>`coalesce(sum(${t.ref('t.delta')}), 0)::int`.as('count'))
        .where('t.company', '=', p.company)
        .whereRef('t.fleet_id', '=', 'fleet.id')
        .$asScalar()
        .$notNull()
        .as('vehicleCount'),
    ])
    .where('id', '=', p.id)
    .forNoKeyUpdate(),
);

type Fields = z.output<typeof createFleetInput>;

/** Each field that gets another value, with both. */
function changesOf(before: Fields, fields: { [Name in keyof Fields]?: string | undefined }) {
  const names = Object.keys(fields) as (keyof Fields)[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const [from, to] = [before[name], fields[name]];
      return to === undefined || to === from ? [] : [[name, { from, to }]];
    }),
  );
}

/**
 * Deletes a fleet with its vehicles and contracts, and gives it back as it was; throws FleetNotFound and PreconditionFailed.
 * The rows of a large one are deleted in the background (core/operations/delete-fleets.ts), which then records their events.
 */
export async function deleteFleet(caller: Context, input: { id: string }, expected?: Expected<Fleet>): Promise<Fleet> {
  const company = authorize(caller, 'fleets:write');
  // Writers lock a fleet before its vehicles. If a deadlock happens nevertheless, the deletion begins again.
  return againAfterDeadlock(caller, async (ctx) => {
    // Locked by a statement of its own: only the next one sees all that came before.
    await lockFleet(ctx, company, input.id);
    const fleet = await readOne<Fleet>(ctx, fleetRows, input, { company, newest: true });
    needExpected(fleet, expected);
    const { id, name, vehicleCount } = fleet;
    const deleted: Fact = { type: 'fleet.deleted', company, fleetId: id, data: { name, vehicleCount } };
    if (vehicleCount > 0) ctx.services.changes.announceRemoval(company, null);
    if (vehicleCount > DELETED_AT_ONCE) {
      const { actor, request_id } = byCaller(ctx);
      await markDeleted(onPrimary(ctx), { company, id, deletion: JSON.stringify({ actor, request_id }) });
      await record(ctx, [deleted]);
      ctx.services.changes.announce('due', 'fleet');
      return fleet;
    }
    await removeContractsOfFleet(ctx, company, id);
    await recordVehicles(onPrimary(ctx), { ...byCaller(ctx), company, id });
    await removeVehicles(onPrimary(ctx), { company, id });
    // Its tallies cascade. A transaction that added vehicles which this one could not see then breaks their foreign key and
    // is rolled back.
    await removeFleet(onPrimary(ctx), { company, id });
    await record(ctx, [deleted]);
    return fleet;
  });
}

const recordVehicles = prepare((p: By & FleetKey) => {
  const vehicles = db
    .selectFrom('vehicle')
    .select(['company', 'fleet_id', 'id', 'vin'])
    .where('company', '=', p.company)
    .where('fleet_id', '=', p.id);
  return recording(db, p, { 'vehicle.removed': inBatches(vehicles.as('v')) });
});

/** Its vehicles count no more, though they are still there. */
const markDeleted = prepare((p: FleetKey & { deletion: string }) =>
  db
    .with('uncounted', (q) =>
      q.deleteFrom('vehicle_tally').where('company', '=', p.company).where('fleet_id', '=', p.id),
    )
    .updateTable('fleet')
    .set({ deletion: p.deletion })
    .where('company', '=', p.company)
    .where('id', '=', p.id),
);

/** In the order of the VINs, in which vehicles are locked to be asked about again: that holds no fleet. */
const removeVehicles = prepare((p: FleetKey) =>
  db
    .with('own', (q) =>
      q
        .selectFrom('vehicle')
        .select('id')
        .where('company', '=', p.company)
        .where('fleet_id', '=', p.id)
        .orderBy('vin')
        .forUpdate(),
    )
    .deleteFrom('vehicle')
    .where('company', '=', p.company)
    .where('id', '=', (of) => anyOf(of.selectFrom('own').select('id'))),
);

/** Deletes the row of a fleet, and with it those that refer to it. */
export const removeFleet = prepare((p: FleetKey) =>
  db.deleteFrom('fleet').where('company', '=', p.company).where('id', '=', p.id),
);
