import { z } from 'zod';
import {
  createFleetInput,
  fleetFilterSchema,
  fleetSchema,
  fleetSortOrders,
  updateFleetInput,
} from '../../core/fleets/fleet.ts';
import { createFleet, updateFleet } from '../../core/fleets/fleets.ts';
import { deleteFleet } from '../../core/operations/delete-fleets.ts';
import { addByIdField, addListField, connectionType, listArgs } from './connection.ts';
import { inputTypeOf, objectTypeOf } from './described.ts';
import { addMutation, idInputSchema } from './mutation.ts';

export const FleetRef = objectTypeOf('Fleet', fleetSchema);

const fleetArgs = listArgs('Fleet', inputTypeOf('FleetFilter', fleetFilterSchema), fleetSortOrders);
addListField('fleets', connectionType('Fleet', FleetRef), 'The fleets of the company.', { args: fleetArgs });

addByIdField('fleet', FleetRef, 'One fleet. Errors: FLEET_NOT_FOUND.');

addMutation('createFleet', {
  description: 'Creates a fleet of the company. Errors: VALIDATION_FAILED.',
  input: createFleetInput,
  payload: z.object({ fleet: fleetSchema.describe('The fleet.') }).describe('The new fleet.'),
  change: async (ctx, input) => ({ fleet: await createFleet(ctx, input) }),
});

addMutation('updateFleet', {
  description: 'Changes the named fields of a fleet. Errors: FLEET_NOT_FOUND, VALIDATION_FAILED.',
  input: updateFleetInput,
  payload: z.object({ fleet: fleetSchema.describe('The fleet as it is now.') }).describe('The changed fleet.'),
  change: async (ctx, input) => ({ fleet: await updateFleet(ctx, input) }),
});

addMutation('deleteFleet', {
  description: 'Deletes a fleet with its vehicles and their contracts. Errors: FLEET_NOT_FOUND.',
  input: idInputSchema('The fleet to delete.'),
  payload: z
    .object({ fleet: fleetSchema.describe('The fleet as it was. Its lists are empty by now, but for its `timeline`.') })
    .describe('The deleted fleet.'),
  change: async (ctx, input) => ({ fleet: await deleteFleet(ctx, input) }),
});
