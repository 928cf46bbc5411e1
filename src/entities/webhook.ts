import { defineEntity, p } from '@mikro-orm/core';

/** An address of a company that its events are sent to. */
export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'webhook',
  properties: {
    id: p.uuid().primary(),
    company: p.text(),
    url: p.text(),
    description: p.text().default(''),
    /** Empty for all. */
    types: p.array().default([]),
    state: p.text().default('ACTIVE'),
    /** Why it is not active, for people; null where its owner wanted it so. */
    reason: p.text().nullable(),
    /** While paused: the events after this position wait for it. */
    heldFrom: p.bigint().nullable(),
    secret: p.text(),
    /** Still signs, beside the new one, until oldSecretUntil. */
    oldSecret: p.text().nullable(),
    oldSecretUntil: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});
