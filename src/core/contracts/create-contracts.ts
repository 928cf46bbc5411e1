import { sql } from 'kysely';
import { z } from 'zod';
import { readVin, vinErrorCodes } from '../../vin-files/index.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { ContractOverlap, ValidationFailed, VehicleNotFound } from '../errors.ts';
import { announceEvents, callerOrigin } from '../events/record-events.ts';
import { exampleIds, field } from '../fields.ts';
import { companyOfFleet, shareLockFleet } from '../fleets/fleets.ts';
import { listSchema, readInput } from '../input.ts';
import { anyOfIds, anyOfTexts, db, isId, newId, prepare, unnestLists } from '../sql/sql.ts';
import { refreshStatisticsAfter } from '../sql/statistics.ts';
import { isInFleets } from '../vehicles/vehicles.ts';
import { type Contract, contractFieldsInput, contractSchema, dryRunInput, hasOrder } from './contract.ts';
import {
  creationQuery,
  findOverlaps,
  initialActivation,
  type NewTerms,
  requirePack,
  undone,
} from './create-contract.ts';
import { type ContractWarning, warningsOf, warningsSchema } from './packs.ts';

const MOST_CONTRACTS = 1000;

const aboutNewContracts = 'The terms of new contracts, and the vehicles of a fleet that get one each.';
/** The body of REST, where the address says whether it is a dry run. */
export const newContractsSchema = z
  .object({
    fleetId: contractFieldsInput.fleetId,
    vins: listSchema(z.string(), MOST_CONTRACTS)
      .nullish()
      .meta({
        description: 'VINs of vehicles in the fleet, at most 1,000. Either `vins` or `vehicleIds` is required.',
        examples: [['WBA3A5C50CF256985']],
      }),
    vehicleIds: listSchema(z.string(), MOST_CONTRACTS)
      .nullish()
      .meta({
        description: 'Ids of vehicles in the fleet, at most 1,000. Either `vins` or `vehicleIds` is required.',
        examples: [[exampleIds.vehicle]],
      }),
    name: contractFieldsInput.name,
    description: contractFieldsInput.description,
    pack: contractFieldsInput.pack,
    from: contractFieldsInput.from,
    to: contractFieldsInput.to,
  })
  .describe(aboutNewContracts);

export const createContractsInput = newContractsSchema
  .extend({ dryRun: dryRunInput })
  .refine(...hasOrder)
  .refine(({ vins, vehicleIds }) => Boolean(vins?.length) !== Boolean(vehicleIds?.length), {
    path: ['vins'],
    message: 'must name vehicles, or vehicleIds must: one of the two, and not both',
  })
  .describe(aboutNewContracts);

export const contractRejectionCodeSchema = z.enum(['VEHICLE_NOT_FOUND', 'CONTRACT_OVERLAP', ...vinErrorCodes]);

export const rejectedContractSchema = z
  .object({
    vin: field(z.string(), 'The VIN or the id of the vehicle without a contract, as it was sent.', 'WBA3A5C50CF256985'),
    code: field(
      contractRejectionCodeSchema,
      'The reason why the vehicle got no contract: `VEHICLE_NOT_FOUND`, `CONTRACT_OVERLAP`, or a code of an invalid VIN.',
      'CONTRACT_OVERLAP',
    ),
    message: field(
      z.string(),
      'The reason why the vehicle got no contract, as a sentence in English.',
      'This vehicle already has a contract for this pack in an overlapping period.',
    ),
    conflicts: field(
      z.array(z.uuid()),
      'The ids of the vehicle’s contracts in an overlapping period, for `CONTRACT_OVERLAP`; otherwise empty.',
      [exampleIds.contract],
    ),
  })
  .meta({ id: 'RejectedContract', description: 'A vehicle for which no contract was created, with the reason.' });

export const createdContractsSchema = z
  .object({
    contracts: z.array(contractSchema).describe('The new contracts, in the order of the vehicles.'),
    rejected: z
      .array(rejectedContractSchema)
      .describe('The vehicles for which no contract was created, with the reasons.'),
    warnings: warningsSchema,
  })
  .meta({
    id: 'CreatedContracts',
    description: 'The result of creating contracts for several vehicles.',
  });

type Rejected = z.output<typeof rejectedContractSchema>;
type CreatedContracts = { contracts: Contract[]; rejected: Rejected[]; warnings: ContractWarning[] };

/** Locks vehicles in the order of VINs: each gets one contract at a time, so overlaps are seen before the insertion. */
const lockVehicles = prepare(
  (p: { company: string; fleetId: string; ids: readonly string[]; vins: readonly string[] }) =>
    db
      .selectFrom('vehicle as v')
      .select(['v.id', 'v.vin'])
      .where('v.company', '=', p.company)
      .where(isInFleets(sql`${p.fleetId}::uuid`))
      .where(({ eb, or }) => or([eb('v.id', '=', anyOfIds(p.ids)), eb('v.vin', '=', anyOfTexts(p.vins))]))
      .orderBy('v.vin')
      .forNoKeyUpdate(),
);

const insert = prepare((p: NewTerms & { ids: readonly string[]; vehicleIds: readonly string[] }) => {
  const company = sql<string>`${p.company}::text`.as('company');
  const fleet = sql<string>`${p.fleetId}::uuid`.as('fleet_id');
  const vehicles = unnestLists('n', { id: [p.ids, 'uuid'], vehicle_id: [p.vehicleIds, 'uuid'] });
  return creationQuery(db, p, db.selectFrom(vehicles).select(['n.id', company, fleet, 'n.vehicle_id']));
});

/**
 * Creates a contract for each of these vehicles of a fleet; those that cannot have one are in `rejected`. Throws FleetNotFound,
 * PayloadTooLarge and ValidationFailed.
 */
export async function createContracts(ctx: Context, input: unknown): Promise<CreatedContracts> {
  const caller = authorizeContracts(ctx, 'contracts:write');
  const { fleetId, vins, vehicleIds, from, to, dryRun, ...terms } = readInput(createContractsInput, input);
  requirePack(ctx, terms.pack);
  const company = caller ?? (await companyOfFleet(ctx, fleetId));
  const named = [...new Set((vins ?? vehicleIds ?? []).map((one) => one.trim()))];
  const readings = named.map((value) => ({
    value,
    ...(vins ? readVin(value) : isId(value) ? { id: value.toLowerCase() } : {}),
  }));
  const wanted = {
    ids: readings.flatMap((one) => ('id' in one ? one.id : [])),
    vins: readings.flatMap((one) => ('vin' in one ? one.vin : [])),
  };
  const period = { ...terms, from: from.toISOString(), to: to.toISOString() };
  const creation = async () => {
    await shareLockFleet(ctx, company, fleetId);
    const vehicles = await lockVehicles(ctx, { company, fleetId, ...wanted });
    const overlaps = await findOverlaps(ctx, { company, vins: vehicles.map(({ vin }) => vin), ...period });
    const conflicts = Map.groupBy(overlaps, ({ vin }) => vin);
    const byName = new Map(vehicles.flatMap((one) => [one.id, one.vin].map((name) => [name, one])));
    const good = new Set<string>();
    const rejected = readings.flatMap((one): Rejected[] => {
      const { value: vin } = one;
      if ('code' in one) return [{ vin, code: one.code, message: one.message, conflicts: [] }];
      const vehicle = byName.get('id' in one ? one.id : 'vin' in one ? one.vin : '');
      if (!vehicle) return [{ vin, ...notInFleet, conflicts: [] }];
      const inTheWay = conflicts.get(vehicle.vin)?.map((row) => row.id);
      if (!inTheWay) {
        good.add(vehicle.id);
        return [];
      }
      const { code, message } = new ContractOverlap(inTheWay);
      return [{ vin, code, message, conflicts: inTheWay }];
    });
    const own = [...good];
    if (own.length === 0) return { contracts: [], rejected, warnings: [] };
    const by = callerOrigin(ctx);
    const made = { ...by, company, fleetId: fleetId.toLowerCase(), ...period, activation: initialActivation(ctx) };
    const rows = await insert(ctx, { ...made, ids: own.map(newId), vehicleIds: own });
    if (!dryRun) announceEvents(ctx);
    const byVehicle = new Map(rows.map((row) => [row.json.vehicleId, row]));
    const created = own.flatMap((id) => byVehicle.get(id) ?? []);
    const contracts = created.map(({ json }) => json);
    const warnings = warningsOf(
      ctx,
      terms.pack,
      created.map(({ json, status }) => ({ ...json, status })),
    );
    return { contracts, rejected, warnings };
  };
  if (dryRun) return undone(ctx, creation);
  const created = await transaction(ctx, creation);
  await refreshStatisticsAfter(ctx, created.contracts.length);
  return created;
}

const { code, message } = new VehicleNotFound('This fleet has no vehicle with this VIN or id.');
const notInFleet = { code, message };

type NamedVehicles = Partial<Record<'vins' | 'vehicleIds', readonly string[] | null>>;

/** For REST, where a list of which nothing is accepted is an error; `named` is the input. */
export function refuseIfNoContract({ contracts, rejected }: CreatedContracts, named: NamedVehicles): void {
  if (contracts.length > 0) return;
  const list = named.vins?.length ? 'vins' : 'vehicleIds';
  const sent = named[list]?.map((one) => one.trim()) ?? [];
  const errors = rejected.map(({ vin, code, message }) => ({ path: `${list}.${sent.indexOf(vin)}`, code, message }));
  throw new ValidationFailed(errors, 'No contract was created: every vehicle was rejected.', {
    rejectedContracts: rejected,
  });
}
