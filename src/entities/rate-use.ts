import { defineEntity, p } from '@mikro-orm/core';
import { time } from './columns.ts';

/** What all processes have counted against one company's rate in one minute. Unlogged: a crash forgives it. */
export const RateUse = defineEntity({
  name: 'RateUse',
  tableName: 'rate_use',
  properties: {
    minute: time().primary(),
    who: p.text().primary(),
    points: p.integer(),
  },
});
