import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { json, lengthOf, time } from './columns.ts';

/** A company-level grouping of vehicles. */
export const Fleet = defineEntity({
  name: 'Fleet',
  tableName: 'fleet',
  indexes: [
    // Whoever needs no token names a fleet, and the fleet its company. It has no order that could be gone through.
    { name: 'fleet_by_hash', properties: ['id'], type: 'hash' },
    { name: 'fleet_being_deleted', properties: ['company', 'id'], where: 'deletion IS NOT NULL' },
    // By code points: the order of names, and what prefixes are looked up by.
    { name: 'fleet_by_name', expression: 'create index fleet_by_name on fleet (company, name collate "C", id)' },
  ],
  properties: {
    company: p.text().primary().check(`company <> ''`),
    id: p.uuid().primary(),
    name: p.text().check(lengthOf('name', 255)),
    companyAddress: p.text().check(lengthOf('company_address', 255)),
    email: p.text(),
    vat: p.text().check(lengthOf('vat', 255)),
    createdAt: time(),
    updatedAt: time(),
    /** Who has deleted it, while its vehicles go: nobody sees any of them any more. */
    deletion: json<{ actor: string; request_id: string | null }>().nullable(),
  },
});
export type Fleet = InferEntity<typeof Fleet>;
