import { z } from 'zod';
import { activationSchema, activationStateSchema } from '../../core/activation/activation.ts';
import {
  type Contract,
  contractCommands,
  contractFilterSchema,
  contractSortOrders,
  contractStatusSchema,
  contractWithVehicleSchema,
  createContractInput,
  updateContractInput,
} from '../../core/contracts/contract.ts';
import { createContract } from '../../core/contracts/create-contract.ts';
import {
  contractRejectionCodeSchema,
  createContracts,
  createContractsInput,
  createdContractsSchema,
  rejectedContractSchema,
} from '../../core/contracts/create-contracts.ts';
import { warningsSchema } from '../../core/contracts/packs.ts';
import { refreshActivation, refreshActivationInput } from '../../core/contracts/refresh-activation.ts';
import { updateContract } from '../../core/contracts/update-contract.ts';
import { followContractChanges } from '../../core/following/follow-changes.ts';
import { schemaBuilder } from './builder.ts';
import { addByIdField, addListField, connectionType, listArgs } from './connection.ts';
import { addMutation, enumTypeOf, inputTypeOf, objectTypeOf, resultOf } from './described.ts';
import { FleetRef } from './fleets.ts';
import { type OperationExtension, resolvePlannedField } from './graphql-context.ts';
import { manufacturerOverride } from './manufacturers.ts';
import { MOST_WARNINGS } from './packs.ts';
import { ReasonCodeRef } from './reason.ts';
import { asManyAsNamed, VehicleRef, vinErrorMeanings } from './vehicles.ts';

enumTypeOf('ContractStatus', contractStatusSchema, 'The status of a contract by its start and end dates alone.', {
  SCHEDULED: 'The period of the contract has not begun yet.',
  ACTIVE: 'The contract is in force: its period has begun and not ended.',
  ENDED: 'The period of the contract has ended.',
});

enumTypeOf('ActivationState', activationStateSchema, 'The state of a contract at the manufacturer.', {
  SCHEDULED: 'The period of the contract has not begun yet.',
  PENDING: 'The manufacturer was asked to activate the contract, or is about to be, and has not decided yet.',
  ACTIVE: 'The manufacturer has confirmed that all of its programs that the contract needs are active.',
  REJECTED: 'The manufacturer rejected the contract, and is only asked again on request (`refreshActivation`).',
  FAILED:
    'The activation of the contract failed, and asking again would not help: the manufacturer does not accept the VIN, for example.',
  ENDING: 'The manufacturer was asked to end the contract, and has not confirmed the end yet.',
  ENDED: 'The contract is over; if the manufacturer had begun to activate it, it has confirmed the end.',
  UNSUPPORTED: 'No provider (a manufacturer’s service) carries out the contract; `reason` says why.',
  OFF: 'The manufacturer is not told of the contract, since the operator of the gateway has switched that off.',
});

objectTypeOf('ContractActivation', activationSchema);
export const ContractRef = objectTypeOf('Contract', contractWithVehicleSchema, {
  fleetId: { name: 'fleet', type: FleetRef, resolve: resolvePlannedField },
  vehicleId: {
    name: 'vehicle',
    type: VehicleRef,
    description: 'The vehicle that the contract is for.',
    resolve: resolvePlannedField,
  },
  manufacturer: manufacturerOverride,
});

const ContractConnection = connectionType('Contract', ContractRef, 'contracts');
export const ContractFilterRef = inputTypeOf('ContractFilter', contractFilterSchema, {
  activationReason: { type: [ReasonCodeRef] },
});
const args = listArgs('Contract', ContractFilterRef, contractSortOrders);
const reading = { extensions: { scope: 'contracts:read' } satisfies OperationExtension };
addListField('contracts', ContractConnection, 'Lists the contracts of the company.', { args, ...reading });
addListField('contracts', ContractConnection, 'The contracts of the vehicles in the fleet.', { of: FleetRef, args });
addListField('contracts', ContractConnection, 'The contracts of the vehicle.', { of: VehicleRef, args });

addByIdField('contract', ContractRef, 'Returns a contract by its id.', {
  ...reading.extensions,
  errors: ['CONTRACT_NOT_FOUND'],
});

const dryRunDefault = { input: { dryRun: { defaultValue: false } } };

addMutation(
  'createContract',
  {
    ...contractCommands.createContract,
    input: createContractInput,
    payload: resultOf('creating a contract', {
      contract: contractWithVehicleSchema.describe('The new contract; in a dry run, the contract as it would be.'),
      warnings: warningsSchema,
    }),
    change: createContract,
  },
  { ...dryRunDefault, payload: { warnings: { extensions: { size: MOST_WARNINGS } } } },
);

enumTypeOf(
  'ContractRejectionCode',
  contractRejectionCodeSchema,
  'The reason why a vehicle got no contract when contracts were created for several vehicles.',
  {
    VEHICLE_NOT_FOUND: 'The fleet has no vehicle with this VIN or id.',
    CONTRACT_OVERLAP: 'The vehicle already has a contract for the pack in an overlapping period.',
    ...vinErrorMeanings,
  },
);
objectTypeOf('RejectedContract', rejectedContractSchema);

addMutation(
  'createContracts',
  {
    ...contractCommands.createContracts,
    input: createContractsInput,
    payload: createdContractsSchema
      .extend({
        contracts: z.array(contractWithVehicleSchema).describe('The new contracts, in the order of the vehicles.'),
      })
      .describe('The result of creating contracts for several vehicles.'),
    change: createContracts,
  },
  { ...dryRunDefault, payload: { contracts: asManyAsNamed, rejected: asManyAsNamed, warnings: asManyAsNamed } },
);

addMutation(
  'refreshActivation',
  {
    ...contractCommands.refreshActivation,
    input: refreshActivationInput,
    payload: resultOf('asking the manufacturers about contracts again', {
      contracts: z
        .array(contractWithVehicleSchema)
        .describe('The contracts as they are now, in the order in which the request names their ids.'),
      notFound: z.array(z.string()).describe('The ids that name no contract of the company, as they were sent.'),
    }),
    change: refreshActivation,
  },
  { payload: { contracts: asManyAsNamed, notFound: { type: ['ID'] as never } } },
);

addMutation('updateContract', {
  ...contractCommands.updateContract,
  input: updateContractInput,
  payload: resultOf('changing a contract', {
    contract: contractWithVehicleSchema.describe('The contract as it is now.'),
  }),
  change: async (ctx, input) => ({ contract: await updateContract(ctx, input) }),
});

const contractChange = z
  .object({
    contract: contractWithVehicleSchema.describe('The contract, with its new state.'),
    activation: activationSchema.describe('The new state of the contract at the manufacturer.'),
  })
  .describe(
    'A change of a contract’s state at the manufacturer. With `contract { id activation { … } }`, clients that cache by ids update every view of the contract.',
  );

schemaBuilder.subscriptionField('contractChanged', (t) =>
  t.field({
    type: objectTypeOf('ContractChange', contractChange),
    description:
      'Sends each change of a contract’s state at the manufacturer, for the vehicles of one fleet or of the whole company. A slow reader gets the latest state of each contract only. It also needs the scope `contracts:read`.',
    extensions: { errors: ['FLEET_NOT_FOUND'] } satisfies OperationExtension,
    args: { fleetId: t.arg.id({ description: 'The id of the fleet whose contracts are meant.' }) },
    subscribe: (_root, { fleetId }, { ctx, closed }) => followContractChanges(ctx, { fleetId }, closed()),
    resolve: (contract: Contract) => ({ contract, activation: contract.activation }),
  }),
);
