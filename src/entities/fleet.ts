import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** A company-level grouping of vehicles. */
export const Fleet = defineEntity({
  name: 'Fleet',
  tableName: 'fleet',
  properties: {
    id: p.uuid().primary(),
    company: p.text(),
    name: p.text(),
    companyAddress: p.text(),
    email: p.text(),
    vat: p.text(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});
export type Fleet = InferEntity<typeof Fleet>;
