import { z } from 'zod';
import { field } from '../../core/fields.ts';
import { eligibility, vehicle } from '../../core/vehicles/vehicle.ts';
import {
  addedVehicles,
  addVehiclesInput,
  deletedVehicles,
  deleteVehiclesInput,
  movedVehicles,
  moveVehiclesInput,
} from '../../core/vehicles/vin-lists.ts';
import type { AnswerDocs, RouteDocs } from './route-docs.ts';

/** A vehicle with its eligibility in short. */
export const vehicleJson = vehicle
  .extend({
    eligibility: eligibility
      .pick({ status: true, eligible: true, verifiedAt: true })
      .describe('In short; the whole is at `/vehicles/eligibility/{vin}`.'),
  })
  .meta({ ...vehicle.meta(), id: 'Vehicle' });

/** A vehicle as a line of NDJSON, which also says why it is not eligible. */
export const exportedVehicle = vehicle
  .extend({ eligibility: eligibility.pick({ status: true, eligible: true, verifiedAt: true, reason: true }) })
  .meta({ ...vehicle.meta(), id: 'ExportedVehicle' });

const exportedExample = {
  id: '019aa1b2-6d4e-7f50-8b7c-1d2e3f4a5b6c',
  fleetId: '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b',
  vin: 'WBA3A5C50CF256985',
  manufacturer: 'bmw',
  eligibility: {
    status: 'INELIGIBLE',
    eligible: false,
    verifiedAt: '2026-11-20T08:00:02.000Z',
    reason: {
      code: 'NOT_ELIGIBLE',
      message: 'The manufacturer does not admit this vehicle.',
      actor: 'MANUFACTURER',
      retryable: false,
    },
  },
  warnings: [],
  createdAt: '2026-11-20T08:00:00.000Z',
} satisfies z.output<typeof exportedVehicle>;

const vehicleFiles = {
  'text/csv': field(
    z.string(),
    'A line for each vehicle below its header, in UTF-8 with a byte order mark; it can be uploaded as it is.',
    'vin,fleet_id,fleet_name,manufacturer,status,eligible,reason_code,reason,actor,verified_at,created_at\n',
  ),
  'application/x-ndjson': field(
    z.string(),
    'A Vehicle on each line, whose eligibility also has its `reason`.',
    `${JSON.stringify(exportedExample)}\n`,
  ),
};

const addedJson = addedVehicles
  .extend({ vehicles: z.array(vehicleJson).meta(addedVehicles.shape.vehicles.meta() ?? {}) })
  .meta({ ...addedVehicles.meta(), id: 'AddedVehicles' });

const vehiclesAnswer = {
  description: 'The vehicles, in the media type of `Accept` that you like best; JSON where you have no preference.',
  schema: z.array(vehicleJson),
  files: vehicleFiles,
  headers: ['Link', 'Content-Disposition', 'Vary'],
} satisfies AnswerDocs;

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
    answers: { 200: vehiclesAnswer },
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
    answers: { 200: vehiclesAnswer },
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
    etag: true,
    tag: 'Vehicles',
    summary: 'Get a vehicle',
    description: 'One vehicle of your company.',
    answers: { 200: { description: 'The vehicle.', schema: vehicleJson } },
    errors: ['VEHICLE_NOT_FOUND'],
  },
  delete: {
    operationId: 'deleteVehicle',
    etag: true,
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

export const eligibilityDocs = {
  get: {
    operationId: 'getEligibility',
    tag: 'Eligibility',
    summary: 'Get the eligibility of a vehicle',
    description:
      'What the manufacturer says of a vehicle of your company. While there is no answer yet: 409, with `Retry-After` ' +
      'as far as is known: the next attempt, or the vehicles before it at the pace of the latest answers. ' +
      'Send `Prefer: wait=10` to wait for it.',
    prefer: true,
    answers: {
      200: {
        description:
          'The answer: `ELIGIBLE` or `INELIGIBLE`, or `FAILED` where asking again will not help: it is not tried again before its re-check at `nextAttemptAt`.',
        schema: eligibility,
        headers: ['Preference-Applied'],
      },
    },
    errors: ['MANUFACTURER_NOT_SUPPORTED', 'VEHICLE_NOT_FOUND', 'ELIGIBILITY_IN_PROGRESS'],
  },
  refresh: {
    operationId: 'refreshEligibility',
    tag: 'Eligibility',
    summary: 'Ask the manufacturer again',
    description: 'Asks the manufacturer again, in the background. What is known stays until the new answer is there.',
    answers: { 202: { description: 'What is known so far.', schema: eligibility } },
    errors: ['VEHICLE_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
