import { defineEntity, p } from '@mikro-orm/core';
import { time } from './columns.ts';

/** A process that asks manufacturers, while it has vehicles claimed; one that was killed stays until others have taken these over. */
export const Worker = defineEntity({
  name: 'Worker',
  tableName: 'worker',
  properties: {
    id: p.uuid().primary(),
    /** Until when its claims are its own, unless it renews this. */
    aliveUntil: time(),
  },
});
