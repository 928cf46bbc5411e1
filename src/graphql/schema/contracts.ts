import { z } from 'zod';
import { activationSchema, activationStateSchema } from '../../core/contracts/activation.ts';
import {
  type Contract,
  contractFilterSchema,
  contractSortOrders,
  contractStatusSchema,
  contractWithVehicleSchema,
  createContractInput,
} from '../../core/contracts/contract.ts';
import { deleteContract } from '../../core/contracts/contracts.ts';
import { createContract } from '../../core/contracts/create-contract.ts';
import {
  createContracts,
  createContractsInput,
  createdContractsSchema,
  rejectedContractSchema,
} from '../../core/contracts/create-contracts.ts';
import { refreshActivation, refreshActivationInput } from '../../core/contracts/refresh-activation.ts';
import { followContractChanges } from '../../core/following/follow-changes.ts';
import { contractSummarySchema } from '../../core/reads/company.ts';
import { schemaBuilder } from './builder.ts';
import { addByIdField, addListField, connectionType, listArgs } from './connection.ts';
import { enumTypeOf, inputTypeOf, objectTypeOf } from './described.ts';
import type { CostExtension, ScopeExtension } from './extensions.ts';
import { FleetRef } from './fleets.ts';
import { manufacturerOverride } from './manufacturers.ts';
import { addMutation, idInputSchema } from './mutation.ts';
import { resolvePlannedField } from './planned.ts';
import { VehicleRef } from './vehicles.ts';

enumTypeOf('ContractStatus', contractStatusSchema, 'Where the period of a contract stands to the present.', {
  SCHEDULED: 'It has not begun.',
  ACTIVE: 'It is in force.',
  ENDED: 'It is over.',
});

enumTypeOf('ActivationState', activationStateSchema, 'The state of a contract at the manufacturer.', {
  SCHEDULED: 'The contract has not begun.',
  PENDING: 'The manufacturer has not decided: it was asked, or is about to be.',
  ACTIVE: 'The manufacturer said that all programs of the contract are active.',
  REJECTED: 'The manufacturer decided against the contract, and is not asked again by itself.',
  FAILED: 'A fault that asking again does not mend.',
  ENDING: 'The end was asked for, and the manufacturer has not confirmed it.',
  ENDED: 'The contract is over, and the manufacturer has confirmed the end of what it had begun.',
  UNSUPPORTED: 'No provider of this gateway carries out the contract; the reason says why.',
  OFF: 'This gateway does not tell manufacturers of contracts.',
});

const ActivationRef = objectTypeOf('ContractActivation', activationSchema);
objectTypeOf('ContractSummary', contractSummarySchema);

export const ContractRef = objectTypeOf('Contract', contractWithVehicleSchema, {
  fleetId: { name: 'fleet', type: FleetRef, resolve: resolvePlannedField },
  vehicleId: { name: 'vehicle', type: VehicleRef, description: 'The vehicle.', resolve: resolvePlannedField },
  manufacturer: manufacturerOverride,
});

const ContractConnection = connectionType('Contract', ContractRef);
const args = listArgs('Contract', inputTypeOf('ContractFilter', contractFilterSchema), contractSortOrders);
const reading = { extensions: { scope: 'contracts:read' } satisfies ScopeExtension };
addListField('contracts', ContractConnection, 'The contracts of the company.', { args, ...reading });
addListField('contracts', ContractConnection, 'The contracts of its vehicles.', { of: FleetRef, args });
addListField('contracts', ContractConnection, 'Its contracts.', { of: VehicleRef, args });

addByIdField('contract', ContractRef, 'One contract. Errors: CONTRACT_NOT_FOUND.', reading);

const asManyAsNamed = { extensions: { size: 'input' } satisfies CostExtension };
const extensions = { scope: 'contracts:write' } satisfies ScopeExtension;

addMutation('createContract', {
  description:
    'Ties a vehicle to a pack for a period. Errors: FLEET_NOT_FOUND, VEHICLE_NOT_FOUND (not in that fleet), CONTRACT_OVERLAP (with `extensions.conflicts`, ids of contracts), VALIDATION_FAILED.',
  input: createContractInput,
  payload: z.object({ contract: contractWithVehicleSchema.describe('The contract.') }).describe('The new contract.'),
  extensions,
  change: async (ctx, input) => ({ contract: await createContract(ctx, input) }),
});

objectTypeOf('RejectedContract', rejectedContractSchema);

addMutation(
  'createContracts',
  {
    description:
      'Creates a contract of the same terms for each of up to 1,000 vehicles of a fleet. Vehicles that cannot have one are in `rejected`; if all are, the call fails. Errors: FLEET_NOT_FOUND, VALIDATION_FAILED, PAYLOAD_TOO_LARGE.',
    input: createContractsInput,
    payload: createdContractsSchema
      .extend({
        contracts: z.array(contractWithVehicleSchema).describe('The new contracts, in the order of the vehicles.'),
      })
      .describe('The new contracts, and the vehicles that were refused.'),
    extensions,
    change: createContracts,
  },
  { payload: { contracts: asManyAsNamed, rejected: asManyAsNamed } },
);

addMutation(
  'refreshActivation',
  {
    description:
      'Has manufacturers asked again about contracts, in the background. Those that are active there, over or not yet begun stay as they are. Errors: VALIDATION_FAILED, PAYLOAD_TOO_LARGE.',
    input: refreshActivationInput,
    payload: z
      .object({
        contracts: z.array(contractWithVehicleSchema).describe('The contracts as they stand, in the order of the ids.'),
        notFound: z.array(z.string()).describe('The ids of no contract of the company, as they were sent.'),
      })
      .describe('The contracts that manufacturers are asked about.'),
    extensions,
    change: refreshActivation,
  },
  { payload: { contracts: asManyAsNamed, notFound: { type: ['ID'] as never } } },
);

addMutation('deleteContract', {
  description: 'Deletes a contract. Errors: CONTRACT_NOT_FOUND.',
  input: idInputSchema('The contract to delete.'),
  payload: z
    .object({ contract: contractWithVehicleSchema.describe('The contract as it was.') })
    .describe('The deleted contract.'),
  extensions,
  change: async (ctx, input) => ({ contract: await deleteContract(ctx, input) }),
});

const ContractChange = schemaBuilder.objectRef<Contract>('ContractChange').implement({
  description:
    'A new state of a contract at the manufacturer. Select `contract { id activation { … } }`, and a cache that goes by ids shows the state wherever the contract is shown.',
  fields: (t) => ({
    contract: t.field({
      type: ContractRef,
      description: 'The contract, with the new state in it.',
      resolve: (contract) => contract,
    }),
    activation: t.expose('activation', { type: ActivationRef, description: 'The new state.' }),
  }),
});

schemaBuilder.subscriptionField('contractChanged', (t) =>
  t.field({
    type: ContractChange,
    description:
      'Each new state at the manufacturer of a contract for a vehicle of the fleet, or of any fleet of the company. Slow readers get the latest state of each contract. Errors: FLEET_NOT_FOUND.',
    args: { fleetId: t.arg.id({ description: 'Only contracts for vehicles of this fleet.' }) },
    subscribe: (_root, { fleetId }, { ctx, closed }) => followContractChanges(ctx, { fleetId }, closed()),
    resolve: (contract) => contract,
  }),
);
