import type { QueryCreator } from 'kysely';
import { z } from 'zod';
import { addModes } from '../../entities/import.ts';
import { exampleIds, field, uuidField } from '../fields.ts';
import { idSchema } from '../input.ts';
import { anyOfIds, anyOfTexts, db, isId } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { vinErrorCodes, vinOrNull } from '../vin.ts';
import { vehicleSchema } from './vehicle.ts';

const vinsMeaning = {
  description: 'VINs; case, spaces and dashes do not count. At most 10,000 unless the operator chose another number.',
  examples: [['WBA3A5C50CF256985']],
};

export const addModeSchema = z.enum(addModes);
export type AddMode = z.output<typeof addModeSchema>;

export const addOptionFields = {
  mode: addModeSchema
    .nullish()
    .transform((mode) => mode ?? 'partial')
    .describe('What becomes of the good values when others are rejected. By default they are stored.'),
  dryRun: z
    .boolean('is true or false')
    .nullish()
    .transform((dryRun) => dryRun ?? false)
    .describe('True: say what would happen, and store nothing. By default false.'),
};

export const addVehiclesInput = z
  .object({
    fleetId: idSchema.meta({ ...vehicleSchema.shape.fleetId.meta(), description: 'The fleet.' }),
    vins: z.array(z.string()).min(1, 'must hold at least one VIN').meta(vinsMeaning),
    ...addOptionFields,
  })
  .describe('Vehicles to add to a fleet.');

export const addSummarySchema = z
  .object({
    received: field(z.int(), 'Values that were sent.', 3),
    created: field(
      z.int(),
      'New vehicles; in a dry run those that would be (in mode atomic, if nothing were rejected).',
      1,
    ),
    existing: field(z.int(), 'Values whose vehicle the fleet already had, or that came twice.', 1),
    rejected: field(z.int(), 'Values that were rejected.', 1),
  })
  .meta({
    id: 'Summary',
    description:
      'What became of the values, in numbers; the three add up to `received`, unless all was refused for some.',
  });

export const rejectionCodes = [...vinErrorCodes, 'VIN_IN_ANOTHER_FLEET'] as const;
/** The codes as an enumeration. Another version of the gateway may have stored one that this version does not know. */
export const rejectionCodeSchema = z.enum([...rejectionCodes, 'OTHER']);

/** The report on a value that was rejected, in a list or a file. */
export const refusedValueFields = {
  value: field(z.string(), 'The value as it was sent.', 'WBA3A5C50CF25698O'),
  code: field(
    z.string(),
    'Why: `VIN_INVALID_LENGTH`, `VIN_INVALID_CHARACTER`, `VIN_SPREADSHEET_DAMAGE`, `VIN_FORMULA_ERROR` or `VIN_IN_ANOTHER_FLEET`.',
    'VIN_INVALID_CHARACTER',
  ),
  message: field(
    z.string(),
    'What is wrong, for people.',
    'A VIN holds the digits 0-9 and the letters A-Z without I, O and Q.',
  ),
};

export const rejectedVinSchema = z
  .object({ index: field(z.int(), 'Its place in the list, from 0.', 2), ...refusedValueFields })
  .meta({ id: 'RejectedVin', description: 'A value that was rejected.' });

export const addedVehiclesSchema = z
  .object({
    summary: addSummarySchema.describe('In numbers.'),
    vehicles: z
      .array(vehicleSchema)
      .describe('The vehicles of the fleet that the list names, in its order: new ones and those it had before.'),
    rejected: z.array(rejectedVinSchema).describe('The values that were rejected.'),
  })
  .describe('What became of the VINs.');
export type AddedVehicles = z.output<typeof addedVehiclesSchema>;

const names = z.array(z.string()).nullish();
const idsMeaning = { description: 'Ids of vehicles.', examples: [[exampleIds.vehicle]] };
const namedOf = (fleet: string) =>
  z.object({
    fleetId: idSchema.meta({ ...vehicleSchema.shape.fleetId.meta(), description: fleet }),
    ids: names.meta(idsMeaning),
    vins: names.meta(vinsMeaning),
  });

export const deleteVehiclesInput = namedOf('The fleet; vehicles of others are left alone.').describe(
  'The vehicles of a fleet to delete: those that `ids` or `vins` name. One of the two suffices.',
);

export const deletedVehicleSchema = vehicleSchema.pick({ id: true, vin: true }).describe('A vehicle that is no more.');
export const vehiclesNotFoundSchema = z
  .object({
    ids: z.array(z.string()).meta(idsMeaning),
    vins: field(z.array(z.string()), 'VINs.', vinsMeaning.examples[0]),
  })
  .describe('What was named and is not in the fleet, as it was named.');
export const deletedVehiclesSchema = z
  .object({
    deleted: z.array(deletedVehicleSchema).describe('The deleted vehicles.'),
    notFound: vehiclesNotFoundSchema,
  })
  .meta({ id: 'DeletedVehicles', description: 'What was deleted, and what was not there.' });
export type DeletedVehicles = z.output<typeof deletedVehiclesSchema>;

export const moveVehiclesInput = namedOf('The fleet that they are to belong to.').describe(
  'The vehicles of the company to move: those that `ids` or `vins` name. One of the two suffices.',
);

const movedVehicleSchema = vehicleSchema
  .pick({ id: true, vin: true })
  .extend({
    from: uuidField(
      'The fleet that it was in; where it is now, if it was there already.',
      '019aa1b2-4b2c-7d3e-8f5a-0b1c2d3e4f50',
    ),
  })
  .describe('A vehicle that is in the fleet now.');
export const movedVehiclesSchema = z
  .object({
    moved: z
      .array(movedVehicleSchema)
      .describe('The vehicles that are in the fleet now, also those that were there before.'),
    notFound: vehiclesNotFoundSchema.describe('What was named and is in no fleet of the company, as it was named.'),
  })
  .meta({ id: 'MovedVehicles', description: 'What was moved, and what was not there.' });
export type MovedVehicles = z.output<typeof movedVehiclesSchema>;

export const requestVerificationInput = addVehiclesInput
  .pick({ vins: true })
  .describe('Which vehicles to verify again.');

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

/** The named vehicles `v` of the company, also those of deleted fleets. */
export const namedVehiclesQuery = ({ company, ids, vins }: VehicleKeys, q: QueryCreator<Tables> = db) =>
  q
    .selectFrom('vehicle as v')
    .where('v.company', '=', company)
    .where(({ eb, or }) => or([eb('v.id', '=', anyOfIds(ids)), eb('v.vin', '=', anyOfTexts(vins))]));

/** The ids and VINs without a vehicle, as the caller wrote them. */
export function missingVehicleKeys({ ids, vins }: Lists, found: readonly { id: string; vin: string }[]) {
  const foundIds = new Set(found.map(({ id }) => id));
  const foundVins = new Set(found.map(({ vin }) => vin));
  return {
    ids: (ids ?? []).filter((wanted) => !foundIds.has(wanted.toLowerCase())),
    vins: (vins ?? []).filter((wanted) => !foundVins.has(vinOrNull(wanted) ?? '')),
  };
}
