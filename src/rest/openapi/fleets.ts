import { z } from 'zod';
import { createFleetInput, updateFleetInput } from '../../core/fleets/fleets.ts';
import { field } from './json-schema.ts';
import type { RouteDocs } from './route-docs.ts';

const fleetJson = z
  .object({
    id: field(z.uuid(), 'Identifies the fleet.', '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b'),
    company: field(z.string(), 'The company it belongs to: the one of the token that created it.', 'acme'),
    name: field(z.string(), 'Any name; several fleets may share one.', 'Berlin vans'),
    companyAddress: field(z.string(), 'Where the company is.', '1 Main Street, 10115 Berlin'),
    email: field(z.email(), 'Who answers for the fleet: an e-mail address.', 'fleet@example.com'),
    vat: field(z.string(), 'The VAT number of the company.', 'DE123456789'),
    vehicleCount: field(z.int(), 'How many vehicles it has.', 2),
    createdAt: field(z.iso.datetime(), 'When it was created.', '2026-11-20T08:00:00.000Z'),
    updatedAt: field(z.iso.datetime(), 'When its own fields were last changed.', '2026-11-20T08:00:00.000Z'),
  })
  .meta({ id: 'Fleet', description: 'A group of vehicles of one company.' });

export const fleetDocs = {
  list: {
    operationId: 'listFleets',
    tag: 'Fleets',
    summary: 'List fleets',
    description: 'The fleets of your company, oldest first.',
    query: ['limit', 'after'],
    answers: { 200: { description: 'The fleets.', schema: z.array(fleetJson), headers: ['Link'] } },
  },
  create: {
    operationId: 'createFleet',
    tag: 'Fleets',
    summary: 'Create a fleet',
    description: 'Creates a fleet of your company. Texts are trimmed.',
    body: { input: createFleetInput, fields: fleetJson },
    answers: { 201: { description: 'The new fleet.', schema: fleetJson, headers: ['Location'] } },
  },
  get: {
    operationId: 'getFleet',
    tag: 'Fleets',
    summary: 'Get a fleet',
    description: 'One fleet of your company.',
    answers: { 200: { description: 'The fleet.', schema: fleetJson } },
    errors: ['FLEET_NOT_FOUND'],
  },
  update: {
    operationId: 'updateFleet',
    tag: 'Fleets',
    summary: 'Change a fleet',
    description: 'Changes the fields that are sent, at least one of them, and leaves the others.',
    body: { input: updateFleetInput.omit({ id: true }), fields: fleetJson },
    answers: { 200: { description: 'The fleet as it is now.', schema: fleetJson } },
    errors: ['FLEET_NOT_FOUND'],
  },
  delete: {
    operationId: 'deleteFleet',
    tag: 'Fleets',
    summary: 'Delete a fleet',
    description: 'Deletes a fleet with its vehicles and their contracts.',
    answers: { 200: { description: 'The fleet as it was.', schema: fleetJson } },
    errors: ['FLEET_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
