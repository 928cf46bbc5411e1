import { type Insertable, type Selectable, sql } from 'kysely';
import { authorizeContracts, type Context } from '../context.ts';
import { brokenRule } from '../database-errors.ts';
import { ContractOverlap, ValidationFailed, VehicleNotFound } from '../errors.ts';
import { contractDataOf, record } from '../events/record-events.ts';
import { holdFleet, ownerOfFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { newId } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import { vinOrNull } from '../vin.ts';
import { type Contract, createContractInput } from './contract.ts';
import { statusAt } from './contracts.ts';

/**
 * Ties a vehicle to a pack for a period. Throws FleetNotFound, VehicleNotFound (not in that fleet), ValidationFailed,
 * and ContractOverlap with the ids in the way.
 */
export async function createContract(ctx: Context, input: unknown): Promise<Contract> {
  const caller = authorizeContracts(ctx, 'contracts:write');
  const { fleetId, vin: vinAsGiven, from, to, ...fields } = readInput(createContractInput, input);
  const { PACKS } = ctx.services.config;
  if (PACKS.length > 0 && !PACKS.includes(fields.pack)) {
    throw new ValidationFailed([
      { path: 'pack', code: 'INVALID_VALUE', message: `is none of the packs ${PACKS.join(', ')}` },
    ]);
  }
  const vin = vinOrNull(vinAsGiven);
  try {
    // A transaction of its own, also within another: after an error the one around it can go on.
    return await ctx.em.transactional(async () => {
      const company = await holdFleet(ctx, caller, fleetId);
      return insertContract(ctx, await lockVehicle(ctx, company, fleetId, vin), { from, to, ...fields });
    });
  } catch (error) {
    // The database alone can tell of an overlap under a race; what it does not tell is with which contracts.
    if (!isOverlap(error)) throw error;
    const period = {
      company: await ownerOfFleet(ctx, caller, fleetId),
      fleet_id: fleetId,
      vin,
      pack: fields.pack,
      from,
      to,
    };
    const rows = await conflicting(onPrimary(ctx), period);
    throw new ContractOverlap(rows.map(({ id }) => id));
  }
}

const lock = prepare((p: { company: string; fleet_id: string; vin: string }) =>
  db
    .selectFrom('vehicle')
    .select(['id as vehicleId', 'company', 'fleet_id as fleetId', 'vin', 'manufacturer'])
    .where('company', '=', p.company)
    .where('fleet_id', '=', p.fleet_id)
    .where('vin', '=', p.vin)
    .forNoKeyUpdate(),
);
type LockedVehicle = Awaited<ReturnType<typeof lock>>[number];

/** One at a time for each vehicle: two contracts that overlap would wait for each other to commit, until one is cut off. */
async function lockVehicle(ctx: Context, company: string, fleetId: string, vin: string | null): Promise<LockedVehicle> {
  const [vehicle] = vin === null ? [] : await lock(onPrimary(ctx), { company, fleet_id: fleetId, vin });
  if (!vehicle) throw new VehicleNotFound('This fleet has no vehicle with this VIN.');
  return vehicle;
}

type Terms = Pick<Contract, 'name' | 'description' | 'pack'> & { from: Date; to: Date };

async function insertContract(ctx: Context, vehicle: LockedVehicle, { from, to, ...terms }: Terms): Promise<Contract> {
  const now = ctx.now();
  const made: Contract = {
    id: newId(),
    ...vehicle,
    ...terms,
    from: from.toISOString(),
    to: to.toISOString(),
    status: statusAt(now, from, to),
    createdAt: now.toISOString(),
  };
  const { id, company, fleetId, vehicleId, vin, name, description, pack } = made;
  await insert(onPrimary(ctx), {
    ...{ id, company, fleet_id: fleetId, vehicle_id: vehicleId, name, description, pack },
    ...{ starts_at: made.from, ends_at: made.to, created_at: made.createdAt },
  });
  const vehicles = [{ id: vehicleId, vin }];
  const data = contractDataOf(made);
  await record(ctx, { type: 'contract.created', company, fleetId, contractId: id, vehicles, data });
  return made;
}

const insert = prepare((p: Omit<Insertable<Tables['contract']>, 'due_at'>) =>
  db.insertInto('contract').values({
    id: p.id,
    company: p.company,
    fleet_id: p.fleet_id,
    vehicle_id: p.vehicle_id,
    name: p.name,
    description: p.description,
    pack: p.pack,
    starts_at: p.starts_at,
    ends_at: p.ends_at,
    created_at: p.created_at,
    due_at: p.starts_at,
  }),
);

const isOverlap = (error: unknown): boolean => error instanceof Error && brokenRule(error) === 'contract_no_overlap';

/** Contracts of a vehicle for a pack that are in force within a period. */
const conflicting = prepare(
  (
    p: Pick<Selectable<Tables['contract']>, 'fleet_id' | 'pack'> & {
      company: string;
      vin: string | null;
      from: Date;
      to: Date;
    },
  ) =>
    db
      .selectFrom('contract as c')
      .innerJoin('vehicle as v', 'v.id', 'c.vehicle_id')
      .select('c.id')
      .where('v.fleet_id', '=', p.fleet_id)
      .where('v.vin', '=', p.vin)
      .where('c.pack', '=', p.pack)
      .where(
        ({ ref }) =>
          sql<boolean>`tstzrange(${ref('c.starts_at')}, ${ref('c.ends_at')}) && tstzrange(${p.from}::timestamptz, ${p.to}::timestamptz)`,
      )
      .where('c.company', '=', p.company)
      .where('v.company', '=', p.company)
      .orderBy('c.id'),
);
