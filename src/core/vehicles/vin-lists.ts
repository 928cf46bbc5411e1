import type { QueryCreator } from 'kysely';
import { z } from 'zod';
import { addModes } from '../../entities/import.ts';
import { vinErrorCodes, vinOrNull } from '../../vin-files/index.ts';
import type { CommandDescription } from '../context.ts';
import { exampleIds, field, uuidField } from '../fields.ts';
import { idSchema } from '../input.ts';
import { anyOf, db, isId, unnestLists } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { vehicleSchema } from './vehicle.ts';

const vinsMeaning = {
  description:
    'VINs of vehicles. Case, spaces and dashes are ignored. At most 10,000, unless the operator set another limit.',
  examples: [['WBA3A5C50CF256985']],
};

export const addModeSchema = z.enum(addModes);

export const addOptionFields = {
  mode: addModeSchema
    .nullish()
    .transform((mode) => mode ?? 'partial')
    .describe('The treatment of valid VINs when others are rejected. By default the valid ones are stored.'),
  dryRun: z
    .boolean('must be true or false')
    .nullish()
    .transform((dryRun) => dryRun ?? false)
    .describe('True for a dry run, which reports what would be added and stores nothing. False by default.'),
};

export const addVehiclesInput = z
  .object({
    fleetId: idSchema.meta({
      ...vehicleSchema.shape.fleetId.meta(),
      description: 'The id of the fleet to add the vehicles to.',
    }),
    vins: z.array(z.string()).min(1, 'must hold at least one VIN').meta(vinsMeaning),
    ...addOptionFields,
  })
  .describe('The VINs to add to a fleet, and the treatment of rejected ones.');

export const addSummarySchema = z
  .object({
    received: field(z.int(), 'The number of VINs that were sent, or of rows of a file that were read.', 3),
    created: field(
      z.int(),
      'The number of vehicles that were created or, in a dry run, would be created (in the mode `atomic`, if nothing were rejected).',
      1,
    ),
    existing: field(z.int(), 'The number of VINs that repeat another one, or that the fleet had before.', 1),
    rejected: field(z.int(), 'The number of VINs that were rejected, in a list or the rows of a file.', 1),
  })
  .meta({
    id: 'Summary',
    description:
      'The outcome of adding vehicles by VIN, in numbers. `created`, `existing` and `rejected` add up to `received`, unless the mode `atomic` stored nothing because some VINs were rejected.',
  });

export const rejectionCodes = [...vinErrorCodes, 'VIN_IN_ANOTHER_FLEET'] as const;
/** The codes as an enumeration. Another version of the gateway may have stored one that this version does not know. */
export const rejectionCodeSchema = z.enum([...rejectionCodes, 'OTHER']);

/** The report on a value that was rejected, in a list or a file. */
export const refusedValueFields = {
  value: field(z.string(), 'The rejected VIN as it was sent, in a list or a row of a file.', 'WBA3A5C50CF25698O'),
  code: field(
    z.string(),
    'The reason why the VIN was rejected: `VIN_INVALID_LENGTH`, `VIN_INVALID_CHARACTER`, `VIN_SPREADSHEET_DAMAGE`, `VIN_FORMULA_ERROR` or `VIN_IN_ANOTHER_FLEET`.',
    'VIN_INVALID_CHARACTER',
  ),
  message: field(
    z.string(),
    'The reason why the VIN was rejected, as a sentence in English.',
    'A VIN holds the digits 0-9 and the letters A-Z without I, O and Q.',
  ),
};

export const rejectedVinSchema = z
  .object({
    index: field(z.int(), 'The index of the rejected VIN in the list that was sent, from 0.', 2),
    ...refusedValueFields,
  })
  .meta({ id: 'RejectedVin', description: 'A VIN of a list that was rejected, with the reason.' });

export const addedVehiclesSchema = z
  .object({
    summary: addSummarySchema.describe('The outcome of adding the vehicles, in numbers.'),
    vehicles: z
      .array(vehicleSchema)
      .describe('The vehicles of the VINs that were sent, in their order, also those that the fleet had before.'),
    rejected: z.array(rejectedVinSchema).describe('The VINs that were rejected, with the reasons.'),
  })
  .describe('The result of adding vehicles by their VINs.');
export type AddedVehicles = z.output<typeof addedVehiclesSchema>;

const names = z.array(z.string()).nullish();
const idsMeaning = {
  description: 'Ids of the vehicles. At most 10,000, unless the operator set another limit.',
  examples: [[exampleIds.vehicle]],
};
const nameLists = { ids: names.meta(idsMeaning), vins: names.meta(vinsMeaning) };
const namedOf = (fleet: string) =>
  z.object({
    fleetId: idSchema.meta({ ...vehicleSchema.shape.fleetId.meta(), description: fleet }),
    ...nameLists,
  });

export const deleteVehiclesInput = namedOf(
  'The id of the fleet to delete vehicles from. Vehicles of other fleets are not deleted.',
).describe('The vehicles of a fleet to delete, named by `ids`, by `vins` or by both.');

export const deletedVehicleSchema = vehicleSchema.pick({ id: true, vin: true }).describe('A vehicle that was deleted.');
export const vehiclesNotFoundSchema = z
  .object({
    ids: field(z.array(z.string()), 'The ids of the request that name no vehicle, as sent.', [exampleIds.vehicle]),
    vins: field(z.array(z.string()), 'The VINs of the request that name no vehicle, as sent.', ['WBA3A5C50CF256985']),
  })
  .describe('The ids and VINs of a request that name no vehicle in the fleet.');
export const deletedVehiclesSchema = z
  .object({
    deleted: z.array(deletedVehicleSchema).describe('The vehicles that were deleted.'),
    notFound: vehiclesNotFoundSchema,
  })
  .meta({ id: 'DeletedVehicles', description: 'The result of deleting vehicles of a fleet.' });
export type DeletedVehicles = z.output<typeof deletedVehiclesSchema>;

export const moveVehiclesInput = namedOf('The id of the fleet to move the vehicles to.').describe(
  'The vehicles of the company to move to a fleet, named by `ids`, by `vins` or by both.',
);

const movedVehicleSchema = vehicleSchema
  .pick({ id: true, vin: true })
  .extend({
    from: uuidField(
      'The id of the fleet that the vehicle was in before: the same as now if it was there already.',
      '019aa1b2-4b2c-7d3e-8f5a-0b1c2d3e4f50',
    ),
  })
  .describe('A vehicle that was moved to the fleet, or was there already.');
export const movedVehiclesSchema = z
  .object({
    moved: z
      .array(movedVehicleSchema)
      .describe('The vehicles that the request names, which are now in the fleet, also those that were there before.'),
    notFound: vehiclesNotFoundSchema.describe('The ids and VINs of the request that name no vehicle of the company.'),
  })
  .meta({ id: 'MovedVehicles', description: 'The result of moving vehicles to a fleet.' });
export type MovedVehicles = z.output<typeof movedVehiclesSchema>;

export const requestVerificationInput = z
  .object(nameLists)
  .refine(({ ids, vins }) => Boolean(ids?.length || vins?.length), {
    path: ['vins'],
    message: 'must name vehicles, or ids must',
  })
  .describe('The vehicles about which to ask the manufacturers again, named by `ids`, by `vins` or by both.');

export const vehicleCommands = {
  addVehicles: {
    description:
      'Adds vehicles to a fleet by their VINs, and has their eligibility verified in the background. Valid VINs are stored even if others are rejected, unless `mode` demands all or none; `rejected` has the others.',
    scope: 'fleets:write',
    errors: ['FLEET_NOT_FOUND', 'VALIDATION_FAILED', 'PAYLOAD_TOO_LARGE'],
    // The second one has an O in place of a zero.
    example: { fleetId: exampleIds.fleet, vins: ['WBA3A5C50CF256985', 'WBA3A5C50CF25698O'] },
  },
  deleteVehicle: {
    description: 'Deletes a vehicle with its contracts, which the gateway also ends at the manufacturer.',
    scope: 'fleets:write',
    errors: ['VEHICLE_NOT_FOUND'],
    example: { id: exampleIds.vehicle },
  },
  deleteVehicles: {
    description:
      'Deletes the vehicles of a fleet that `ids` or `vins` name, with their contracts, which the gateway also ends at the manufacturer. One of the two lists suffices. Ids and VINs that are not in the fleet are in `notFound`, and no error.',
    scope: 'fleets:write',
    errors: ['FLEET_NOT_FOUND', 'NOTHING_TO_DELETE', 'VALIDATION_FAILED', 'PAYLOAD_TOO_LARGE'],
    example: { fleetId: exampleIds.fleet, vins: ['WBA3A5C50CF256988', 'WBA3A5C50CF256991'] },
  },
  moveVehicles: {
    description:
      'Moves the vehicles of the company that `ids` or `vins` name to a fleet, from whichever fleets they are in. They keep their ids, contracts and eligibility. One of the two lists suffices. Unknown ids and VINs are in `notFound`, and no error.',
    scope: 'fleets:write',
    errors: ['FLEET_NOT_FOUND', 'NOTHING_TO_MOVE', 'VALIDATION_FAILED', 'PAYLOAD_TOO_LARGE'],
    example: { fleetId: exampleIds.fleet, vins: ['WBA3A5C50CF256986'] },
  },
  verifyEligibility: {
    description:
      'Has manufacturers asked again about the eligibility of vehicles, in the background. Present answers stand until new ones arrive.',
    scope: 'fleets:write',
    errors: ['VALIDATION_FAILED', 'PAYLOAD_TOO_LARGE'],
    example: { vins: ['WBA3A5C50CF256984'] },
  },
} satisfies Record<string, CommandDescription>;

type Lists = { ids?: readonly string[] | null | undefined; vins?: readonly string[] | null | undefined };

/** The valid ids and VINs of a list. */
export interface VehicleKeys {
  company: string;
  ids: readonly string[];
  vins: readonly string[];
}

export const validVehicleKeys = (company: string, { ids, vins }: Lists): VehicleKeys => ({
  company,
  ids: (ids ?? []).filter(isId),
  vins: (vins ?? []).map(vinOrNull).filter((vin) => vin !== null),
});

/** Given by a query: an empty array has PostgreSQL begin with any partial index, such as that of all claimed vehicles. */
const oneOf = (names: readonly string[], type: 'uuid' | 'text') =>
  anyOf(db.selectFrom(unnestLists('named', { name: [names, type] })).select('name'));

/** The named vehicles `v` of the company, also those of deleted fleets. */
export const namedVehiclesQuery = ({ company, ids, vins }: VehicleKeys, q: QueryCreator<Tables> = db) =>
  q
    .selectFrom('vehicle as v')
    .where('v.company', '=', company)
    .where(({ eb, or }) => or([eb('v.id', '=', oneOf(ids, 'uuid')), eb('v.vin', '=', oneOf(vins, 'text'))]));

/** The ids and VINs without a vehicle, as the caller wrote them. */
export function missingVehicleKeys({ ids, vins }: Lists, found: readonly { id: string; vin: string }[]) {
  const foundIds = new Set(found.map(({ id }) => id));
  const foundVins = new Set(found.map(({ vin }) => vin));
  return {
    ids: (ids ?? []).filter((wanted) => !foundIds.has(wanted.toLowerCase())),
    vins: (vins ?? []).filter((wanted) => !foundVins.has(vinOrNull(wanted) ?? '')),
  };
}
