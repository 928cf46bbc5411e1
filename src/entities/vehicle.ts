import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { Fleet } from './fleet.ts';

/** A vehicle of a fleet, with what its manufacturer says of it and when that is to be asked (again). */
export const Vehicle = defineEntity({
  name: 'Vehicle',
  tableName: 'vehicle',
  properties: {
    id: p.uuid().primary(),
    company: p.text(),
    // The foreign key is the tally's: see docs/decisions/bulk-import.md.
    fleet: () => p.manyToOne(Fleet).ref().createForeignKeyConstraint(false),
    vin: p.text(),
    /** The brand's slug: told by the VIN at first, then the one that the manufacturer confirmed. */
    manufacturer: p.text().nullable(),
    warnings: p.array().default([]),
    createdAt: p.datetime(),
    status: p.text().default('PENDING'),
    dataDelivery: p.array().default([]),
    connectivityStatus: p.text().nullable(),
    primaryUserAssigned: p.boolean().nullable(),
    /** Why the answer is what it is; while there is none, why the last attempt gave none. */
    reason: p.json().nullable(),
    /** How often the manufacturer was asked for the present answer. */
    attempts: p.integer().default(0),
    /** How often in a row it was asked without an answer. */
    faults: p.integer().default(0),
    verifiedAt: p.datetime().nullable(),
    /** When this row needs work; while it is claimed, when the claim ends. */
    dueAt: p.datetime().nullable(),
    /** Somebody is asking right now. */
    claimed: p.boolean().default(false),
    /** The manufacturer's answer as it came, for support. */
    rawAnswer: p.json().nullable(),
  },
});
export type Vehicle = InferEntity<typeof Vehicle>;
