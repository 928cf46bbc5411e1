import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { makesCompany } from './company.ts';
import { lengthOf, time, trigger } from './columns.ts';

/** A company-level grouping of vehicles. */
export const Fleet = defineEntity({
  name: 'Fleet',
  tableName: 'fleet',
  indexes: [
    { name: 'fleet_list', properties: ['company', 'id'] },
    { name: 'fleet_name', expression: 'create index fleet_name on fleet (company, name text_pattern_ops)' },
  ],
  // Takes its vehicles along, which have no foreign key.
  triggers: [trigger('fleet_vehicles_delete', 'delete', 'fleet for each row'), makesCompany('fleet')],
  properties: {
    id: p.uuid().primary(),
    company: p.text().check(`company <> ''`),
    name: p.text().check(lengthOf('name', 255)),
    companyAddress: p.text().check(lengthOf('company_address', 255)),
    email: p.text(),
    vat: p.text().check(lengthOf('vat', 255)),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type Fleet = InferEntity<typeof Fleet>;
