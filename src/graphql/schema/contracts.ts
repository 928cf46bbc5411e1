import { z } from 'zod';
import {
  contractFilter,
  contractOrders,
  contractStatus,
  contractWithVehicle,
  createContractInput,
} from '../../core/contracts/contract.ts';
import { deleteContract } from '../../core/contracts/contracts.ts';
import { createContract } from '../../core/contracts/create-contract.ts';
import type { Needs } from '../execution/context.ts';
import { read } from '../execution/reads.ts';
import { addById, addList, connectionType, listArgs } from './connection.ts';
import { enumOf, inputOf, objectOf } from './described.ts';
import { FleetRef } from './fleets.ts';
import { manufacturerBySlug } from './manufacturers.ts';
import { addMutation, idOf } from './mutation.ts';
import { VehicleRef } from './vehicles.ts';

enumOf('ContractStatus', contractStatus, 'Where the period of a contract stands to the present.', {
  SCHEDULED: 'It has not begun.',
  ACTIVE: 'It is in force.',
  ENDED: 'It is over.',
});

export const ContractRef = objectOf('Contract', contractWithVehicle, {
  fleetId: { name: 'fleet', type: FleetRef, resolve: read },
  vehicleId: { name: 'vehicle', type: VehicleRef, description: 'The vehicle.', resolve: read },
  manufacturer: manufacturerBySlug,
});

const ContractConnection = connectionType('Contract', ContractRef);
const args = listArgs('Contract', inputOf('ContractFilter', contractFilter), contractOrders);
const reading = { extensions: { scope: 'contracts:read' } satisfies Needs };
addList('contracts', ContractConnection, 'The contracts of the company.', { args, ...reading });
addList('contracts', ContractConnection, 'The contracts of its vehicles.', { of: FleetRef, args });
addList('contracts', ContractConnection, 'Its contracts.', { of: VehicleRef, args });

addById('contract', ContractRef, 'One contract. Errors: CONTRACT_NOT_FOUND.', reading);

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
