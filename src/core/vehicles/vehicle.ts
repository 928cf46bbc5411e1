import { z } from 'zod';
import { connectivityStatuses, dataDeliveries, eligibilityStatuses } from '../../entities/fleet.ts';
import { isPartOfVin, normalizeVinPart, vinWarnings } from '../../vin-files/index.ts';
import { exampleIds, field, timeField, timeOrNullField, uuidField } from '../fields.ts';
import { listSchema, MOST_FILTER_VALUES, storableText, timeSchema } from '../input.ts';
import { actorSchema, reasonSchema } from '../reason.ts';
import type { SortOrders } from '../sql/order.ts';

export const eligibilityStatusSchema = z.enum(eligibilityStatuses);
export type EligibilityStatus = z.output<typeof eligibilityStatusSchema>;
export const dataDeliverySchema = z.enum(dataDeliveries);
export const connectivityStatusSchema = z.enum(connectivityStatuses);

/** Warnings as an enumeration. Another version of the gateway may have stored one that this version does not know. */
export const vinWarningSchema = z.enum([...vinWarnings, 'OTHER']);

const vin = field(z.string(), 'The vehicle identification number (VIN): 17 capitals and digits.', 'WBA3A5C50CF256985');

export const eligibilitySchema = z
  .object({
    vin,
    status: field(
      eligibilityStatusSchema,
      'The status of the vehicle’s connected-data eligibility: `PENDING` until its manufacturer has answered, then the outcome.',
      'ELIGIBLE',
    ),
    eligible: field(
      z.boolean().nullable(),
      'True if the manufacturer can deliver data of the vehicle, false if it cannot; null while it has not answered.',
      true,
    ),
    manufacturer: field(
      z.string().nullable(),
      'The manufacturer that answered about the vehicle or, until then, the most likely one; null if its VIN matches none.',
      'bmw',
    ),
    dataDelivery: field(
      z.array(dataDeliverySchema),
      'The ways in which the manufacturer can deliver data of the vehicle; empty if it cannot, or has not answered.',
      ['PUSH'],
    ),
    connectivityStatus: field(
      connectivityStatusSchema.nullable(),
      'The state of the vehicle’s connectivity; null if the manufacturer does not report it.',
      'ACTIVATED',
    ),
    primaryUserAssigned: field(
      z.boolean().nullable(),
      'True if a primary user of the vehicle is registered with the manufacturer; null if it does not report this.',
      true,
    ),
    reason: field(
      reasonSchema.nullable(),
      'The reason for the eligibility status; null if the vehicle is eligible, or if nothing has gone wrong so far.',
      null,
    ),
    attempts: field(z.int(), 'The number of times that the manufacturer was asked for this answer.', 1),
    verifiedAt: timeOrNullField(
      'The time at which the manufacturer answered about the vehicle’s eligibility; null before.',
      '2026-11-20T08:00:02.000Z',
    ),
    nextAttemptAt: timeOrNullField(
      'The time at which the manufacturer is asked next about the vehicle’s eligibility: the next attempt while `PENDING`, otherwise the re-check, since answers age. Null while it is being asked.',
      '2026-12-20T08:00:02.000Z',
    ),
  })
  .meta({
    id: 'Eligibility',
    description: 'The connected-data eligibility of a vehicle: whether and how its manufacturer can deliver its data.',
  });
export type Eligibility = z.output<typeof eligibilitySchema>;

export const vehicleSchema = z
  .object({
    id: uuidField('The id of the vehicle, a UUID: the same in GraphQL and REST.', exampleIds.vehicle),
    fleetId: uuidField('The fleet that the vehicle is in.', exampleIds.fleet),
    vin,
    manufacturer: field(z.string().nullable(), 'The manufacturer of the vehicle; null if its VIN matches none.', 'bmw'),
    eligibility: eligibilitySchema.describe('The eligibility of the vehicle for connected data, by its manufacturer.'),
    warnings: field(
      z.array(z.string()),
      'Codes of oddities of the VIN that are no errors. `VIN_CHECK_DIGIT`: the check digit of the VIN is wrong, so a typing error is likely.',
      [],
    ),
    createdAt: timeField('The time at which the vehicle was added to the company’s fleets.'),
  })
  .describe('A vehicle in a fleet, identified by its VIN. A company has each VIN at most once.');
export type Vehicle = z.output<typeof vehicleSchema>;

export const vehicleFilterSchema = z
  .object({
    eligibility: z
      .array(eligibilityStatusSchema)
      .nullish()
      .describe('The eligibility statuses of the vehicle: one of these.'),
    manufacturer: storableText(z.string()).nullish().describe('The id of the vehicle’s manufacturer, such as `bmw`.'),
    vin: z
      .string()
      .transform(normalizeVinPart)
      .refine(
        isPartOfVin,
        'must be a VIN, or 2 to 16 characters of its beginning or end: digits, and letters except I, O and Q',
      )
      .nullish()
      .describe(
        'The VIN of the vehicle, or the 2 to 16 characters that it begins or ends with. Case, spaces and dashes are ignored.',
      ),
    fleetIds: listSchema(z.string(), MOST_FILTER_VALUES)
      .nullish()
      .describe('The ids of the fleets that the vehicle may be in: at most 1,000.'),
    reasonCode: storableText(z.string())
      .nullish()
      .describe('The code of the `reason` of the vehicle’s eligibility, such as `NOT_ELIGIBLE`.'),
    actor: actorSchema.nullish().describe('The party that must act on the `reason` of the vehicle’s eligibility.'),
    verifiedBefore: timeSchema
      .nullish()
      .describe('The time before which the vehicle’s eligibility was verified (exclusive).'),
    verifiedAfter: timeSchema
      .nullish()
      .describe('The time from which on the vehicle’s eligibility was verified (inclusive).'),
  })
  .describe('Conditions on the vehicles of a list. A vehicle is listed if it meets all that are given.');
export type VehicleFilter = z.input<typeof vehicleFilterSchema>;

export const vehicleSortOrders = {
  CREATED_AT: { meaning: 'The time at which the vehicle was added to the company’s fleets.' },
  VIN: { meaning: 'The VIN of the vehicle.', by: { column: 'vin', kind: 'text', unique: true } },
  VERIFIED_AT: {
    meaning:
      'The time at which the manufacturer answered about the vehicle. Vehicles without an answer come last, in descending order first.',
    by: { column: 'verified_at', kind: 'time', nullable: true },
  },
} as const satisfies SortOrders;
