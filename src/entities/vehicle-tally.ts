import { defineEntity, p } from '@mikro-orm/core';
import { belongsTo } from './columns.ts';
import { Fleet } from './fleet.ts';

/**
 * How many vehicles of each status a fleet has, as a sum of small changes.
 * A counter in one row would make every writer of a fleet wait for the slowest; see docs/decisions.
 */
export const VehicleTally = defineEntity({
  name: 'VehicleTally',
  tableName: 'vehicle_tally',
  indexes: [{ name: 'vehicle_tally_by_fleet', properties: ['company', 'fleetId', 'status'], include: ['delta'] }],
  properties: {
    company: p.text().primary(),
    id: p.bigint().primary().autoincrement().columnType('bigint').generated('by default as identity'),
    fleetId: p.uuid().persist(false),
    fleet: () => belongsTo(Fleet, 'fleet_id'),
    status: p.text(),
    delta: p.integer(),
  },
});
