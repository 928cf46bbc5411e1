import { defineEntity, p } from '@mikro-orm/core';
import { time } from './columns.ts';

/** Kinds of rows that come due by themselves, company by company. */
export const scheduledKinds = ['vehicle', 'contract', 'delivery'] as const;

/** That rows of a company are to be looked at: an entry comes no later than the first of them (core/schedule.ts). */
export const Schedule = defineEntity({
  name: 'Schedule',
  tableName: 'schedule',
  // Whatever the company: those with something due are found in this order.
  indexes: [{ name: 'schedule_by_time', properties: ['kind', 'dueAt', 'company'] }],
  properties: {
    company: p.text().primary(),
    kind: p.enum(scheduledKinds).primary(),
    id: p.bigint().primary().autoincrement().columnType('bigint').generated('by default as identity'),
    dueAt: time(),
  },
});
