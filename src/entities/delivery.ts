import { defineEntity, p } from '@mikro-orm/core';
import { Event } from './event.ts';
import { Webhook } from './webhook.ts';

/** One event on its way to one webhook, with what came of the last attempt. */
export const Delivery = defineEntity({
  name: 'Delivery',
  tableName: 'delivery',
  properties: {
    id: p.uuid().primary().defaultRaw('new_uuid()'),
    webhook: () => p.manyToOne(Webhook).ref().deleteRule('cascade'),
    event: () => p.manyToOne(Event).ref().deleteRule('cascade'),
    state: p.text().default('PENDING'),
    /** Somebody asked for it: one attempt, whatever the state of the webhook. */
    once: p.boolean().default(false),
    attempts: p.integer().default(0),
    /** When it is to be sent (again); while it is claimed, when the claim ends. Null: not by itself. */
    dueAt: p.datetime().nullable(),
    claimed: p.boolean().default(false),
    /** Where the last attempt went, and with which headers. */
    url: p.text().nullable(),
    headers: p.json().nullable(),
    status: p.integer().nullable(),
    /** The beginning of the answer's body. */
    answer: p.text().nullable(),
    error: p.text().nullable(),
    durationMs: p.integer().nullable(),
    createdAt: p.datetime(),
    attemptedAt: p.datetime().nullable(),
  },
});
