import { sql } from 'kysely';
import { authorizeContracts, type Context } from '../context.ts';
import { ContractOverlap, ValidationFailed, VehicleNotFound } from '../errors.ts';
import { contractDataOf, record } from '../events/record-events.ts';
import { holdFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { newId } from '../sql/sql.ts';
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
    // A transaction of its own, also within another: after a refusal the one around it can go on.
    return await ctx.em.transactional(async () => {
      const company = await holdFleet(ctx, caller, fleetId);
      return insertContract(ctx, await lockVehicle(ctx, company, fleetId, vin), { from, to, ...fields });
    });
  } catch (error) {
    // The database alone can tell of an overlap under a race; what it does not tell is with which contracts.
    if (!isOverlap(error)) throw error;
    throw new ContractOverlap(await conflictsWith(ctx, { fleetId, vin, pack: fields.pack, from, to }));
  }
}

type LockedVehicle = Pick<Contract, 'vehicleId' | 'company' | 'fleetId' | 'vin' | 'manufacturer'>;

/** One at a time for each vehicle: two contracts that overlap would wait for each other to commit, until one is cut off. */
async function lockVehicle(ctx: Context, company: string, fleetId: string, vin: string | null): Promise<LockedVehicle> {
  const [vehicle] = await execute<LockedVehicle>(
    onPrimary(ctx),
    sql`select id as "vehicleId", company, fleet_id as "fleetId", vin, manufacturer from vehicle
        where company = ${company} and fleet_id = ${fleetId} and vin = ${vin} for no key update`,
  );
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
  const { id, company, fleetId, vehicleId, vin } = made;
  await execute(
    onPrimary(ctx),
    sql`insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at)
        values (${id}, ${company}, ${fleetId}, ${vehicleId}, ${made.name}, ${made.description}, ${made.pack},
          ${made.from}::timestamptz, ${made.to}::timestamptz, ${made.createdAt}::timestamptz, ${made.from}::timestamptz)`,
  );
  const vehicles = [{ id: vehicleId, vin }];
  const data = contractDataOf(made);
  await record(ctx, { type: 'contract.created', company, fleetId, contractId: id, vehicles, data });
  return made;
}

const isOverlap = (error: unknown): boolean =>
  error instanceof Error && 'constraint' in error && error.constraint === 'contract_no_overlap';

async function conflictsWith(
  ctx: Context,
  { fleetId, vin, pack, from, to }: { fleetId: string; vin: string | null; pack: string; from: Date; to: Date },
): Promise<string[]> {
  const rows = await execute<{ id: string }>(
    onPrimary(ctx),
    sql`select c.id from contract c join vehicle v on v.id = c.vehicle_id
        where v.fleet_id = ${fleetId} and v.vin = ${vin} and c.pack = ${pack}
          and tstzrange(c.starts_at, c.ends_at) && tstzrange(${from}::timestamptz, ${to}::timestamptz) order by c.id`,
  );
  return rows.map((row) => row.id);
}
