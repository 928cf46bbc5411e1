import { defineEntity, p } from '@mikro-orm/core';

/** One row for each company that has, or had, a fleet or a webhook: it is locked for what only one may do for a company. */
export const Company = defineEntity({
  name: 'Company',
  tableName: 'company',
  properties: {
    company: p.text().primary().check(`company <> ''`),
    /** The place of its last published event in its log. */
    position: p.bigint().defaultRaw('0'),
  },
});
