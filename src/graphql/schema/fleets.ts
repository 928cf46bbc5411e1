import {
  createFleetInput,
  fleetCommands,
  fleetFilterSchema,
  fleetSchema,
  fleetSortOrders,
  updateFleetInput,
} from '../../core/fleets/fleet.ts';
import { createFleet, updateFleet } from '../../core/fleets/fleets.ts';
import { deleteFleet } from '../../core/operations/delete-fleets.ts';
import { addByIdField, addListField, connectionType, listArgs } from './connection.ts';
import { addMutation, idInputSchema, inputTypeOf, objectTypeOf, resultOf } from './described.ts';

export const FleetRef = objectTypeOf('Fleet', fleetSchema);

const fleetArgs = listArgs('Fleet', inputTypeOf('FleetFilter', fleetFilterSchema), fleetSortOrders);
addListField('fleets', connectionType('Fleet', FleetRef, 'fleets'), 'Lists the fleets of the company.', {
  args: fleetArgs,
});

addByIdField('fleet', FleetRef, 'Returns a fleet by its id.', { errors: ['FLEET_NOT_FOUND'] });

addMutation('createFleet', {
  ...fleetCommands.createFleet,
  input: createFleetInput,
  payload: resultOf('creating a fleet', { fleet: fleetSchema.describe('The new fleet.') }),
  change: async (ctx, input) => ({ fleet: await createFleet(ctx, input) }),
});

addMutation('updateFleet', {
  ...fleetCommands.updateFleet,
  input: updateFleetInput,
  payload: resultOf('changing a fleet', { fleet: fleetSchema.describe('The fleet after the change.') }),
  change: async (ctx, input) => ({ fleet: await updateFleet(ctx, input) }),
});

addMutation('deleteFleet', {
  ...fleetCommands.deleteFleet,
  input: idInputSchema('fleet', 'The fleet to delete.'),
  payload: resultOf('deleting a fleet', {
    fleet: fleetSchema.describe(
      'The fleet as it was before its deletion. Its lists are now empty, except its `timeline`.',
    ),
  }),
  change: async (ctx, input) => ({ fleet: await deleteFleet(ctx, input) }),
});
