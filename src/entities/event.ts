import { defineEntity, p } from '@mikro-orm/core';

/** One fact, as it was when it became true. Rows are written once; only `position` is added, when it is published. */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'event',
  properties: {
    id: p.uuid().primary().defaultRaw('new_uuid()'),
    /** The order of writing: a later transaction's is greater. */
    seq: p.bigint().autoincrement(),
    /** The place in the log that readers follow; null until published. */
    position: p.bigint().nullable(),
    company: p.text(),
    type: p.text(),
    fleetId: p.uuid().nullable(),
    contractId: p.uuid().nullable(),
    vehicleIds: p.array().columnType('uuid[]').default([]),
    /** The VINs of vehicleIds, in their order. */
    vins: p.array().default([]),
    /** The subject of the token, `anonymous` or `system`. */
    actor: p.text(),
    requestId: p.text().nullable(),
    at: p.datetime(),
    data: p.json().default('{}'),
  },
});
