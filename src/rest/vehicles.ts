import { z } from 'zod';
import type { Context } from '../core/context.ts';
import { readInput } from '../core/input.ts';
import { shapeOf } from '../core/sql/selection.ts';
import { addVehicles } from '../core/vehicles/add-vehicles.ts';
import { deleteVehicle, deleteVehicles } from '../core/vehicles/delete-vehicles.ts';
import { moveVehicles } from '../core/vehicles/move-vehicles.ts';
import { type VehiclesFilter, vehiclesFilter } from '../core/vehicles/vehicle.ts';
import { getVehicle, listAllVehicles, listVehicles } from '../core/vehicles/vehicles.ts';
import { expectedBy, getAnswer } from './etag.ts';
import { vehiclesAnswer } from './export.ts';
import { vehicleDocs, vehicleJson } from './openapi/vehicles.ts';
import { commaList, membersOf, once, pathWith, type RestRequest, type Route, readAddQuery } from './route.ts';

const shape = shapeOf(vehicleJson);

const filterQuery = z.object({
  eligibility: commaList,
  manufacturer: once,
  vinStartsWith: once,
  fleetId: commaList,
  reasonCode: once,
  actor: once,
  verifiedBefore: once,
  verifiedAfter: once,
});

const ownFilter = vehiclesFilter.omit({ fleetIds: true });

/** The filter of GraphQL's list, judged under the names that it has here. */
function readFilter({ query }: RestRequest): VehiclesFilter {
  const { fleetId: fleetIds, ...others } = readInput(filterQuery, query);
  readInput(ownFilter, others);
  return { ...others, fleetIds } as VehiclesFilter;
}

const deleteMany = async (ctx: Context, { body }: RestRequest) => ({
  status: 200,
  body: await deleteVehicles(ctx, body),
});

export const vehicleRoutes: Route[] = [
  {
    method: 'GET',
    path: '/fleets/:fleetId/vehicles',
    scope: 'fleets:read',
    docs: vehicleDocs.list,
    answer(ctx, request) {
      const fleetId = request.params.fleetId ?? '';
      const path = `/fleets/${fleetId}/vehicles`;
      return vehiclesAnswer(request, path, (writer, page) => listVehicles(ctx, writer, { fleetId, page }));
    },
  },
  {
    method: 'GET',
    path: '/vehicles',
    scope: 'fleets:read',
    docs: vehicleDocs.listAll,
    answer(ctx, request) {
      const filter = readFilter(request);
      const path = pathWith('/vehicles', request, filterQuery);
      return vehiclesAnswer(request, path, (writer, page) => listAllVehicles(ctx, writer, { page, filter }));
    },
  },
  {
    method: 'POST',
    path: '/vehicles',
    scope: 'fleets:write',
    body: 'json',
    docs: vehicleDocs.add,
    async answer(ctx, request) {
      const { mode, dryRun } = readAddQuery(request.query);
      const { summary, vehicles, rejected } = await addVehicles(ctx, { ...membersOf(request), mode, dryRun });
      return { status: dryRun ? 200 : 201, body: { summary, vehicles: vehicles.map(shape), rejected } };
    },
  },
  {
    method: 'DELETE',
    path: '/vehicles',
    scope: 'fleets:write',
    body: 'json',
    docs: vehicleDocs.deleteMany,
    answer: deleteMany,
  },
  // The same for those whose proxies drop the body of a DELETE.
  {
    method: 'POST',
    path: '/vehicles/delete',
    scope: 'fleets:write',
    body: 'json',
    docs: vehicleDocs.deleteManyByPost,
    answer: deleteMany,
  },
  {
    method: 'POST',
    path: '/vehicles/move',
    scope: 'fleets:write',
    body: 'json',
    docs: vehicleDocs.move,
    answer: async (ctx, { body }) => ({ status: 200, body: await moveVehicles(ctx, body) }),
  },
  {
    method: 'GET',
    path: '/vehicles/:vehicleId',
    scope: 'fleets:read',
    docs: vehicleDocs.get,
    answer: async (ctx, request) =>
      getAnswer(request, shape(await getVehicle(ctx, { id: request.params.vehicleId ?? '' }))),
  },
  {
    method: 'DELETE',
    path: '/vehicles/:vehicleId',
    scope: 'fleets:write',
    docs: vehicleDocs.delete,
    answer: async (ctx, request) => ({
      status: 200,
      body: shape(await deleteVehicle(ctx, { id: request.params.vehicleId ?? '' }, expectedBy(request, shape))),
    }),
  },
];
