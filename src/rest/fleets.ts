import { createFleet, deleteFleet, type Fleet, getFleet, listFleets, updateFleet } from '../core/fleets.ts';
import { listAnswer, pageAnswer, type Route, readListQuery } from './route.ts';

const shape = (fleet: Fleet) => ({
  id: fleet.id,
  company: fleet.company,
  name: fleet.name,
  companyAddress: fleet.companyAddress,
  email: fleet.email,
  vat: fleet.vat,
  vehicleCount: fleet.vehicleCount,
  createdAt: fleet.createdAt,
  updatedAt: fleet.updatedAt,
});

export const fleetRoutes: Route[] = [
  {
    method: 'GET',
    path: '/fleets',
    async answer(ctx, { query }) {
      const page = readListQuery(query);
      if (!page) return listAnswer((part) => listFleets(ctx, { page: part }), shape);
      return pageAnswer(await listFleets(ctx, { page }), page, '/fleets', shape);
    },
  },
  {
    method: 'POST',
    path: '/fleets',
    body: 'json',
    async answer(ctx, { body }) {
      const fleet = await createFleet(ctx, body);
      return { status: 201, headers: { Location: `/fleets/${fleet.id}` }, body: shape(fleet) };
    },
  },
  {
    method: 'GET',
    path: '/fleets/:fleetId',
    answer: async (ctx, { params }) => ({
      status: 200,
      body: shape(await getFleet(ctx, { id: params.fleetId ?? '' })),
    }),
  },
  {
    method: 'PATCH',
    path: '/fleets/:fleetId',
    body: 'json',
    async answer(ctx, { params, body }) {
      const fields = typeof body === 'object' ? body : {};
      return { status: 200, body: shape(await updateFleet(ctx, { ...fields, id: params.fleetId })) };
    },
  },
  {
    method: 'DELETE',
    path: '/fleets/:fleetId',
    answer: async (ctx, { params }) => ({
      status: 200,
      body: shape(await deleteFleet(ctx, { id: params.fleetId ?? '' })),
    }),
  },
];
