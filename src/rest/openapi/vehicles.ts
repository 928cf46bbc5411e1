import { z } from 'zod';
import { eligibility, vehicle } from '../../core/vehicles/vehicle.ts';
import {
  addedVehicles,
  addVehiclesInput,
  deletedVehicles,
  deleteVehiclesInput,
  movedVehicles,
  moveVehiclesInput,
} from '../../core/vehicles/vin-lists.ts';
import type { RouteDocs } from './route-docs.ts';

/** A vehicle with its eligibility in short. */
export const vehicleJson = vehicle
  .extend({
    eligibility: eligibility
      .pick({ status: true, eligible: true, verifiedAt: true })
      .describe('In short; the whole is at `/vehicles/eligibility/{vin}`.'),
  })
  .meta({ ...vehicle.meta(), id: 'Vehicle' });

const addedJson = addedVehicles
  .extend({ vehicles: z.array(vehicleJson).meta(addedVehicles.shape.vehicles.meta() ?? {}) })
  .meta({ ...addedVehicles.meta(), id: 'AddedVehicles' });

const deleteMany = {
  tag: 'Vehicles',
  body: { input: deleteVehiclesInput },
  answers: { 200: { description: 'What was deleted.', schema: deletedVehicles } },
  errors: ['NOTHING_TO_DELETE', 'FLEET_NOT_FOUND'],
} satisfies Partial<RouteDocs>;

const filters = [
  ...(['vehicleEligibility', 'vehicleManufacturer', 'vinStartsWith', 'vehicleFleetId'] as const),
  ...(['reasonCode', 'reasonActor', 'verifiedBefore', 'verifiedAfter'] as const),
];

export const vehicleDocs = {
  list: {
    operationId: 'listVehicles',
    tag: 'Vehicles',
    summary: 'List the vehicles of a fleet',
    description: 'The vehicles of a fleet, oldest first unless `sort` says otherwise.',
    query: ['sortVehicles', 'limit', 'after'],
    answers: { 200: { description: 'The vehicles.', schema: z.array(vehicleJson), headers: ['Link'] } },
    errors: ['FLEET_NOT_FOUND'],
  },
  listAll: {
    operationId: 'listAllVehicles',
    tag: 'Vehicles',
    summary: 'List the vehicles of all fleets',
    description:
      'The vehicles of your company that fit everything that is given, oldest first unless `sort` says otherwise. ' +
      'Which ones failed and are yours to mend: `?eligibility=FAILED&actor=CUSTOMER`.',
    query: [...filters, 'sortVehicles', 'limit', 'after'],
    answers: { 200: { description: 'The vehicles.', schema: z.array(vehicleJson), headers: ['Link'] } },
    errors: ['PAYLOAD_TOO_LARGE'],
  },
  add: {
    operationId: 'addVehicles',
    tag: 'Vehicles',
    summary: 'Add vehicles to a fleet',
    description:
      'Adds vehicles by their VINs and has their eligibility verified in the background. What is good is stored even ' +
      'if other values are rejected; if all are rejected, that is a 400 with the same report.',
    query: ['mode', 'dryRun'],
    body: { input: addVehiclesInput.omit({ mode: true, dryRun: true }) },
    answers: {
      200: { description: 'What would be stored (`dryRun`).', schema: addedJson },
      201: { description: 'What was stored.', schema: addedJson },
    },
    errors: ['FLEET_NOT_FOUND'],
  },
  move: {
    operationId: 'moveVehicles',
    tag: 'Vehicles',
    summary: 'Move vehicles to another fleet',
    description:
      'Moves the vehicles of your company that `ids` or `vins` name to a fleet, whichever fleets they are in. Their ' +
      'contracts go with them and keep their ids; their eligibility stays. One of the two lists suffices.',
    body: { input: moveVehiclesInput },
    answers: { 200: { description: 'What was moved.', schema: movedVehicles } },
    errors: ['NOTHING_TO_MOVE', 'FLEET_NOT_FOUND'],
  },
  get: {
    operationId: 'getVehicle',
    tag: 'Vehicles',
    summary: 'Get a vehicle',
    description: 'One vehicle of your company.',
    answers: { 200: { description: 'The vehicle.', schema: vehicleJson } },
    errors: ['VEHICLE_NOT_FOUND'],
  },
  delete: {
    operationId: 'deleteVehicle',
    tag: 'Vehicles',
    summary: 'Delete a vehicle',
    description: 'Deletes a vehicle with its contracts.',
    answers: { 200: { description: 'The vehicle as it was.', schema: vehicleJson } },
    errors: ['VEHICLE_NOT_FOUND'],
  },
  deleteMany: {
    ...deleteMany,
    operationId: 'deleteVehicles',
    summary: 'Delete several vehicles',
    description: 'Deletes the vehicles that `ids` or `vins` name, with their contracts. One of the two lists suffices.',
  },
  deleteManyByPost: {
    ...deleteMany,
    operationId: 'deleteVehiclesByPost',
    summary: 'Delete several vehicles, by POST',
    description: 'Like `DELETE /vehicles`, for those whose proxies drop the body of a DELETE.',
  },
} satisfies Record<string, RouteDocs>;
