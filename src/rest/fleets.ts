import {
  createFleetInput,
  fleetCommands,
  fleetSchema,
  fleetSortOrders,
  updateFleetInput,
} from '../core/fleets/fleet.ts';
import { createFleet, fleetResource, getFleet, listFleets, updateFleet } from '../core/fleets/fleets.ts';
import { deleteFleet } from '../core/operations/delete-fleets.ts';
import { jsonRowWriter } from '../core/sql/read.ts';
import { listAnswer, listOf, readQuery } from './list.ts';
import { membersOf, operations } from './route.ts';

const asJson = jsonRowWriter(fleetResource.members, fleetSchema);

const { get, patch, post, remove } = operations('Fleets', { resource: fleetSchema, missing: 'FLEET_NOT_FOUND' });

export const fleetRoutes = [
  get('/fleets', 'listFleets', {
    summary: 'List fleets',
    description: 'Lists the fleets of the company that meet all conditions, oldest first unless `sort` says otherwise.',
    query: ['fleetName', 'fleetVat', 'sortFleets', 'limit', 'after'],
    answers: listOf('The fleets of the list or the page.', fleetSchema),
    answer(ctx, request) {
      const filter = readQuery(request);
      return listAnswer(request, (page) => listFleets(ctx, asJson, { page, filter }), fleetSortOrders);
    },
  }),
  post('/fleets', 'createFleet', {
    etag: true,
    summary: 'Create a fleet',
    ...fleetCommands.createFleet,
    body: createFleetInput,
    answers: { 201: { description: 'The new fleet.', schema: fleetSchema, headers: ['Location'] } },
    result: (ctx, { body }) => createFleet(ctx, body),
  }),
  get('/fleets/:fleetId', 'getFleet', {
    etag: true,
    summary: 'Get a fleet',
    description: 'Returns a fleet of the company.',
    answers: { 200: 'The fleet with this id.' },
    result: (ctx, { params }) => getFleet(ctx, { id: params.fleetId }),
  }),
  patch('/fleets/:fleetId', 'updateFleet', {
    etag: true,
    summary: 'Change a fleet',
    ...fleetCommands.updateFleet,
    body: updateFleetInput.omit({ id: true }),
    answers: { 200: 'The fleet after the change.' },
    result: (ctx, request) => updateFleet(ctx, { ...membersOf(request), id: request.params.fleetId }, request.expected),
  }),
  remove('/fleets/:fleetId', 'deleteFleet', {
    etag: true,
    summary: 'Delete a fleet',
    ...fleetCommands.deleteFleet,
    answers: { 200: 'The fleet as it was before its deletion.' },
    result: (ctx, { params, expected }) => deleteFleet(ctx, { id: params.fleetId }, expected),
  }),
];
