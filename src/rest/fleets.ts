import { createFleetInput, fleetSchema, fleetSortOrders, updateFleetInput } from '../core/fleets/fleet.ts';
import { createFleet, fleetResource, getFleet, listFleets, updateFleet } from '../core/fleets/fleets.ts';
import { deleteFleet } from '../core/operations/delete-fleets.ts';
import { jsonRowWriter } from '../core/sql/read.ts';
import { fieldCopier } from '../core/sql/selection.ts';
import { expectedBy } from './etag.ts';
import { listAnswer, listOf, membersOf, operations, readQuery } from './route.ts';

const asJson = jsonRowWriter(fleetResource.members, fleetSchema);
const shape = fieldCopier(fleetSchema);

const { get, patch, post, remove } = operations('Fleets');

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
    description: 'Creates a fleet, which belongs to the company of the token.',
    body: createFleetInput,
    answers: { 201: { description: 'The new fleet.', schema: fleetSchema, headers: ['Location'] } },
    async answer(ctx, { body }) {
      const made = await createFleet(ctx, body);
      return { headers: { Location: `/fleets/${made.id}` }, body: shape(made) };
    },
  }),
  get('/fleets/:fleetId', 'getFleet', {
    etag: true,
    summary: 'Get a fleet',
    description: 'Returns a fleet of the company.',
    answers: { 200: { description: 'The fleet with this id.', schema: fleetSchema } },
    errors: ['FLEET_NOT_FOUND'],
    answer: async (ctx, { params }) => ({ body: shape(await getFleet(ctx, { id: params.fleetId })) }),
  }),
  patch('/fleets/:fleetId', 'updateFleet', {
    etag: true,
    summary: 'Change a fleet',
    description: 'Changes the fields of a fleet that are sent, at least one. The others stay as they are.',
    body: updateFleetInput.omit({ id: true }),
    answers: { 200: { description: 'The fleet after the change.', schema: fleetSchema } },
    errors: ['FLEET_NOT_FOUND'],
    async answer(ctx, request) {
      const input = { ...membersOf(request), id: request.params.fleetId };
      return { body: shape(await updateFleet(ctx, input, expectedBy(request, shape))) };
    },
  }),
  remove('/fleets/:fleetId', 'deleteFleet', {
    etag: true,
    summary: 'Delete a fleet',
    description: 'Deletes a fleet with its vehicles and contracts, which the gateway also ends at the manufacturer.',
    answers: { 200: { description: 'The fleet as it was before its deletion.', schema: fleetSchema } },
    errors: ['FLEET_NOT_FOUND'],
    answer: async (ctx, request) => ({
      body: shape(await deleteFleet(ctx, { id: request.params.fleetId }, expectedBy(request, shape))),
    }),
  }),
];
