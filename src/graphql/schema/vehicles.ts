import { z } from 'zod';
import { fleetAfterChange } from '../../core/fleets/fleets.ts';
import { addVehicles } from '../../core/vehicles/add-vehicles.ts';
import { deleteVehicle, deleteVehicles } from '../../core/vehicles/delete-vehicles.ts';
import { moveVehicles, readMoved } from '../../core/vehicles/move-vehicles.ts';
import { vehicle, vehicleFilter, vehicleOrders } from '../../core/vehicles/vehicle.ts';
import {
  addedVehicles,
  addMode,
  addVehiclesInput,
  deletedVehicle,
  deletedVehicles,
  deleteVehiclesInput,
  movedVehicles,
  moveVehiclesInput,
  rejectedVin,
  rejectionCode,
  summary,
  vehiclesNotFound,
} from '../../core/vehicles/vin-lists.ts';
import type { GraphqlContext } from '../execution/context.ts';
import type { Cost } from '../execution/cost.ts';
import { read } from '../execution/reads.ts';
import { builder } from './builder.ts';
import { addList, connectionType, listArgs } from './connection.ts';
import { enumOf, inputOf, objectOf } from './described.ts';
import { FleetRef } from './fleets.ts';
import { manufacturerBySlug } from './manufacturers.ts';
import { addMutation, idOf } from './mutation.ts';

export const VehicleRef = objectOf('Vehicle', vehicle, {
  fleetId: { name: 'fleet', type: FleetRef, resolve: read },
  manufacturer: manufacturerBySlug,
});

const VehicleConnection = connectionType('Vehicle', VehicleRef);
const filter = inputOf('VehicleFilter', vehicleFilter, { manufacturer: { type: 'ID' } });
const vehicleArgs = listArgs('Vehicle', filter, vehicleOrders);
addList('vehicles', VehicleConnection, 'Its vehicles.', { of: FleetRef, args: vehicleArgs });
addList(
  'vehicles',
  VehicleConnection,
  'The vehicles of all fleets of the company. `filter: { eligibility: FAILED }` with `eligibility { reason { message actor } }` tells which failed, and who must do what.',
  { args: vehicleArgs },
);

const VehicleBy = builder.inputType('VehicleBy', {
  description: 'Names one vehicle, in one of these ways.',
  isOneOf: true,
  fields: (t) => ({
    id: t.id({ description: 'By its id.' }),
    vin: t.string({ description: 'By its VIN, in any case, with or without spaces.' }),
  }),
});

builder.queryField('vehicle', (t) =>
  t.field({
    type: VehicleRef,
    nullable: true,
    description: 'One vehicle. Errors: VEHICLE_NOT_FOUND.',
    args: { by: t.arg({ type: VehicleBy, required: true, description: 'Which one.' }) },
    resolve: read,
  }),
);

enumOf('AddMode', addMode, 'What becomes of the good values when others are rejected.', {
  partial: 'They are stored.',
  atomic: 'Nothing is stored, and the call is rejected.',
});

objectOf('AddSummary', summary);
const RejectionCode = enumOf('RejectionCode', rejectionCode, 'Why a value was rejected.', {
  VIN_INVALID_LENGTH: 'It has not 17 characters.',
  VIN_INVALID_CHARACTER: 'It has a character that no VIN has.',
  VIN_SPREADSHEET_DAMAGE: 'A spreadsheet has made a number of it.',
  VIN_FORMULA_ERROR: 'A formula without a stored value, or with an error.',
  VIN_IN_ANOTHER_FLEET: 'The company has this VIN in another fleet.',
  OTHER: 'A code of another version of the gateway; `message` says what it means, and REST shows the code itself.',
});
/** The field `code` of a rejection from core. */
export const rejection = {
  code: { type: RejectionCode, resolve: ({ code }: { code: string }) => rejectionCode.catch('OTHER').parse(code) },
};
objectOf('RejectedVin', rejectedVin, rejection);

const asManyAsNamed = { extensions: { size: 'input' } satisfies Cost };

/** The id of the changed fleet in a payload, and how it is shown there. */
export const changedFleet = { fleetId: vehicle.shape.fleetId };
export const fleetAsChanged = {
  fleetId: {
    name: 'fleet',
    type: FleetRef,
    nullable: true,
    description: 'The fleet as it is now; null if somebody has deleted it since.',
    resolve: ({ fleetId: id }: { fleetId: string }, _args: object, { ctx }: GraphqlContext) =>
      fleetAfterChange(ctx, { id }),
  },
};

addMutation(
  'addVehicles',
  {
    description:
      'Adds vehicles to a fleet; they are verified at once, in the background. Rejected when every value is wrong, or any in mode ATOMIC. Errors: FLEET_NOT_FOUND, VALIDATION_FAILED, PAYLOAD_TOO_LARGE.',
    input: addVehiclesInput,
    payload: addedVehicles.extend(changedFleet).describe(addedVehicles.description ?? ''),
    change: async (ctx, input) => ({ ...(await addVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  { payload: { ...fleetAsChanged, vehicles: asManyAsNamed, rejected: asManyAsNamed } },
);

addMutation(
  'deleteVehicle',
  {
    description: 'Deletes a vehicle with its contracts. Errors: VEHICLE_NOT_FOUND.',
    input: idOf('The vehicle to delete.'),
    payload: z
      .object({ ...changedFleet, vehicle: vehicle.describe('The vehicle as it was.') })
      .describe('The deleted vehicle.'),
    async change(ctx, input) {
      const deleted = await deleteVehicle(ctx, input);
      return { vehicle: deleted, fleetId: deleted.fleetId };
    },
  },
  { payload: fleetAsChanged },
);

objectOf('DeletedVehicle', deletedVehicle);
objectOf('VehiclesNotFound', vehiclesNotFound);

addMutation(
  'deleteVehicles',
  {
    description:
      'Deletes vehicles of a fleet with their contracts. What is not there is no error. Errors: FLEET_NOT_FOUND, NOTHING_TO_DELETE, VALIDATION_FAILED, PAYLOAD_TOO_LARGE.',
    input: deleteVehiclesInput,
    payload: deletedVehicles.extend(changedFleet).describe(deletedVehicles.meta()?.description ?? ''),
    change: async (ctx, input) => ({ ...(await deleteVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  { payload: { ...fleetAsChanged, deleted: asManyAsNamed } },
);

const movedAsVehicles = {
  name: 'vehicles',
  type: [VehicleRef],
  description: 'The vehicles that are in the fleet now, also those that were there before.',
  resolve: (payload: Parameters<typeof readMoved>[1], _args: object, { ctx }: GraphqlContext) =>
    readMoved(ctx, payload),
  ...asManyAsNamed,
};
addMutation(
  'moveVehicles',
  {
    description:
      'Moves vehicles of the company to a fleet, whichever fleets they are in. Their contracts go with them, and their eligibility stays. What is not there is no error. Errors: FLEET_NOT_FOUND, NOTHING_TO_MOVE, VALIDATION_FAILED, PAYLOAD_TOO_LARGE.',
    input: moveVehiclesInput,
    payload: movedVehicles.extend(changedFleet).describe(movedVehicles.meta()?.description ?? ''),
    change: async (ctx, input) => ({ ...(await moveVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  { payload: { ...fleetAsChanged, moved: movedAsVehicles } },
);
