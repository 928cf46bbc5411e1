import { z } from 'zod';
import {
  contract,
  contractFilter,
  contractOrders,
  contractStatus,
  contractWithVehicle,
  createContractInput,
} from '../../core/contracts/contract.ts';
import { deleteContract } from '../../core/contracts/contracts.ts';
import { createContract } from '../../core/contracts/create-contract.ts';
import { descriptionOf } from '../../core/fields.ts';
import type { Needs } from '../execution/context.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { addById, connectionType, pageArgs } from './connection.ts';
import { enumOf, inputOf, objectOf } from './described.ts';
import { FleetRef } from './fleet-type.ts';
import { addManufacturer } from './manufacturers.ts';
import { addMutation, idOf } from './mutation.ts';
import { orderDescription, orderOf } from './scalars.ts';
import { VehicleRef } from './vehicles.ts';

enumOf('ContractStatus', contractStatus, 'Where the period of a contract stands to the present.', {
  SCHEDULED: 'It has not begun.',
  ACTIVE: 'It is in force.',
  ENDED: 'It is over.',
});

export const ContractRef = objectOf('Contract', contractWithVehicle, {
  fleetId: false,
  vehicleId: false,
  manufacturer: false,
});

builder.objectFields(ContractRef, (t) => ({
  fleet: t.field({
    type: FleetRef,
    description: descriptionOf(contract.shape.fleetId),
    resolve: read,
  }),
  vehicle: t.field({
    type: VehicleRef,
    description: 'The vehicle.',
    resolve: read,
  }),
}));

addManufacturer(ContractRef, contract);

const ContractConnection = connectionType('Contract', ContractRef);

const ContractFilter = inputOf('ContractFilter', contractFilter);

const ContractOrder = orderOf('ContractOrder', contractOrders, 'contracts');

const contractArgs = builder.args((t) => ({
  ...pageArgs,
  filter: t.field({ type: ContractFilter, description: 'Only contracts that fit all of this.' }),
  orderBy: t.field({ type: ContractOrder, description: orderDescription }),
}));

/** The contracts of one thing, as a field of it. */
function addContracts(ref: typeof FleetRef | typeof VehicleRef, description: string) {
  builder.objectField(ref as typeof FleetRef, 'contracts', (t) =>
    t.field({ type: ContractConnection, description, args: contractArgs, resolve: read }),
  );
}

addContracts(FleetRef, 'The contracts of its vehicles.');
addContracts(VehicleRef, 'Its contracts.');

const readsContracts = { scope: 'contracts:read' } satisfies Needs;

builder.queryField('contracts', (t) =>
  t.field({
    type: ContractConnection,
    description: 'The contracts of the company.',
    args: contractArgs,
    extensions: readsContracts,
    resolve: read,
  }),
);

addById('contract', ContractRef, 'One contract. Errors: CONTRACT_NOT_FOUND.', readsContracts);

const extensions = { scope: 'contracts:write' } satisfies Needs;

addMutation('createContract', {
  description:
    'Ties a vehicle to a pack for a period. Errors: FLEET_NOT_FOUND, VEHICLE_NOT_FOUND (not in that fleet), CONTRACT_OVERLAP (with `extensions.conflicts`, ids of contracts), VALIDATION_FAILED.',
  input: createContractInput,
  payload: z.object({ contract: contractWithVehicle.describe('The contract.') }).describe('The new contract.'),
  extensions,
  change: async (ctx, input) => ({ contract: await createContract(ctx, input) }),
});

addMutation('deleteContract', {
  description: 'Deletes a contract. Errors: CONTRACT_NOT_FOUND.',
  input: idOf('The contract to delete.'),
  payload: z
    .object({ contract: contractWithVehicle.describe('The contract as it was.') })
    .describe('The deleted contract.'),
  extensions,
  change: async (ctx, input) => ({ contract: await deleteContract(ctx, input) }),
});
