import { defineEntity, p } from '@mikro-orm/core';
import { json, texts, time, uuids } from './columns.ts';

/** Of published events only: whoever writes one pays for none of these. */
const published = 'position IS NOT NULL';

/** One fact, as it was when it became true. Rows are written once; only `position` is added, when it is published. */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'event',
  uniques: [
    { name: 'event_company_position_key', properties: ['company', 'position'], where: published },
    // Whatever the company: old ones are deleted in this order.
    { name: 'event_by_id', properties: ['id'] },
  ],
  indexes: [
    { name: 'event_to_publish', properties: ['company', 'seq'], where: 'position IS NULL' },
    { name: 'event_type', properties: ['company', 'type', 'position'], where: published },
    {
      name: 'event_by_fleet',
      properties: ['company', 'fleetId', 'position'],
      where: `${published} AND fleet_id IS NOT NULL`,
    },
    {
      name: 'event_by_contract',
      properties: ['company', 'contractId', 'position'],
      where: `${published} AND contract_id IS NOT NULL`,
    },
    { name: 'event_vehicle', properties: ['vehicleIds'], type: 'gin', where: published },
    { name: 'event_vin', properties: ['vins'], type: 'gin', where: published },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary().defaultRaw('new_uuid()'),
    /** The order of writing: a later transaction's is greater. */
    seq: p.bigint().autoincrement().columnType('bigint').generated('identity'),
    /** The place in the company's log, which readers follow; null until published. */
    position: p.bigint().nullable(),
    type: p.text(),
    // No foreign keys: events outlive what they tell of.
    fleetId: p.uuid().nullable(),
    contractId: p.uuid().nullable(),
    vehicleIds: uuids().default([]),
    /** The VINs of vehicleIds, in their order. */
    vins: texts().default([]),
    /** The subject of the token, `anonymous` or `system`. */
    actor: p.text(),
    requestId: p.text().nullable(),
    at: time(),
    data: json<Record<string, unknown>>().defaultRaw(`'{}'`),
  },
});
