import { z } from 'zod';
import { createFleetInput, fleet, fleetFilter, fleetOrders, updateFleetInput } from '../core/fleets/fleet.ts';
import { createFleet, fleetRows, getFleet, listFleets, updateFleet } from '../core/fleets/fleets.ts';
import { readInput } from '../core/input.ts';
import { deleteFleet } from '../core/operations/delete-fleets.ts';
import { jsonWriter } from '../core/sql/read.ts';
import { selectionOf, shapeOf } from '../core/sql/selection.ts';
import { expectedBy, getAnswer, taggedAnswer } from './etag.ts';
import { listAnswer, membersOf, once, pathWith, type Route } from './route.ts';

const asJson = jsonWriter(fleetRows.members, selectionOf(fleet));
const shape = shapeOf(fleet);
const filterQuery = z.object({ name: once, vat: once });

export const fleetRoutes: Route[] = [
  {
    method: 'GET',
    path: '/fleets',
    scope: 'fleets:read',
    docs: {
      operationId: 'listFleets',
      tag: 'Fleets',
      summary: 'List fleets',
      description:
        'The fleets of your company that fit everything that is given, oldest first unless `sort` says otherwise.',
      query: ['fleetName', 'fleetVat', 'sortFleets', 'limit', 'after'],
      answers: { 200: { description: 'The fleets.', schema: z.array(fleet), headers: ['Link'] } },
    },
    async answer(ctx, request) {
      const filter = readInput(filterQuery, request.query);
      readInput(fleetFilter, filter);
      const path = pathWith('/fleets', request, filterQuery);
      return listAnswer(request, path, (page) => listFleets(ctx, asJson, { page, filter }), fleetOrders);
    },
  },
  {
    method: 'POST',
    path: '/fleets',
    scope: 'fleets:write',
    body: 'json',
    docs: {
      operationId: 'createFleet',
      tag: 'Fleets',
      summary: 'Create a fleet',
      description: 'Creates a fleet of your company. Texts are trimmed.',
      body: { input: createFleetInput },
      answers: { 201: { description: 'The new fleet.', schema: fleet, headers: ['Location', 'ETag'] } },
    },
    async answer(ctx, { body }) {
      const made = await createFleet(ctx, body);
      return taggedAnswer(201, shape(made), { Location: `/fleets/${made.id}` });
    },
  },
  {
    method: 'GET',
    path: '/fleets/:fleetId',
    scope: 'fleets:read',
    docs: {
      operationId: 'getFleet',
      etag: true,
      tag: 'Fleets',
      summary: 'Get a fleet',
      description: 'One fleet of your company.',
      answers: { 200: { description: 'The fleet.', schema: fleet } },
      errors: ['FLEET_NOT_FOUND'],
    },
    answer: async (ctx, request) =>
      getAnswer(request, shape(await getFleet(ctx, { id: request.params.fleetId ?? '' }))),
  },
  {
    method: 'PATCH',
    path: '/fleets/:fleetId',
    scope: 'fleets:write',
    body: 'json',
    docs: {
      operationId: 'updateFleet',
      etag: true,
      tag: 'Fleets',
      summary: 'Change a fleet',
      description: 'Changes the fields that are sent, at least one of them, and leaves the others.',
      body: { input: updateFleetInput.omit({ id: true }) },
      answers: { 200: { description: 'The fleet as it is now.', schema: fleet } },
      errors: ['FLEET_NOT_FOUND'],
    },
    async answer(ctx, request) {
      const input = { ...membersOf(request), id: request.params.fleetId };
      return taggedAnswer(200, shape(await updateFleet(ctx, input, expectedBy(request, shape))));
    },
  },
  {
    method: 'DELETE',
    path: '/fleets/:fleetId',
    scope: 'fleets:write',
    docs: {
      operationId: 'deleteFleet',
      etag: true,
      tag: 'Fleets',
      summary: 'Delete a fleet',
      description: 'Deletes a fleet with its vehicles and their contracts.',
      answers: { 200: { description: 'The fleet as it was.', schema: fleet } },
      errors: ['FLEET_NOT_FOUND'],
    },
    answer: async (ctx, request) => ({
      status: 200,
      body: shape(await deleteFleet(ctx, { id: request.params.fleetId ?? '' }, expectedBy(request, shape))),
    }),
  },
];
