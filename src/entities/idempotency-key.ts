import { defineEntity, p } from '@mikro-orm/core';
import { json, texts, time } from './columns.ts';

/** The outcome of a request that named an Idempotency-Key, given again when the request is repeated. */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  indexes: [{ name: 'idempotency_key_age', properties: ['createdAt'] }],
  properties: {
    /** Empty for callers without a token. */
    company: p.text().primary(),
    /** Of callers without a token: with the request behind it. */
    key: p.text().primary(),
    /** SHA-256 of method, path and body. */
    request: p.text(),
    /** Null for an error, whose members are the body. */
    status: p.integer().nullable(),
    headers: json<Record<string, string>>().nullable(),
    body: p.text().nullable(),
    /** What the first caller's token was asked for. */
    scopes: texts().defaultRaw(`'{fleets:read,fleets:write,contracts:read,contracts:write}'`),
    /** The webhook whose secret belongs into the body. */
    secretOf: p.uuid().nullable(),
    createdAt: time(),
  },
});
