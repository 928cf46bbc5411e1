import { readPage } from '../../core/sql/page.ts';
import {
  type AddedVehicles,
  addVehicles,
  addVehiclesInput,
  type RejectedVin,
  type Summary,
} from '../../core/vehicles/add-vehicles.ts';
import {
  type DeletedVehicles,
  deleteVehicle,
  deleteVehicles,
  deleteVehiclesInput,
} from '../../core/vehicles/delete-vehicles.ts';
import { everyVehicleMember, getVehicle, type Vehicle, vehicleFilter } from '../../core/vehicles/vehicles.ts';
import type { Cost } from '../execution/cost.ts';
import { builder } from './builder.ts';
import { connect, connectionType, pageArgs } from './connection.ts';
import { ContractConnection, ContractFilter } from './contracts.ts';
import { EligibilityRef, EligibilityStatusType } from './eligibility.ts';
import { FleetRef } from './fleets.ts';
import { ManufacturerRef, manufacturerOf } from './manufacturers.ts';
import { mutate } from './mutation.ts';
import { judgedBy } from './validation.ts';

export const VehicleRef = builder.objectRef<Vehicle>('Vehicle');

builder.objectType(VehicleRef, {
  description: 'A vehicle of a fleet. A VIN stands once per company.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUID; the same as in REST.' }),
    fleet: t.field({
      type: FleetRef,
      description: 'The fleet it belongs to.',
      resolve: ({ fleetId }, _args, { loaders }) => loaders.fleet(fleetId),
    }),
    vin: t.exposeString('vin', { description: 'The vehicle identification number: 17 characters, upper case.' }),
    manufacturer: t.field({
      type: ManufacturerRef,
      nullable: true,
      description: 'Its maker; null when the VIN does not tell.',
      resolve: ({ manufacturer }, _args, { ctx }) => manufacturerOf(ctx, manufacturer),
    }),
    eligibility: t.expose('eligibility', { type: EligibilityRef, description: 'What its manufacturer says of it.' }),
    warnings: t.exposeStringList('warnings', {
      description: 'Codes of what is odd but no fault, such as `VIN_CHECK_DIGIT`.',
    }),
    contracts: t.field({
      type: ContractConnection,
      description: 'Its contracts, oldest first.',
      args: {
        ...pageArgs,
        filter: t.arg({ type: ContractFilter, description: 'Only contracts that fit all of this.' }),
      },
      resolve: ({ id }, { filter, ...args }, { loaders }) =>
        connect(
          readPage(args),
          (page) => loaders.contracts(id, { parent: 'vehicle', page, filter }),
          () => loaders.countContracts(id, { parent: 'vehicle', filter }),
        ),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was added.' }),
  }),
});

export const VehicleConnection = connectionType('Vehicle', VehicleRef);

/** What core has to read for the fields above. */
export const vehicleNeeds = { every: everyVehicleMember, also: { fleet: { fleetId: true } } } as const;

export const VehicleFilter = builder.inputType('VehicleFilter', {
  description: 'Which vehicles: those that fit everything that is given.',
  validate: judgedBy(vehicleFilter),
  fields: (t) => ({
    eligibility: t.field({ type: EligibilityStatusType, description: 'With this status.' }),
    manufacturer: t.id({ description: 'Of this maker: a slug.' }),
    vinStartsWith: t.string({ description: 'Whose VIN begins like this, in any case.' }),
  }),
});

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
    resolve: (_root, { by }, { ctx }) => getVehicle(ctx, by.id == null ? { vin: by.vin ?? '' } : { id: by.id }),
  }),
);

export const AddMode = builder.enumType('AddMode', {
  description: 'What becomes of the good values when others are refused.',
  values: {
    PARTIAL: { value: 'partial', description: 'They are stored.' },
    ATOMIC: { value: 'atomic', description: 'Nothing is stored, and the call is refused.' },
  },
});

export const AddSummary = builder.objectRef<Summary>('AddSummary').implement({
  description: 'What became of the values, in numbers.',
  fields: (t) => ({
    received: t.exposeInt('received', { description: 'All values.' }),
    created: t.exposeInt('created', { description: 'New vehicles; in a dry run those that would be.' }),
    existing: t.exposeInt('existing', {
      description: 'Values whose vehicle the fleet already had, or that came twice.',
    }),
    rejected: t.exposeInt('rejected', { description: 'Values that were refused.' }),
  }),
});

const RejectedVinType = builder.objectRef<RejectedVin>('RejectedVin').implement({
  description: 'A value that was refused.',
  fields: (t) => ({
    index: t.exposeInt('index', { description: 'Its place in `vins`, from 0.' }),
    value: t.exposeString('value', { description: 'The value as it came.' }),
    code: t.exposeString('code', { description: 'A stable code, such as `VIN_INVALID_LENGTH`.' }),
    message: t.exposeString('message', { description: 'What is wrong, for people.' }),
  }),
});

const AddVehiclesInput = builder.inputType('AddVehiclesInput', {
  description: 'Vehicles to add to a fleet.',
  fields: (t) => ({
    fleetId: t.id({ required: true, description: 'The fleet.' }),
    vins: t.stringList({ required: true, description: 'VINs as people write them: at most 10,000 by default.' }),
    mode: t.field({ type: AddMode, description: 'By default PARTIAL.' }),
    dryRun: t.boolean({ description: 'True: say what would happen, and store nothing. By default false.' }),
  }),
});

const AddVehiclesPayload = builder.objectRef<AddedVehicles>('AddVehiclesPayload').implement({
  description: 'What became of the VINs.',
  fields: (t) => ({
    summary: t.expose('summary', { type: AddSummary, description: 'In numbers.' }),
    vehicles: t.expose('vehicles', {
      type: [VehicleRef],
      description: 'The vehicles of the fleet that `vins` names, in its order: new ones and those it had before.',
      extensions: { size: 'input' } satisfies Cost,
    }),
    rejected: t.expose('rejected', {
      type: [RejectedVinType],
      description: 'The values that were refused.',
      extensions: { size: 'input' } satisfies Cost,
    }),
  }),
});

builder.mutationField('addVehicles', (t) =>
  t.field({
    type: AddVehiclesPayload,
    nullable: true,
    description:
      'Adds vehicles to a fleet; they are verified at once, in the background. Refused when every value is wrong, or any in mode ATOMIC. Errors: FLEET_NOT_FOUND, VALIDATION_FAILED, PAYLOAD_TOO_LARGE.',
    args: {
      input: t.arg({
        type: AddVehiclesInput,
        required: true,
        description: 'Which vehicles, and to which fleet.',
        validate: judgedBy(addVehiclesInput),
      }),
    },
    resolve: mutate(addVehicles),
  }),
);

const DeleteVehicleInput = builder.inputType('DeleteVehicleInput', {
  description: 'The vehicle to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Its id.' }) }),
});

const DeleteVehiclePayload = builder.objectRef<{ vehicle: Vehicle }>('DeleteVehiclePayload').implement({
  description: 'The deleted vehicle.',
  fields: (t) => ({ vehicle: t.expose('vehicle', { type: VehicleRef, description: 'The vehicle as it was.' }) }),
});

builder.mutationField('deleteVehicle', (t) =>
  t.field({
    type: DeleteVehiclePayload,
    nullable: true,
    description: 'Deletes a vehicle with its contracts. Errors: VEHICLE_NOT_FOUND.',
    args: { input: t.arg({ type: DeleteVehicleInput, required: true, description: 'Which one.' }) },
    resolve: mutate(async (ctx, input) => ({ vehicle: await deleteVehicle(ctx, input) })),
  }),
);

const DeleteVehiclesInput = builder.inputType('DeleteVehiclesInput', {
  description: 'The vehicles of a fleet to delete: those that `ids` or `vins` name. One of the two suffices.',
  fields: (t) => ({
    fleetId: t.id({ required: true, description: 'The fleet; vehicles of others are left alone.' }),
    ids: t.idList({ description: 'Ids of vehicles.' }),
    vins: t.stringList({ description: 'VINs of vehicles, as people write them.' }),
  }),
});

const DeletedVehicle = builder.objectRef<DeletedVehicles['deleted'][number]>('DeletedVehicle').implement({
  description: 'A vehicle that is no more.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id it had.' }),
    vin: t.exposeString('vin', { description: 'Its VIN.' }),
  }),
});

const VehiclesNotFound = builder.objectRef<DeletedVehicles['notFound']>('VehiclesNotFound').implement({
  description: 'What was named and is not in the fleet, as it was named.',
  fields: (t) => ({
    ids: t.exposeIDList('ids', { description: 'Ids.' }),
    vins: t.exposeStringList('vins', { description: 'VINs.' }),
  }),
});

const DeleteVehiclesPayload = builder.objectRef<DeletedVehicles>('DeleteVehiclesPayload').implement({
  description: 'What was deleted, and what was not there.',
  fields: (t) => ({
    deleted: t.expose('deleted', {
      type: [DeletedVehicle],
      description: 'The deleted vehicles.',
      extensions: { size: 'input' } satisfies Cost,
    }),
    notFound: t.expose('notFound', { type: VehiclesNotFound, description: 'What the fleet did not have.' }),
  }),
});

builder.mutationField('deleteVehicles', (t) =>
  t.field({
    type: DeleteVehiclesPayload,
    nullable: true,
    description:
      'Deletes vehicles of a fleet with their contracts. What is not there is no error. Errors: FLEET_NOT_FOUND, NOTHING_TO_DELETE, VALIDATION_FAILED.',
    args: {
      input: t.arg({
        type: DeleteVehiclesInput,
        required: true,
        description: 'Which ones, of which fleet.',
        validate: judgedBy(deleteVehiclesInput),
      }),
    },
    resolve: mutate(deleteVehicles),
  }),
);
