import { z } from 'zod';
import { copierOf } from '../core/sql/selection.ts';
import { addVehicles, refuseIfAllRejected } from '../core/vehicles/add-vehicles.ts';
import { deleteVehicle, deleteVehicles } from '../core/vehicles/delete-vehicles.ts';
import { moveVehicles } from '../core/vehicles/move-vehicles.ts';
import type { VehicleFilter } from '../core/vehicles/vehicle.ts';
import { getVehicle, listAllVehicles, listVehicles } from '../core/vehicles/vehicles.ts';
import {
  addedVehiclesSchema,
  addVehiclesInput,
  deletedVehiclesSchema,
  deleteVehiclesInput,
  movedVehiclesSchema,
  moveVehiclesInput,
  vehicleCommands,
} from '../core/vehicles/vin-lists.ts';
import { readAddQuery, requireNoAddQuery } from './add-query.ts';
import { vehicleJson, vehiclesAnswer, vehiclesDocs } from './export.ts';
import { readQuery } from './list.ts';
import { inRest, membersOf, type Operation, operations } from './route.ts';

const addedJson = addedVehiclesSchema
  .extend({ vehicles: z.array(vehicleJson).meta(addedVehiclesSchema.shape.vehicles.meta() ?? {}) })
  .meta({ ...addedVehiclesSchema.meta(), id: 'AddedVehicles' });

const deletion = {
  ...vehicleCommands.deleteVehicles,
  body: deleteVehiclesInput,
  answers: {
    200: {
      description: 'The vehicles that were deleted, and the ids and VINs that were not found.',
      schema: deletedVehiclesSchema,
    },
  },
  result: (ctx, { body }) => deleteVehicles(ctx, body),
} satisfies Partial<Operation>;

const filters = [
  ...(['vehicleEligibility', 'vehicleManufacturer', 'vehicleVin'] as const),
  ...(['reasonCode', 'reasonActor', 'verifiedBefore', 'verifiedAfter'] as const),
];

const copyAdded = copierOf(addedJson);

const { get: getOfFleet } = operations('Vehicles', { missing: 'FLEET_NOT_FOUND' });
const { get, post, remove } = operations('Vehicles', { resource: vehicleJson, missing: 'VEHICLE_NOT_FOUND' });

export const vehicleRoutes = [
  getOfFleet('/fleets/:fleetId/vehicles', 'listVehicles', {
    summary: 'List the vehicles of a fleet',
    description: 'Lists the vehicles in a fleet that meet all conditions, oldest first unless `sort` says otherwise.',
    query: [...filters, 'sortVehicles', 'limit', 'after'],
    answers: { 200: vehiclesDocs },
    answer(ctx, request) {
      const { fleetId } = request.params;
      const filter = readQuery(request);
      return vehiclesAnswer(request, (write, page) => listVehicles(ctx, write, { fleetId, page, filter }));
    },
  }),
  get('/vehicles', 'listAllVehicles', {
    summary: 'List the vehicles of all fleets',
    description:
      'Lists the vehicles of the company that meet all conditions, oldest first unless `sort` says otherwise. ' +
      '`?eligibility=FAILED&actor=CUSTOMER` gives those that failed and for which the company must act.',
    query: [...filters, 'vehicleFleetId', 'sortVehicles', 'limit', 'after'],
    answers: { 200: vehiclesDocs },
    errors: ['PAYLOAD_TOO_LARGE'],
    answer(ctx, request) {
      const { fleetId: fleetIds, ...others } = readQuery(request);
      const filter = { ...others, fleetIds } as VehicleFilter;
      return vehiclesAnswer(request, (writer, page) => listAllVehicles(ctx, writer, { page, filter }));
    },
  }),
  post('/vehicles', 'addVehicles', {
    summary: 'Add vehicles to a fleet',
    ...inRest(vehicleCommands.addVehicles, 'If all are rejected, the answer is 400 with the same report.'),
    query: ['mode', 'dryRun'],
    body: addVehiclesInput.omit({ mode: true, dryRun: true }),
    answers: {
      200: { description: 'The report of a dry run of adding vehicles, which stored nothing.', schema: addedJson },
      201: { description: 'The report on the VINs, with the vehicles.', schema: addedJson },
    },
    async answer(ctx, request) {
      const { mode, dryRun } = readAddQuery(request.query);
      requireNoAddQuery(Object.keys(membersOf(request)));
      const added = await addVehicles(ctx, { ...membersOf(request), mode, dryRun });
      if (!dryRun) refuseIfAllRejected(added);
      return { status: dryRun ? 200 : 201, body: copyAdded(added) };
    },
  }),
  remove('/vehicles', 'deleteVehicles', {
    ...deletion,
    summary: 'Delete several vehicles',
  }),
  post('/vehicles/delete', 'deleteVehiclesByPost', {
    ...deletion,
    summary: 'Delete several vehicles, by POST',
    description:
      'Deletes several vehicles like `DELETE /vehicles`, for clients whose proxies drop the body of a DELETE.',
  }),
  post('/vehicles/move', 'moveVehicles', {
    summary: 'Move vehicles to another fleet',
    ...vehicleCommands.moveVehicles,
    body: moveVehiclesInput,
    answers: {
      200: {
        description: 'The vehicles that were moved, and the ids and VINs that were not found.',
        schema: movedVehiclesSchema,
      },
    },
    result: (ctx, { body }) => moveVehicles(ctx, body),
  }),
  get('/vehicles/:vehicleId', 'getVehicle', {
    etag: true,
    summary: 'Get a vehicle',
    description: 'Returns a vehicle of the company.',
    answers: { 200: 'The vehicle with this id.' },
    result: (ctx, { params }) => getVehicle(ctx, { id: params.vehicleId }),
  }),
  remove('/vehicles/:vehicleId', 'deleteVehicle', {
    etag: true,
    summary: 'Delete a vehicle',
    ...vehicleCommands.deleteVehicle,
    answers: { 200: 'The vehicle as it was before its deletion.' },
    result: (ctx, { params, expected }) => deleteVehicle(ctx, { id: params.vehicleId }, expected),
  }),
];
