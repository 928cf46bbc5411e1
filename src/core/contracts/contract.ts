import { z } from 'zod';
import { describeInputFields, exampleIds, field, timeField, uuidField } from '../fields.ts';
import { idSchema, storableText, textSchema, timeSchema } from '../input.ts';
import type { SortOrders } from '../sql/order.ts';
import { activationSchema, activationStateSchema } from './activation.ts';

export const contractStatusSchema = z.enum(['SCHEDULED', 'ACTIVE', 'ENDED']);
export type ContractStatus = z.output<typeof contractStatusSchema>;

/** A contract as REST shows it: in force in [from, to), ISO 8601 UTC. */
export const contractSchema = z
  .object({
    id: uuidField('Identifies the contract: the same in both interfaces.', exampleIds.contract),
    company: field(z.string(), 'The company whose vehicle it is.', 'acme'),
    fleetId: uuidField('The fleet of the vehicle.', exampleIds.fleet),
    name: field(z.string(), 'Any name.', 'Fuel data, 2027'),
    description: field(z.string(), 'What it is for.', 'Fuel level of the Berlin vans'),
    vin: field(z.string(), 'The VIN of the vehicle: one of that fleet.', 'WBA3A5C50CF256985'),
    manufacturer: field(z.string().nullable(), 'The maker of the vehicle; null if the VIN does not tell.', 'bmw'),
    from: timeField('When it begins.', '2027-01-01T00:00:00.000Z'),
    to: timeField('When it ends, later than `from`; this moment is no longer part of it.', '2028-01-01T00:00:00.000Z'),
    pack: field(
      z.string(),
      'The pack of data services, from the catalogue where there is one. A vehicle has one contract for a pack at a time.',
      'fuel',
    ),
    status: field(contractStatusSchema, 'Where its period stands to the present.', 'SCHEDULED'),
    activation: activationSchema.describe('The contract at the manufacturer.'),
    createdAt: timeField('When it was created.'),
  })
  .meta({ id: 'Contract', description: 'Ties a vehicle to a pack of its manufacturer for a period of time.' });

/** With the id of its vehicle, which GraphQL gives whole. */
export const contractWithVehicleSchema = contractSchema
  .extend({ vehicleId: z.uuid() })
  .meta({ description: contractSchema.description });
export type Contract = z.output<typeof contractWithVehicleSchema>;

export const contractFieldsInput = describeInputFields(contractSchema, {
  fleetId: idSchema,
  name: textSchema(255),
  description: textSchema(2000),
  vin: z.string(),
  from: timeSchema,
  to: timeSchema,
  pack: textSchema(255),
});

export const hasOrder = [
  ({ from, to }: { from: Date; to: Date }): boolean => from < to,
  { path: ['to'], message: 'must be later than from' },
] satisfies [unknown, object];

export const createContractInput = z
  .object(contractFieldsInput)
  .refine(...hasOrder)
  .describe('A new contract. Each text is trimmed and has 1 to 255 characters, its description up to 2,000.');

export const contractFilterSchema = z
  .object({
    fleetId: z.string().nullish().describe('For vehicles of this fleet.'),
    vin: z.string().nullish().describe('For the vehicle with this VIN.'),
    pack: storableText(z.string()).nullish().describe('For this pack.'),
    status: contractStatusSchema.nullish().describe('With this status.'),
    activation: z.array(activationStateSchema).nullish().describe('In one of these states at the manufacturer.'),
    name: storableText(z.string().max(255))
      .transform((value) => value.trim() || null)
      .nullish()
      .describe('With this in the name, whatever the case and accents.'),
  })
  .describe('Which contracts: those that fit everything that is given.');

export type ContractFilter = z.input<typeof contractFilterSchema>;

export const contractSortOrders = {
  CREATED_AT: { meaning: 'When they were created.' },
  FROM: { meaning: 'When they begin.', by: { column: 'starts_at', kind: 'time' } },
  TO: { meaning: 'When they end.', by: { column: 'ends_at', kind: 'time' } },
} as const satisfies SortOrders;
