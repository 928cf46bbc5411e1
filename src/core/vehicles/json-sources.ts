import { sql } from 'kysely';
import { authorize } from '../context.ts';
import { fleetJson, fleetsMatching } from '../fleets/fleets.ts';
import type { JsonSource } from '../sql/json-answer.ts';
import { isId } from '../sql/sql.ts';
import { vehicleJson, vehiclesMatching } from './vehicles.ts';

/** The vehicles of a fleet `f`. */
export const vehiclesOfFleet: JsonSource = {
  table: vehicleJson,
  alias: 'v',
  lists: {},
  from: (_ctx, { filter }) =>
    sql`vehicle v where v.company = f.company and v.fleet_id = f.id ${vehiclesMatching(filter)}`,
};

/** The fleets of the caller's company. */
export const fleets: JsonSource = {
  table: fleetJson,
  alias: 'f',
  lists: { vehicles: vehiclesOfFleet },
  from: (ctx, { filter }) => sql`fleet f where f.company = ${authorize(ctx, 'fleets:read')} ${fleetsMatching(filter)}`,
};

/** The fleet of the caller's company with this id. */
export const fleetById: JsonSource = {
  ...fleets,
  from(ctx, { id }) {
    const company = authorize(ctx, 'fleets:read');
    return sql`fleet f where f.id = ${isId(String(id)) ? id : null}::uuid and f.company = ${company}`;
  },
};
