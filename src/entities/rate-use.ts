import { defineEntity, p } from '@mikro-orm/core';

/** What all processes have counted against one company's rate in one minute. Unlogged: a crash forgives it. */
export const RateUse = defineEntity({
  name: 'RateUse',
  tableName: 'rate_use',
  properties: {
    who: p.text().primary(),
    minute: p.datetime().primary(),
    points: p.integer(),
  },
});
