import { defineEntity, p } from '@mikro-orm/core';
import { texts, time } from './columns.ts';

export const webhookStates = ['ACTIVE', 'PAUSED', 'DISABLED'] as const;

/** An address of a company that its events are sent to. */
export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'webhook',
  indexes: [{ name: 'webhook_due', properties: ['dueAt'], where: 'due_at IS NOT NULL' }],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    url: p.text(),
    description: p.text().default(''),
    /** Empty for all. */
    types: texts().default([]),
    state: p.enum(webhookStates).default('ACTIVE'),
    /** Why it is not active, for people; null where its owner wanted it so. */
    reason: p.text().nullable(),
    /** While it is not active, and until it has caught up: the events after this position wait for it. */
    heldFrom: p.bigint().nullable(),
    /** Since when what has waited is to be made due, step by step; null: there is nothing to do. */
    dueAt: time().nullable(),
    /** Whether its last attempt failed. */
    failing: p.boolean().default(false),
    secret: p.text(),
    /** Still signs, beside the new one, until oldSecretUntil. */
    oldSecret: p.text().nullable(),
    oldSecretUntil: time().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
});
