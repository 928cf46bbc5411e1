import { z } from 'zod';
import { connectivityStatuses, dataDeliveries, eligibilityStatuses } from '../../entities/fleet.ts';
import { exampleIds, field, timeField, uuidField } from '../fields.ts';
import { listSchema, storableText, timeSchema } from '../input.ts';
import { actorSchema, reasonSchema } from '../reason.ts';
import type { SortOrders } from '../sql/order.ts';
import { isPartOfVin, normalizeVinPart } from '../vin.ts';

export const eligibilityStatusSchema = z.enum(eligibilityStatuses);
export type EligibilityStatus = z.output<typeof eligibilityStatusSchema>;
export const dataDeliverySchema = z.enum(dataDeliveries);
export const connectivityStatusSchema = z.enum(connectivityStatuses);

const vin = field(z.string(), 'The VIN: 17 characters, upper case.', 'WBA3A5C50CF256985');

export const eligibilitySchema = z
  .object({
    vin,
    status: field(eligibilityStatusSchema, 'How far the verification is, and its outcome.', 'ELIGIBLE'),
    eligible: field(
      z.boolean().nullable(),
      'The answer; null until there is one, and where nobody can give one.',
      true,
    ),
    manufacturer: field(
      z.string().nullable(),
      'The maker that answered, or the likeliest one; null if the VIN does not tell.',
      'bmw',
    ),
    dataDelivery: field(
      z.array(dataDeliverySchema),
      'How data of this vehicle can be had; empty where it cannot, or while there is no answer.',
      ['PUSH'],
    ),
    connectivityStatus: field(
      connectivityStatusSchema.nullable(),
      'Whether the vehicle is connected; null where the manufacturer does not say.',
      'ACTIVATED',
    ),
    primaryUserAssigned: field(
      z.boolean().nullable(),
      'Whether a primary user is registered with the manufacturer; null where it does not say.',
      true,
    ),
    reason: field(reasonSchema.nullable(), 'Why the status is what it is; null where the vehicle is eligible.', null),
    attempts: field(z.int(), 'How often the manufacturer was asked for this answer.', 1),
    verifiedAt: field(
      z.iso.datetime().nullable(),
      'When the manufacturer answered; null until it has.',
      '2026-11-20T08:00:02.000Z',
    ),
    nextAttemptAt: field(
      z.iso.datetime().nullable(),
      'When the manufacturer is asked next: the next attempt while `PENDING`, else the re-check, since answers age (`FAILED` too). Null while it is being asked.',
      '2026-12-20T08:00:02.000Z',
    ),
  })
  .meta({
    id: 'Eligibility',
    description: 'What the manufacturer says of a vehicle: whether its data can be had, and how.',
  });
export type Eligibility = z.output<typeof eligibilitySchema>;

export const vehicleSchema = z
  .object({
    id: uuidField('Identifies the vehicle: the same in both interfaces.', exampleIds.vehicle),
    fleetId: uuidField('The fleet it belongs to.', exampleIds.fleet),
    vin,
    manufacturer: field(
      z.string().nullable(),
      'Its maker, one of the list of manufacturers; null if the VIN does not tell.',
      'bmw',
    ),
    eligibility: eligibilitySchema.describe('What its manufacturer says of it.'),
    warnings: field(
      z.array(z.string()),
      'Codes of what is odd but no error. `VIN_CHECK_DIGIT`: the check digit is wrong; a typing error is likely.',
      [],
    ),
    createdAt: timeField('When it was added.'),
  })
  .describe('A vehicle of a fleet. A company has each VIN once.');
export type Vehicle = z.output<typeof vehicleSchema>;

const MOST_FLEETS = 1000;

export const vehicleFilterSchema = z
  .object({
    eligibility: z.array(eligibilityStatusSchema).nullish().describe('With one of these statuses.'),
    manufacturer: storableText(z.string()).nullish().describe('Of this maker: a slug.'),
    vin: z
      .string()
      .transform(normalizeVinPart)
      .refine(
        isPartOfVin,
        'is a VIN, or 3 to 16 characters from its beginning or its end: digits, and letters without I, O and Q',
      )
      .nullish()
      .describe(
        'With this VIN; or 3 to 16 characters that a VIN begins or ends with. Case, spaces and dashes do not count.',
      ),
    fleetIds: listSchema(z.string(), MOST_FLEETS).nullish().describe('Of one of these fleets, at most 1,000.'),
    reasonCode: storableText(z.string()).nullish().describe('Whose `reason` has this code.'),
    actor: actorSchema.nullish().describe('Whose `reason` names this actor: who must act.'),
    verifiedBefore: timeSchema.nullish().describe('Whose manufacturer answered before then.'),
    verifiedAfter: timeSchema.nullish().describe('Whose manufacturer answered then or later.'),
  })
  .describe('Which vehicles: those that fit everything that is given.');
export type VehicleFilter = z.input<typeof vehicleFilterSchema>;

export const vehicleSortOrders = {
  CREATED_AT: { meaning: 'When they were added.' },
  VIN: { meaning: 'Their VINs.', by: { column: 'vin', kind: 'text', unique: true } },
  VERIFIED_AT: {
    meaning: 'When the manufacturer answered. Those without an answer stand behind: first where the latest come first.',
    by: { column: 'verified_at', kind: 'time', nullable: true },
  },
} as const satisfies SortOrders;
