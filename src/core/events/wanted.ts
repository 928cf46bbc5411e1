import { expressionBuilder, type SqlBool, sql } from 'kysely';
import type { Tables } from '../sql/tables.ts';

/** Whether a webhook `w` wants an event `e`: the condition that decides of every delivery, but for tests, which go to one. */
export const wanted = sql<SqlBool>`(e.type <> 'webhook.test' and (w.types = '{}' or e.type = any(w.types)))`;

const { cast, val } = expressionBuilder<Tables>();

/** What is written of a delivery of an event `e` to a webhook `w`, due at once. */
export const deliveryColumns = ['company', 'webhook_id', 'event_id', 'due_at', 'created_at'] as const;
export const newDelivery = (now: Date | string) => {
  const time = cast<string>(val(now), 'timestamptz');
  return ['w.company', 'w.id as webhook_id', 'e.id as event_id', time.as('due_at'), time.as('created_at')] as const;
};
