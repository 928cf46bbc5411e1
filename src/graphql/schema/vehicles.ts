import { fleetAfterChange } from '../../core/fleets/fleets.ts';
import { addVehicles } from '../../core/vehicles/add-vehicles.ts';
import { deleteVehicle, deleteVehicles } from '../../core/vehicles/delete-vehicles.ts';
import { moveVehicles, readMovedVehicles } from '../../core/vehicles/move-vehicles.ts';
import {
  vehicleFilterSchema,
  vehicleSchema,
  vehicleSortOrders,
  vinWarningSchema,
} from '../../core/vehicles/vehicle.ts';
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
  vehicleCommands,
  vehiclesNotFoundSchema,
} from '../../core/vehicles/vin-lists.ts';
import { schemaBuilder } from './builder.ts';
import { addListField, addReadField, connectionType, listArgs } from './connection.ts';
import { addMutation, enumTypeOf, idInputSchema, inputTypeOf, objectTypeOf, resultOf, unknownIn } from './described.ts';
import { FleetRef } from './fleets.ts';
import { type CostExtension, type GraphqlContext, resolvePlannedField } from './graphql-context.ts';
import { manufacturerOverride } from './manufacturers.ts';
import { ReasonCodeRef } from './reason.ts';

const VinWarning = enumTypeOf('VinWarning', vinWarningSchema, 'A warning about an odd VIN, which is no error.', {
  VIN_CHECK_DIGIT: 'The check digit of the VIN is wrong, so a typing error is likely.',
  OTHER: unknownIn('An oddity of a VIN', 'REST has its code'),
});

export const VehicleRef = objectTypeOf('Vehicle', vehicleSchema, {
  fleetId: { name: 'fleet', type: FleetRef, resolve: resolvePlannedField },
  manufacturer: manufacturerOverride,
  warnings: {
    type: [VinWarning],
    resolve: ({ warnings }: { warnings: string[] }) =>
      warnings.map((one) => vinWarningSchema.catch('OTHER').parse(one)),
  },
});

const VehicleConnection = connectionType(
  'Vehicle',
  VehicleRef,
  'vehicles',
  ' It is always exact without a filter, and with `eligibility` and `fleetIds` alone.',
);
const filter = inputTypeOf('VehicleFilter', vehicleFilterSchema, {
  manufacturer: { type: 'ID' },
  reasonCode: { type: ReasonCodeRef },
});
const vehicleArgs = listArgs('Vehicle', filter, vehicleSortOrders);
addListField('vehicles', VehicleConnection, 'The vehicles in the fleet.', { of: FleetRef, args: vehicleArgs });
addListField(
  'vehicles',
  VehicleConnection,
  'Lists the vehicles of all fleets of the company. `filter: { eligibility: FAILED, actor: CUSTOMER }` gives those that failed and for which the company must act.',
  { args: vehicleArgs },
);

const VehicleBy = schemaBuilder.inputType('VehicleBy', {
  description: 'The id or the VIN of a vehicle: exactly one of the two.',
  isOneOf: true,
  fields: (t) => ({
    id: t.id({ description: 'The id of the vehicle.' }),
    vin: t.string({ description: 'The VIN of the vehicle. Case, spaces and dashes are ignored.' }),
  }),
});

addReadField('vehicle', VehicleRef, 'Returns a vehicle by its id or its VIN.', {
  nullable: true,
  extensions: { errors: ['VEHICLE_NOT_FOUND'] },
  args: schemaBuilder.args((t) => ({
    by: t.field({ type: VehicleBy, required: true, description: 'The vehicle to return, by its id or VIN.' }),
  })),
});

enumTypeOf('AddMode', addModeSchema, 'The treatment of valid VINs when others are rejected.', {
  partial: 'Valid VINs are stored even if others are rejected and reported.',
  atomic: 'Nothing is stored if any VIN is rejected: the mutation fails.',
});

/** Defaults that the schema shows. */
export const addDefaults = { mode: { defaultValue: 'partial' }, dryRun: { defaultValue: false } };

objectTypeOf('AddSummary', addSummarySchema);
export const vinErrorMeanings = {
  VIN_INVALID_LENGTH: 'The value that was sent as a VIN does not have 17 characters.',
  VIN_INVALID_CHARACTER: 'The value that was sent as a VIN has a character that no VIN can have.',
  VIN_SPREADSHEET_DAMAGE: 'A spreadsheet has turned the VIN into a number, such as 1.23E+16.',
  VIN_FORMULA_ERROR: 'The cell of the VIN is a formula without a stored value, or with an error.',
};
const RejectionCode = enumTypeOf('RejectionCode', rejectionCodeSchema, 'The reason why a VIN to add was rejected.', {
  ...vinErrorMeanings,
  VIN_IN_ANOTHER_FLEET: 'The company has a vehicle with this VIN in another fleet.',
  OTHER: unknownIn('A code', '`message` says what it means'),
});
/** The field `code` of a rejection from core. */
export const rejectionOverrides = {
  code: {
    type: RejectionCode,
    resolve: ({ code }: { code: string }) => rejectionCodeSchema.catch('OTHER').parse(code),
  },
};
objectTypeOf('RejectedVin', rejectedVinSchema, rejectionOverrides);

export const asManyAsNamed = { extensions: { size: 'input' } satisfies CostExtension };

/** The id of the changed fleet in a payload, and how it is shown there. */
export const changedFleetShape = { fleetId: vehicleSchema.shape.fleetId };
export const changedFleetOverrides = {
  fleetId: {
    name: 'fleet',
    type: FleetRef,
    nullable: true,
    description: 'The fleet after the change of its vehicles; null if it has been deleted since.',
    resolve: ({ fleetId: id }: { fleetId: string }, _args: object, { ctx }: GraphqlContext) =>
      fleetAfterChange(ctx, { id }),
  },
};

addMutation(
  'addVehicles',
  {
    ...vehicleCommands.addVehicles,
    input: addVehiclesInput,
    payload: addedVehiclesSchema.extend(changedFleetShape).describe(addedVehiclesSchema.description ?? ''),
    change: async (ctx, input) => ({ ...(await addVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  {
    input: addDefaults,
    payload: { ...changedFleetOverrides, vehicles: asManyAsNamed, rejected: asManyAsNamed },
  },
);

addMutation(
  'deleteVehicle',
  {
    ...vehicleCommands.deleteVehicle,
    input: idInputSchema('vehicle', 'The vehicle to delete.'),
    payload: resultOf('deleting a vehicle', {
      ...changedFleetShape,
      vehicle: vehicleSchema.describe('The vehicle as it was before its deletion.'),
    }),
    async change(ctx, input) {
      const deleted = await deleteVehicle(ctx, input);
      return { vehicle: deleted, fleetId: deleted.fleetId };
    },
  },
  { payload: changedFleetOverrides },
);

objectTypeOf('DeletedVehicle', deletedVehicleSchema, { id: { name: 'vehicleId' } });
objectTypeOf('VehiclesNotFound', vehiclesNotFoundSchema);

addMutation(
  'deleteVehicles',
  {
    ...vehicleCommands.deleteVehicles,
    input: deleteVehiclesInput,
    payload: deletedVehiclesSchema.extend(changedFleetShape).describe(deletedVehiclesSchema.meta()?.description ?? ''),
    change: async (ctx, input) => ({ ...(await deleteVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  { payload: { ...changedFleetOverrides, deleted: asManyAsNamed } },
);

const movedAsVehicles = {
  name: 'vehicles',
  type: [VehicleRef],
  description: 'The vehicles that the request names, which are now in the fleet, also those that were there before.',
  resolve: (payload: Parameters<typeof readMovedVehicles>[1], _args: object, { ctx }: GraphqlContext) =>
    readMovedVehicles(ctx, payload),
  ...asManyAsNamed,
};
addMutation(
  'moveVehicles',
  {
    ...vehicleCommands.moveVehicles,
    input: moveVehiclesInput,
    payload: movedVehiclesSchema.extend(changedFleetShape).describe(movedVehiclesSchema.meta()?.description ?? ''),
    change: async (ctx, input) => ({ ...(await moveVehicles(ctx, input)), fleetId: input.fleetId }),
  },
  { payload: { ...changedFleetOverrides, moved: movedAsVehicles } },
);
