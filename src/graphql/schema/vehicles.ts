import { z } from 'zod';
import { fleetAfterChange } from '../../core/fleets/fleets.ts';
import { addVehicles } from '../../core/vehicles/add-vehicles.ts';
import { deleteVehicle, deleteVehicles } from '../../core/vehicles/delete-vehicles.ts';
import { moveVehicles, readMovedVehicles } from '../../core/vehicles/move-vehicles.ts';
import { vehicleFilterSchema, vehicleSchema, vehicleSortOrders } from '../../core/vehicles/vehicle.ts';
import {
  addedVehiclesSchema,
  addModeSchema,
  addSummarySchema,
  addVehiclesInput,
  deletedVehicleSchema,
  deletedVehiclesSchema,
  deleteVehiclesInput,
  movedVehiclesSchema,
  moveVehiclesInput,
  rejectedVinSchema,
  rejectionCodeSchema,
  vehiclesNotFoundSchema,
} from '../../core/vehicles/vin-lists.ts';
import { schemaBuilder } from './builder.ts';
import { addListField, connectionType, listArgs } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { enumTypeOf, inputTypeOf, objectTypeOf } from './described.ts';
import type { CostExtension } from './extensions.ts';
import { FleetRef } from './fleets.ts';
import { manufacturerOverride } from './manufacturers.ts';
import { addMutation, idInputSchema } from './mutation.ts';
import { resolvePlannedField } from './planned.ts';

export const VehicleRef = objectTypeOf('Vehicle', vehicleSchema, {
  fleetId: { name: 'fleet', type: FleetRef, resolve: resolvePlannedField },
  manufacturer: manufacturerOverride,
});

const VehicleConnection = connectionType(
  'Vehicle',
  VehicleRef,
  ' All vehicles are counted without a filter, and by `eligibility` and fleets.',
);
const filter = inputTypeOf('VehicleFilter', vehicleFilterSchema, { manufacturer: { type: 'ID' } });
const vehicleArgs = listArgs('Vehicle', filter, vehicleSortOrders);
addListField('vehicles', VehicleConnection, 'Its vehicles.', { of: FleetRef, args: vehicleArgs });
addListField(
  'vehicles',
  VehicleConnection,
  'The vehicles of all fleets of the company. `filter: { eligibility: FAILED }` with `eligibility { reason { message actor } }` tells which failed, and who must do what.',
  { args: vehicleArgs },
);

const VehicleBy = schemaBuilder.inputType('VehicleBy', {
  description: 'Names one vehicle, in one of these ways.',
  isOneOf: true,
  fields: (t) => ({
    id: t.id({ description: 'By its id.' }),
    vin: t.string({ description: 'By its VIN, in any case, with or without spaces.' }),
  }),
});

schemaBuilder.queryField('vehicle', (t) =>
  t.field({
    type: VehicleRef,
    nullable: true,
    description: 'One vehicle. Errors: VEHICLE_NOT_FOUND.',
    args: { by: t.arg({ type: VehicleBy, required: true, description: 'Which one.' }) },
    resolve: resolvePlannedField,
  }),
);

enumTypeOf('AddMode', addModeSchema, 'What becomes of the good values when others are rejected.', {
  partial: 'They are stored.',
  atomic: 'Nothing is stored, and the call is rejected.',
});

objectTypeOf('AddSummary', addSummarySchema);
const RejectionCode = enumTypeOf('RejectionCode', rejectionCodeSchema, 'Why a value was rejected.', {
  VIN_INVALID_LENGTH: 'It has not 17 characters.',
  VIN_INVALID_CHARACTER: 'It has a character that no VIN has.',
  VIN_SPREADSHEET_DAMAGE: 'A spreadsheet has made a number of it.',
  VIN_FORMULA_ERROR: 'A formula without a stored value, or with an error.',
  VIN_IN_ANOTHER_FLEET: 'The company has this VIN in another fleet.',
  OTHER: 'A code of another version of the gateway; `message` says what it means, and REST shows the code itself.',
});
/** The field `code` of a rejection from core. */
export const rejectionOverrides = {
  code: {
    type: RejectionCode,
    resolve: ({ code }: { code: string }) => rejectionCodeSchema.catch('OTHER').parse(code),
  },
};
objectTypeOf('RejectedVin', rejectedVinSchema, rejectionOverrides);

const asManyAsNamed = { extensions: { size: 'input' } satisfies CostExtension };

/** The id of the changed fleet in a payload, and how it is shown there. */
export const changedFleetShape = { fleetId: vehicleSchema.shape.fleetId };
export const changedFleetOverrides = {
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
    payload: addedVehiclesSchema.extend(changedFleetShape).describe(addedVehiclesSchema.description ?? ''),
    change: async (ctx, input) => ({ ...(await addVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  { payload: { ...changedFleetOverrides, vehicles: asManyAsNamed, rejected: asManyAsNamed } },
);

addMutation(
  'deleteVehicle',
  {
    description: 'Deletes a vehicle with its contracts. Errors: VEHICLE_NOT_FOUND.',
    input: idInputSchema('The vehicle to delete.'),
    payload: z
      .object({ ...changedFleetShape, vehicle: vehicleSchema.describe('The vehicle as it was.') })
      .describe('The deleted vehicle.'),
    async change(ctx, input) {
      const deleted = await deleteVehicle(ctx, input);
      return { vehicle: deleted, fleetId: deleted.fleetId };
    },
  },
  { payload: changedFleetOverrides },
);

objectTypeOf('DeletedVehicle', deletedVehicleSchema);
objectTypeOf('VehiclesNotFound', vehiclesNotFoundSchema);

addMutation(
  'deleteVehicles',
  {
    description:
      'Deletes vehicles of a fleet with their contracts. What is not there is no error. Errors: FLEET_NOT_FOUND, NOTHING_TO_DELETE, VALIDATION_FAILED, PAYLOAD_TOO_LARGE.',
    input: deleteVehiclesInput,
    payload: deletedVehiclesSchema.extend(changedFleetShape).describe(deletedVehiclesSchema.meta()?.description ?? ''),
    change: async (ctx, input) => ({ ...(await deleteVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  { payload: { ...changedFleetOverrides, deleted: asManyAsNamed } },
);

const movedAsVehicles = {
  name: 'vehicles',
  type: [VehicleRef],
  description: 'The vehicles that are in the fleet now, also those that were there before.',
  resolve: (payload: Parameters<typeof readMovedVehicles>[1], _args: object, { ctx }: GraphqlContext) =>
    readMovedVehicles(ctx, payload),
  ...asManyAsNamed,
};
addMutation(
  'moveVehicles',
  {
    description:
      'Moves vehicles of the company to a fleet, whichever fleets they are in. Their contracts go with them, and their eligibility stays. What is not there is no error. Errors: FLEET_NOT_FOUND, NOTHING_TO_MOVE, VALIDATION_FAILED, PAYLOAD_TOO_LARGE.',
    input: moveVehiclesInput,
    payload: movedVehiclesSchema.extend(changedFleetShape).describe(movedVehiclesSchema.meta()?.description ?? ''),
    change: async (ctx, input) => ({ ...(await moveVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  { payload: { ...changedFleetOverrides, moved: movedAsVehicles } },
);
