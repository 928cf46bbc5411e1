import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { belongsTo, lengthOf, time } from './columns.ts';
import { Fleet } from './fleet.ts';
import { Vehicle } from './vehicle.ts';

/** A vehicle's place in a manufacturer program: a pack for the period [startsAt, endsAt). */
export const Contract = defineEntity({
  name: 'Contract',
  tableName: 'contract',
  // For whoever needs no token.
  indexes: [
    { name: 'contract_by_hash', properties: ['id'], type: 'hash' },
    { name: 'contract_by_fleet', properties: ['company', 'fleetId', 'id'] },
    { name: 'contract_by_vehicle', properties: ['company', 'vehicleId', 'id'] },
    { name: 'contract_by_start', properties: ['company', 'startsAt', 'id'] },
    { name: 'contract_of_fleet_by_start', properties: ['company', 'fleetId', 'startsAt', 'id'] },
    { name: 'contract_by_end', properties: ['company', 'endsAt', 'id'] },
    { name: 'contract_of_fleet_by_end', properties: ['company', 'fleetId', 'endsAt', 'id'] },
    { name: 'contract_due_by_company', properties: ['company', 'dueAt'], where: 'due_at IS NOT NULL' },
  ],
  checks: [
    { name: 'contract_period', expression: 'starts_at < ends_at' },
    {
      name: 'contract_no_overlap',
      expression: 'EXCLUDE USING gist (vehicle_id WITH =, pack WITH =, tstzrange(starts_at, ends_at) WITH &&)',
    },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    fleetId: p.uuid().persist(false),
    fleet: () => belongsTo(Fleet, 'fleet_id'),
    vehicleId: p.uuid().persist(false),
    vehicle: () => belongsTo(Vehicle, 'vehicle_id'),
    name: p.text().check(lengthOf('name', 255)),
    description: p.text().check(lengthOf('description', 2000)),
    pack: p.text().check(lengthOf('pack', 255)),
    startsAt: time(),
    endsAt: time(),
    createdAt: time(),
    /** When its next event comes due: its start, then its end, then never. */
    dueAt: time().nullable(),
  },
});
export type Contract = InferEntity<typeof Contract>;
