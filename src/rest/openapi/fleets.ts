import { z } from 'zod';
import { createFleetInput, fleet, updateFleetInput } from '../../core/fleets/fleet.ts';
import type { RouteDocs } from './route-docs.ts';

export const fleetDocs = {
  list: {
    operationId: 'listFleets',
    tag: 'Fleets',
    summary: 'List fleets',
    description: 'The fleets of your company, oldest first unless `sort` says otherwise.',
    query: ['sortFleets', 'limit', 'after'],
    answers: { 200: { description: 'The fleets.', schema: z.array(fleet), headers: ['Link'] } },
  },
  create: {
    operationId: 'createFleet',
    tag: 'Fleets',
    summary: 'Create a fleet',
    description: 'Creates a fleet of your company. Texts are trimmed.',
    body: { input: createFleetInput },
    answers: { 201: { description: 'The new fleet.', schema: fleet, headers: ['Location', 'ETag'] } },
  },
  get: {
    operationId: 'getFleet',
    etag: true,
    tag: 'Fleets',
    summary: 'Get a fleet',
    description: 'One fleet of your company.',
    answers: { 200: { description: 'The fleet.', schema: fleet } },
    errors: ['FLEET_NOT_FOUND'],
  },
  update: {
    operationId: 'updateFleet',
    etag: true,
    tag: 'Fleets',
    summary: 'Change a fleet',
    description: 'Changes the fields that are sent, at least one of them, and leaves the others.',
    body: { input: updateFleetInput.omit({ id: true }) },
    answers: { 200: { description: 'The fleet as it is now.', schema: fleet } },
    errors: ['FLEET_NOT_FOUND'],
  },
  delete: {
    operationId: 'deleteFleet',
    etag: true,
    tag: 'Fleets',
    summary: 'Delete a fleet',
    description: 'Deletes a fleet with its vehicles and their contracts.',
    answers: { 200: { description: 'The fleet as it was.', schema: fleet } },
    errors: ['FLEET_NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
