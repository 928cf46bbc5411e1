import { addVehicles } from '../core/add-vehicles.ts';
import type { Context } from '../core/context.ts';
import { deleteVehicle, deleteVehicles } from '../core/delete-vehicles.ts';
import { getVehicle, listVehicles, type Vehicle } from '../core/vehicles.ts';
import { listAnswer, pageAnswer, type RestRequest, type Route, readAddQuery, readListQuery } from './route.ts';

const shape = (vehicle: Vehicle) => ({
  id: vehicle.id,
  fleetId: vehicle.fleetId,
  vin: vehicle.vin,
  manufacturer: vehicle.manufacturer,
  eligibility: {
    status: vehicle.eligibility.status,
    eligible: vehicle.eligibility.eligible,
    verifiedAt: vehicle.eligibility.verifiedAt,
  },
  warnings: vehicle.warnings,
  createdAt: vehicle.createdAt,
});

const deleteMany = async (ctx: Context, { body }: RestRequest) => ({
  status: 200,
  body: await deleteVehicles(ctx, body),
});

export const vehicleRoutes: Route[] = [
  {
    method: 'GET',
    path: '/fleets/:fleetId/vehicles',
    async answer(ctx, { params, query }) {
      const fleetId = params.fleetId ?? '';
      const page = readListQuery(query);
      if (!page) return listAnswer((part) => listVehicles(ctx, { fleetId, page: part }), shape);
      return pageAnswer(await listVehicles(ctx, { fleetId, page }), page, `/fleets/${fleetId}/vehicles`, shape);
    },
  },
  {
    method: 'POST',
    path: '/vehicles',
    body: 'json',
    async answer(ctx, { body, query }) {
      const { mode, dryRun } = readAddQuery(query);
      const fields = typeof body === 'object' ? body : {};
      const { summary, vehicles, rejected } = await addVehicles(ctx, { ...fields, mode, dryRun });
      return { status: dryRun ? 200 : 201, body: { summary, vehicles: vehicles.map(shape), rejected } };
    },
  },
  {
    method: 'GET',
    path: '/vehicles/:vehicleId',
    answer: async (ctx, { params }) => ({
      status: 200,
      body: shape(await getVehicle(ctx, { id: params.vehicleId ?? '' })),
    }),
  },
  {
    method: 'DELETE',
    path: '/vehicles/:vehicleId',
    answer: async (ctx, { params }) => ({
      status: 200,
      body: shape(await deleteVehicle(ctx, { id: params.vehicleId ?? '' })),
    }),
  },
  { method: 'DELETE', path: '/vehicles', body: 'json', answer: deleteMany },
  // The same for those whose proxies drop the body of a DELETE.
  { method: 'POST', path: '/vehicles/delete', body: 'json', answer: deleteMany },
];
