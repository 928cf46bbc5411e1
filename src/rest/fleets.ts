import { fleet, fleetOrders } from '../core/fleets/fleet.ts';
import { fleetRows, getFleet, listFleets } from '../core/fleets/fleets.ts';
import { createFleet, deleteFleet, updateFleet } from '../core/fleets/write-fleets.ts';
import { jsonWriter } from '../core/sql/read.ts';
import { selectionOf, shapeOf } from '../core/sql/selection.ts';
import { expectedBy, getAnswer, taggedAnswer } from './etag.ts';
import { fleetDocs } from './openapi/fleets.ts';
import { listAnswer, membersOf, type Route } from './route.ts';

const asJson = jsonWriter(fleetRows.members, selectionOf(fleet));
const shape = shapeOf(fleet);

export const fleetRoutes: Route[] = [
  {
    method: 'GET',
    path: '/fleets',
    scope: 'fleets:read',
    docs: fleetDocs.list,
    answer: (ctx, request) => listAnswer(request, '/fleets', (page) => listFleets(ctx, asJson, page), fleetOrders),
  },
  {
    method: 'POST',
    path: '/fleets',
    scope: 'fleets:write',
    body: 'json',
    docs: fleetDocs.create,
    async answer(ctx, { body }) {
      const made = await createFleet(ctx, body);
      return taggedAnswer(201, shape(made), { Location: `/fleets/${made.id}` });
    },
  },
  {
    method: 'GET',
    path: '/fleets/:fleetId',
    scope: 'fleets:read',
    docs: fleetDocs.get,
    answer: async (ctx, request) =>
      getAnswer(request, shape(await getFleet(ctx, { id: request.params.fleetId ?? '' }))),
  },
  {
    method: 'PATCH',
    path: '/fleets/:fleetId',
    scope: 'fleets:write',
    body: 'json',
    docs: fleetDocs.update,
    async answer(ctx, request) {
      const input = { ...membersOf(request), id: request.params.fleetId };
      return taggedAnswer(200, shape(await updateFleet(ctx, input, expectedBy(request, shape))));
    },
  },
  {
    method: 'DELETE',
    path: '/fleets/:fleetId',
    scope: 'fleets:write',
    docs: fleetDocs.delete,
    answer: async (ctx, request) => ({
      status: 200,
      body: shape(await deleteFleet(ctx, { id: request.params.fleetId ?? '' }, expectedBy(request, shape))),
    }),
  },
];
