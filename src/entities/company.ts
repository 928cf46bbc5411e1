import { defineEntity, p } from '@mikro-orm/core';
import { json, texts, time } from './columns.ts';

/** One row for each company that has, or had, a fleet or a webhook: it is locked by who publishes its events or halts its webhooks. */
export const Company = defineEntity({
  name: 'Company',
  tableName: 'company',
  properties: {
    company: p.text().primary().check(`company <> ''`),
    /** The place of its last published event in its log. */
    position: p.bigint().defaultRaw('0'),
  },
});

/** The points that all processes have counted against one company's rate in one minute. Unlogged: a crash forgives it. */
export const RateUse = defineEntity({
  name: 'RateUse',
  tableName: 'rate_use',
  properties: {
    minute: time().primary(),
    who: p.text().primary(),
    points: p.integer(),
  },
});

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

export const scheduledKinds = ['vehicle', 'contract', 'delivery'] as const;

/** Says that a company has rows to work on: the earliest entry comes no later than its first due row (core/schedule.ts). */
export const Schedule = defineEntity({
  name: 'Schedule',
  tableName: 'schedule',
  // Companies with something due are found in this order.
  indexes: [{ name: 'schedule_by_time', properties: ['kind', 'dueAt', 'company'] }],
  properties: {
    company: p.text().primary(),
    kind: p.enum(scheduledKinds).primary(),
    id: p.bigint().primary().autoincrement().columnType('bigint').generated('by default as identity'),
    dueAt: time(),
  },
});

/** The outcome of a request that named an Idempotency-Key, given again when the request is repeated. */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  indexes: [{ name: 'idempotency_key_age', properties: ['createdAt'] }],
  properties: {
    /** Empty for callers without a token. */
    company: p.text().primary(),
    /** Without a token: the key of the caller and the digest of the request, since two strangers may choose the same key. */
    key: p.text().primary(),
    /** SHA-256 of method, path and body. */
    request: p.text(),
    /** Null for an error, whose members are the body. */
    status: p.integer().nullable(),
    headers: json<Record<string, string>>().nullable(),
    body: p.text().nullable(),
    /** The scopes that the first caller's token needed. */
    scopes: texts().defaultRaw(`'{fleets:read,fleets:write,contracts:read,contracts:write}'`),
    /** The webhook whose secret belongs into the body. */
    secretOf: p.uuid().nullable(),
    createdAt: time(),
  },
});
