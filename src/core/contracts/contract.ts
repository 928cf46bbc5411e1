import { z } from 'zod';
import { activationSchema, activationStateSchema } from '../activation/activation.ts';
import type { CommandDescription } from '../context.ts';
import { describeInputFields, exampleIds, field, replaced, timeField, uuidField } from '../fields.ts';
import { idSchema, listSchema, MOST_FILTER_VALUES, storableText, textSchema, timeSchema } from '../input.ts';
import { reasonCodeSchema } from '../reason.ts';
import type { SortOrders } from '../sql/order.ts';

export const contractStatusSchema = z.enum(['SCHEDULED', 'ACTIVE', 'ENDED']);

/** A contract as REST shows it: in force in [from, to), ISO 8601 UTC. */
export const contractSchema = z
  .object({
    id: uuidField('The id of the contract, a UUID: the same in GraphQL and REST.', exampleIds.contract),
    company: field(z.string(), 'The name of the company that owns the vehicle of the contract.', 'acme'),
    fleetId: uuidField('The fleet that the contract’s vehicle is in.', exampleIds.fleet),
    name: field(z.string(), 'The contract’s name in its creator’s words.', 'Fuel data, 2027'),
    description: field(z.string(), 'The contract’s purpose in its creator’s words.', 'Fuel level of the Berlin vans'),
    vin: field(z.string(), 'The VIN of the contract’s vehicle, which is in the contract’s fleet.', 'WBA3A5C50CF256985'),
    manufacturer: field(z.string().nullable(), 'The manufacturer of the vehicle; null if its VIN matches none.', 'bmw'),
    from: timeField('The time at which the contract begins (inclusive).', '2027-01-01T00:00:00.000Z'),
    to: timeField('The time at which the contract ends (exclusive), later than `from`.', '2028-01-01T00:00:00.000Z'),
    pack: field(
      z.string(),
      'The pack of data services that the contract is for, one of the operator’s catalogue if there is one. A vehicle has at most one contract for a pack at a time.',
      'fuel',
    ),
    status: field(contractStatusSchema, 'The status of the contract by its start and end dates alone.', 'SCHEDULED'),
    activation: activationSchema.describe('The state of the contract at the manufacturer, with its reason.'),
    createdAt: timeField('The time at which the contract was created.'),
  })
  .meta({
    id: 'Contract',
    description:
      'An agreement that a vehicle has a pack of data services for a period. While it is in force, the gateway has it carried out at the manufacturer, unless the operator has switched that off.',
  });

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

export const dryRunInput = z
  .boolean('must be true or false')
  .nullish()
  .transform((dryRun) => dryRun ?? false)
  .describe('True for a dry run, which checks everything, warns, and stores nothing. False by default.');

const aboutNewContract =
  'The fields of a new contract. Texts are trimmed and have 1 to 255 characters, its description 2,000.';
/** The body of REST, where the address says whether it is a dry run. */
export const newContractSchema = z.object(contractFieldsInput).describe(aboutNewContract);
export const createContractInput = newContractSchema
  .extend({ dryRun: dryRunInput })
  .refine(...hasOrder)
  .describe(aboutNewContract);

const toNow =
  'the end is the gateway’s time now. The contract stays in lists as ENDED, and the manufacturer is told to end it. A contract that has not begun is deleted instead of ended';

const examplePeriod = { from: '2030-01-01T00:00:00Z', to: '2031-01-01T00:00:00Z' };

export const contractCommands = {
  createContract: {
    description:
      'Creates a contract for a vehicle, a pack and a period. A vehicle outside the fleet is VEHICLE_NOT_FOUND; with CONTRACT_OVERLAP, `conflicts` has the ids of the overlapping contracts.',
    scope: 'contracts:write',
    errors: ['FLEET_NOT_FOUND', 'VEHICLE_NOT_FOUND', 'CONTRACT_OVERLAP', 'VALIDATION_FAILED'],
    example: {
      ...{ fleetId: exampleIds.fleet, vin: 'WBA3A5C50CF256984' },
      ...{ name: 'Driving log', description: 'Odometer', pack: 'driving-log', ...examplePeriod },
    },
  },
  createContracts: {
    description:
      'Creates a contract of the same terms for each of up to 1,000 vehicles in a fleet. Vehicles that cannot have one are in `rejected`.',
    scope: 'contracts:write',
    errors: ['FLEET_NOT_FOUND', 'VALIDATION_FAILED', 'PAYLOAD_TOO_LARGE'],
    example: {
      ...{ fleetId: exampleIds.fleet, vins: ['WBA3A5C50CF256985', 'SHORT'] },
      ...{ name: 'Theft', description: 'Location', pack: 'theft', ...examplePeriod },
    },
  },
  updateContract: {
    description:
      'Changes the name, the description or the end of a contract. The end can move to now (as is a time of up to five minutes ago) or to any later time, unless another contract is in the way (CONTRACT_OVERLAP); a contract that is over keeps its end. For another vehicle, pack or beginning, create a new contract.',
    scope: 'contracts:write',
    errors: ['CONTRACT_NOT_FOUND', 'CONTRACT_OVERLAP', 'VALIDATION_FAILED'],
    example: { id: exampleIds.contract, to: '2032-01-01T00:00:00Z' },
  },
  endContract: {
    description: `Ends a contract in force: ${toNow} (CONTRACT_NOT_BEGUN). One that is over stays as it is.`,
    scope: 'contracts:write',
    errors: ['CONTRACT_NOT_FOUND', 'CONTRACT_NOT_BEGUN'],
    example: { id: exampleIds.contract },
  },
  endContracts: {
    description: `Ends contracts in force, by their ids or by a filter: ${toNow}. An unknown id is no error.`,
    scope: 'contracts:write',
    errors: ['VALIDATION_FAILED', 'PAYLOAD_TOO_LARGE'],
    example: { ids: [exampleIds.contract] },
  },
  deleteContract: {
    description: 'Deletes a contract, in force or not. If it is active at the manufacturer, the gateway ends it there.',
    scope: 'contracts:write',
    errors: ['CONTRACT_NOT_FOUND'],
    example: { id: exampleIds.contract },
  },
  deleteContracts: {
    description:
      'Deletes contracts, in force or not. Those that are active at the manufacturer are ended there. An unknown id is no error.',
    scope: 'contracts:write',
    errors: ['NOTHING_TO_DELETE', 'PAYLOAD_TOO_LARGE'],
    example: { ids: [exampleIds.contract] },
  },
  refreshActivation: {
    description:
      'Has manufacturers asked again to carry out contracts, in the background. Contracts that are active there, over, or not yet begun stay as they are.',
    scope: 'contracts:write',
    errors: ['VALIDATION_FAILED', 'PAYLOAD_TOO_LARGE'],
    example: { ids: [exampleIds.contract] },
  },
} satisfies Record<string, CommandDescription>;

const { name, description, to } = contractFieldsInput;
export const updateContractInput = z
  .object({
    id: idSchema.describe('The id of the contract to change.'),
    name: name.optional(),
    description: description.optional(),
    to: to.optional(),
  })
  .describe(
    'The fields of a contract to change: at least one beside `id`. Fields that are left out stay as they are; texts follow the rules for a new contract.',
  );

export const MOST_CONTRACTS_AT_ONCE = 1000;

/** Contracts of one company, as the acts on several contracts take them. */
export const contractIds = listSchema(z.string(), MOST_CONTRACTS_AT_ONCE);
export const aboutContractIds = {
  description: 'Ids of the contracts, at most 1,000.',
  examples: [[exampleIds.contract]],
};
export const notFoundIds = field(
  z.array(z.string()),
  'The ids that name no contract of the company, as they were sent.',
  [exampleIds.contract],
);

export const contractFilterSchema = z
  .object({
    fleetIds: listSchema(z.string(), MOST_FILTER_VALUES)
      .nullish()
      .describe('The ids of the fleets that the contract’s vehicle may be in: at most 1,000.'),
    vin: z
      .string()
      .nullish()
      .describe(
        'The VIN of the contract’s vehicle, or the 2 to 16 characters that it begins or ends with. Case, spaces and dashes are ignored.',
      ),
    packs: listSchema(storableText(z.string()), MOST_FILTER_VALUES)
      .nullish()
      .describe('The packs of data services that the contract may be for: one of these, at most 1,000.'),
    statuses: z
      .array(contractStatusSchema)
      .nullish()
      .describe('The statuses of the contract by its start and end dates: one of these.'),
    activation: z
      .array(activationStateSchema)
      .nullish()
      .describe('The states of the contract at the manufacturer: one of these.'),
    activationReason: z
      .array(reasonCodeSchema)
      .nullish()
      .describe('The reasons for the contract’s state at the manufacturer: one of these.'),
    name: storableText(z.string().max(255))
      .transform((value) => value.trim() || null)
      .nullish()
      .describe('A text in the name of the contract, regardless of case and accents.'),
    fleetId: replaced(
      z.string().nullish().describe('The id of the fleet that the contract’s vehicle is in.'),
      'fleetIds',
    ),
    pack: replaced(
      storableText(z.string()).nullish().describe('The pack of data services that the contract is for.'),
      'packs',
    ),
    status: replaced(
      contractStatusSchema.nullish().describe('The status of the contract by its start and end dates.'),
      'statuses',
    ),
  })
  .describe('Conditions on the contracts of a list. A contract is listed if it meets all that are given.');

export type ContractFilter = z.input<typeof contractFilterSchema>;

export const contractSortOrders = {
  CREATED_AT: { meaning: 'The time at which the contract was created.' },
  FROM: { meaning: 'The time at which the contract begins.', by: { column: 'starts_at', kind: 'time' } },
  TO: { meaning: 'The time at which the contract ends.', by: { column: 'ends_at', kind: 'time' } },
} as const satisfies SortOrders;
