import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { lengthOf, time } from './columns.ts';

/** A company-level grouping of vehicles. */
export const Fleet = defineEntity({
  name: 'Fleet',
  tableName: 'fleet',
  // Whoever needs no token names a fleet, and the fleet its company.
  uniques: [{ name: 'fleet_by_id', properties: ['id'] }],
  indexes: [{ name: 'fleet_name', expression: 'create index fleet_name on fleet (company, name text_pattern_ops)' }],
  properties: {
    company: p.text().primary().check(`company <> ''`),
    id: p.uuid().primary(),
    name: p.text().check(lengthOf('name', 255)),
    companyAddress: p.text().check(lengthOf('company_address', 255)),
    email: p.text(),
    vat: p.text().check(lengthOf('vat', 255)),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type Fleet = InferEntity<typeof Fleet>;
