import { z } from 'zod';

import { createFleetInput, fleet, fleetFilter, fleetOrders, updateFleetInput } from '../../core/fleets/fleet.ts';
import { createFleet, updateFleet } from '../../core/fleets/fleets.ts';
import { deleteFleet } from '../../core/operations/delete-fleets.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { addById, connectionType, pageArgs } from './connection.ts';
import { inputOf } from './described.ts';
import { EligibilitySummary } from './eligibility.ts';
import { FleetRef } from './fleet-type.ts';
import { addMutation, idOf } from './mutation.ts';
import { orderDescription, orderOf } from './scalars.ts';
import { VehicleConnection, VehicleFilter, VehicleOrder } from './vehicles.ts';

builder.objectFields(FleetRef, (t) => ({
  vehicles: t.field({
    type: VehicleConnection,
    description: 'Its vehicles.',
    args: {
      ...pageArgs,
      filter: t.arg({ type: VehicleFilter, description: 'Only vehicles that fit all of this.' }),
      orderBy: t.arg({ type: VehicleOrder, description: orderDescription }),
    },
    resolve: read,
  }),
  eligibilitySummary: t.field({
    type: EligibilitySummary,
    description: 'How many of its vehicles have each status.',
    resolve: read,
  }),
}));

const FleetConnection = connectionType('Fleet', FleetRef);

const FleetFilter = inputOf('FleetFilter', fleetFilter);
const FleetOrder = orderOf('FleetOrder', fleetOrders, 'fleets');

builder.queryField('fleets', (t) =>
  t.field({
    type: FleetConnection,
    description: 'The fleets of the company.',
    args: {
      ...pageArgs,
      filter: t.arg({ type: FleetFilter, description: 'Only fleets that fit all of this.' }),
      orderBy: t.arg({ type: FleetOrder, description: orderDescription }),
    },
    resolve: read,
  }),
);

addById('fleet', FleetRef, 'One fleet. Errors: FLEET_NOT_FOUND.');

addMutation('createFleet', {
  description: 'Creates a fleet of the company. Errors: VALIDATION_FAILED.',
  input: createFleetInput,
  payload: z.object({ fleet: fleet.describe('The fleet.') }).describe('The new fleet.'),
  change: async (ctx, input) => ({ fleet: await createFleet(ctx, input) }),
});

addMutation('updateFleet', {
  description: 'Changes the named fields of a fleet. Errors: FLEET_NOT_FOUND, VALIDATION_FAILED.',
  input: updateFleetInput,
  payload: z.object({ fleet: fleet.describe('The fleet as it is now.') }).describe('The changed fleet.'),
  change: async (ctx, input) => ({ fleet: await updateFleet(ctx, input) }),
});

addMutation('deleteFleet', {
  description: 'Deletes a fleet with its vehicles and their contracts. Errors: FLEET_NOT_FOUND.',
  input: idOf('The fleet to delete.'),
  payload: z
    .object({ fleet: fleet.describe('The fleet as it was. Its lists are empty by now, but for its `timeline`.') })
    .describe('The deleted fleet.'),
  change: async (ctx, input) => ({ fleet: await deleteFleet(ctx, input) }),
});
