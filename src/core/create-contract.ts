import { sql } from 'kysely';
import { z } from 'zod';
import { Contract as ContractEntity } from '../entities/contract.ts';
import { Fleet } from '../entities/fleet.ts';
import { Vehicle } from '../entities/vehicle.ts';
import { type Context, contractCompanyOf } from './context.ts';
import { type Contract, statusAt } from './contracts.ts';
import { ContractOverlap, ValidationFailed, VehicleNotFound } from './errors.ts';
import { holdFleet, ownerOfFleet } from './fleets.ts';
import { id, readInput, text, time } from './input.ts';
import { contractDataOf, record } from './record-events.ts';
import { newId, write } from './sql.ts';
import { vinOrNull } from './vehicles.ts';

export const createContractInput = z
  .object({
    fleetId: id,
    name: text(255),
    description: text(2000),
    vin: z.string('is required and must be a string'),
    from: time,
    to: time,
    pack: text(255),
  })
  .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be later than from' });

/**
 * Ties a vehicle to a pack for a period. Throws FleetNotFound, VehicleNotFound (not in that fleet), ValidationFailed,
 * and ContractOverlap with the ids in the way.
 */
export async function createContract(ctx: Context, input: unknown): Promise<Contract> {
  const caller = contractCompanyOf(ctx, 'contracts:write');
  const { fleetId, vin: vinAsGiven, from, to, ...fields } = readInput(createContractInput, input);
  const { PACKS } = ctx.services.config;
  if (PACKS.length > 0 && !PACKS.includes(fields.pack)) {
    throw new ValidationFailed([
      { path: 'pack', code: 'INVALID_VALUE', message: `is none of the packs ${PACKS.join(', ')}` },
    ]);
  }
  const company = await ownerOfFleet(ctx, caller, fleetId);
  const vin = vinOrNull(vinAsGiven);
  const vehicle =
    vin === null
      ? null
      : await ctx.em.findOne(Vehicle, { company, vin, fleet: fleetId }, { fields: ['id', 'manufacturer'] });
  if (!vehicle || vin === null) throw new VehicleNotFound('This fleet has no vehicle with this VIN.');
  const now = ctx.now();
  const contractId = newId();
  try {
    // A transaction of its own, also within another: after a refusal the one around it can go on.
    await ctx.em.transactional(async (em) => {
      await holdFleet(ctx, fleetId);
      // One at a time for each vehicle: two that overlap would wait for each other to commit, until one is cut off.
      await write(ctx, sql`select from vehicle where id = ${vehicle.id} for no key update`);
      em.create(ContractEntity, {
        id: contractId,
        company,
        fleet: em.getReference(Fleet, fleetId),
        vehicle: em.getReference(Vehicle, vehicle.id),
        ...fields,
        startsAt: from,
        endsAt: to,
        createdAt: now,
        dueAt: from,
      });
      await record(ctx, {
        type: 'contract.created',
        company,
        fleetId,
        contractId,
        vehicles: [{ id: vehicle.id, vin }],
        data: contractDataOf({ ...fields, from: from.toISOString(), to: to.toISOString() }),
      });
    });
  } catch (error) {
    // The database alone can tell of an overlap under a race; what it does not tell is with which contracts.
    if (!isOverlap(error)) throw error;
    throw new ContractOverlap(await conflictsWith(ctx, vehicle.id, fields.pack, from, to));
  }
  return {
    id: contractId,
    company,
    fleetId: fleetId.toLowerCase(),
    vehicleId: vehicle.id,
    ...fields,
    vin,
    manufacturer: vehicle.manufacturer ?? null,
    from: from.toISOString(),
    to: to.toISOString(),
    status: statusAt(now, from, to),
    createdAt: now.toISOString(),
  };
}

const isOverlap = (error: unknown): boolean =>
  error instanceof Error && 'constraint' in error && error.constraint === 'contract_no_overlap';

async function conflictsWith(ctx: Context, vehicleId: string, pack: string, from: Date, to: Date): Promise<string[]> {
  const rows = await write<{ id: string }>(
    ctx,
    sql`select id from contract where vehicle_id = ${vehicleId} and pack = ${pack}
        and tstzrange(starts_at, ends_at) && tstzrange(${from}::timestamptz, ${to}::timestamptz) order by id`,
  );
  return rows.map((row) => row.id);
}
