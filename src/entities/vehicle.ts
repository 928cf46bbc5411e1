import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { belongsTo, json, texts, time } from './columns.ts';
import { Fleet } from './fleet.ts';

/** How far a vehicle's verification is, and its outcome. */
export const eligibilityStatuses = ['PENDING', 'ELIGIBLE', 'INELIGIBLE', 'UNSUPPORTED', 'FAILED'] as const;
/** How data of a vehicle can be had, and whether it is connected, as its manufacturer says. */
export const dataDeliveries = ['PULL', 'PUSH'] as const;
export const connectivityStatuses = ['ACTIVATED', 'DEACTIVATED', 'UNKNOWN'] as const;
/** Who must act for a verification to succeed. */
export const actors = ['CUSTOMER', 'MANUFACTURER', 'OPERATOR'] as const;

/** A vehicle of a fleet, with what its manufacturer says of it and when that is to be asked (again). */
export const Vehicle = defineEntity({
  name: 'Vehicle',
  tableName: 'vehicle',
  uniques: [{ name: 'vehicle_vin', properties: ['company', 'vin'] }],
  indexes: [
    { name: 'vehicle_by_fleet', properties: ['company', 'fleetId', 'id'] },
    // Filters look rows up for each fleet (Seek in core/sql/resource.ts).
    { name: 'vehicle_by_status', properties: ['company', 'fleetId', 'status', 'manufacturer'] },
    {
      name: 'vehicle_by_reason',
      expression: `create index vehicle_by_reason on vehicle (company, fleet_id, (reason ->> 'actor'), (reason ->> 'code')) where reason is not null`,
    },
    { name: 'vehicle_by_vin', properties: ['company', 'fleetId', 'vin'] },
    // What has no answer stands behind, whatever is added.
    {
      name: 'vehicle_by_verified',
      expression: `create index vehicle_by_verified on vehicle (company, coalesce(verified_at, 'infinity'::timestamptz), id)`,
    },
    {
      name: 'vehicle_of_fleet_by_verified',
      expression: `create index vehicle_of_fleet_by_verified on vehicle (company, fleet_id, coalesce(verified_at, 'infinity'::timestamptz), id)`,
    },
    { name: 'vehicle_due_by_company', properties: ['company', 'dueAt'], where: 'due_at IS NOT NULL' },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    fleetId: p.uuid().persist(false),
    // The foreign key is the tally's: see docs/decisions/imports.md.
    fleet: () =>
      p
        .manyToOne(Fleet)
        .ref()
        .joinColumns('company', 'fleet_id')
        .ownColumns('fleet_id')
        .createForeignKeyConstraint(false),
    vin: p.text().collation('C').check(`vin ~ '^[A-HJ-NPR-Z0-9]{17}$'::text`),
    /** The brand's slug: told by the VIN at first, then the one that the manufacturer confirmed. */
    manufacturer: p.text().nullable(),
    warnings: texts().default([]),
    createdAt: time(),
    status: p.enum(eligibilityStatuses).default('PENDING'),
    dataDelivery: texts<(typeof dataDeliveries)[number]>().default([]),
    connectivityStatus: p.enum(connectivityStatuses).nullable(),
    primaryUserAssigned: p.boolean().nullable(),
    /** Why the answer is what it is; while there is none, why the last attempt gave none. */
    reason: json<{
      code: string;
      message: string;
      actor: (typeof actors)[number];
      retryable: boolean;
    }>().nullable(),
    /** How often the manufacturer was asked for the present answer. */
    attempts: p.integer().default(0),
    /** How often in a row it was asked without an answer. */
    faults: p.integer().default(0),
    verifiedAt: time().nullable(),
    /** When this row needs work; while it is claimed, when the claim ends. */
    dueAt: time().nullable(),
    /** The process that is asking right now. */
    claimedBy: p.uuid().nullable(),
    /** The manufacturer's answer as it came, for support. */
    rawAnswer: json<unknown>().nullable(),
  },
});
export type Vehicle = InferEntity<typeof Vehicle>;

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
