import { z } from 'zod';
import { addVehiclesInput } from '../../core/vehicles/add-vehicles.ts';
import { deleteVehiclesInput } from '../../core/vehicles/delete-vehicles.ts';
import { eligibilityStatuses } from '../../core/vehicles/vehicles.ts';
import { field } from './json-schema.ts';
import type { RouteDocs } from './route-docs.ts';
import { rejectedVinJson, summaryJson } from './shapes.ts';

const vin = field(z.string(), 'The VIN, as it is stored.', 'WBA3A5C50CF256985');
const fleetId = field(z.uuid(), 'The fleet.', '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b');
const vehicleId = field(z.uuid(), 'Identifies the vehicle.', '019aa1b2-6d4e-7f50-8b7c-1d2e3f4a5b6c');
const vins = field(z.array(z.string()), 'VINs. Case, spaces and dashes do not count.', ['WBA3A5C50CF256985']);
const ids = field(z.array(z.string()), 'Ids of vehicles.', ['019aa1b2-6d4e-7f50-8b7c-1d2e3f4a5b6c']);

const vehicleJson = z
  .object({
    id: vehicleId,
    fleetId,
    vin,
    manufacturer: field(
      z.string().nullable(),
      'Its maker, as in `/manufacturers`; null if the VIN does not tell.',
      'bmw',
    ),
    eligibility: z
      .object({
        status: field(z.enum(eligibilityStatuses), 'How far the verification is, and its outcome.', 'ELIGIBLE'),
        eligible: field(z.boolean().nullable(), 'The answer; null while there is none.', true),
        verifiedAt: field(z.iso.datetime().nullable(), 'When the manufacturer answered.', '2026-11-20T08:00:02.000Z'),
      })
      .meta({ description: 'In short; the whole is at `/vehicles/eligibility/{vin}`.' }),
    warnings: field(z.array(z.string()), '`VIN_CHECK_DIGIT`: the check digit is wrong; a typing error is likely.', []),
    createdAt: field(z.iso.datetime(), 'When it was added.', '2026-11-20T08:00:00.000Z'),
  })
  .meta({ id: 'Vehicle', description: 'A vehicle of a fleet. A company has each VIN once.' });

const addedJson = z
  .object({ summary: summaryJson, vehicles: z.array(vehicleJson), rejected: z.array(rejectedVinJson) })
  .meta({ id: 'AddedVehicles', description: 'The vehicles that the list names, and what was refused of it.' });

const deletedJson = z
  .object({
    deleted: z.array(z.object({ id: vehicleId, vin })),
    notFound: z
      .object({ ids, vins })
      .meta({ description: 'What was named and is not in this fleet, as it was named.' }),
  })
  .meta({ id: 'DeletedVehicles', description: 'What was deleted, and what was not there.' });

const deleteMany = {
  tag: 'Vehicles',
  body: { input: deleteVehiclesInput, fields: z.object({ fleetId, ids, vins }) },
  answers: { 200: { description: 'What was deleted.', schema: deletedJson } },
  errors: ['NOTHING_TO_DELETE', 'FLEET_NOT_FOUND'],
} satisfies Partial<RouteDocs>;

export const vehicleDocs = {
  list: {
    operationId: 'listVehicles',
    tag: 'Vehicles',
    summary: 'List the vehicles of a fleet',
    description: 'The vehicles of a fleet, oldest first.',
    query: ['limit', 'after'],
    answers: { 200: { description: 'The vehicles.', schema: z.array(vehicleJson), headers: ['Link'] } },
    errors: ['FLEET_NOT_FOUND'],
  },
  add: {
    operationId: 'addVehicles',
    tag: 'Vehicles',
    summary: 'Add vehicles to a fleet',
    description:
      'Adds vehicles by their VINs and has their eligibility verified in the background. What is good is stored even ' +
      'if other values are refused; if all are refused, that is a 400 with the same report.',
    query: ['mode', 'dryRun'],
    body: { input: addVehiclesInput.omit({ mode: true, dryRun: true }), fields: z.object({ fleetId, vins }) },
    answers: {
      200: { description: 'What would be stored (`dryRun`).', schema: addedJson },
      201: { description: 'What was stored.', schema: addedJson },
    },
    errors: ['FLEET_NOT_FOUND'],
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
