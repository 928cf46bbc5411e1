import { defineEntity, p } from '@mikro-orm/core';
import { json, time } from './columns.ts';

/** The answer to a request that named an Idempotency-Key, given again when the request is repeated. */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  indexes: [{ name: 'idempotency_key_age', properties: ['createdAt'] }],
  properties: {
    /** Empty for callers without a token. */
    company: p.text().primary(),
    key: p.text().primary(),
    /** SHA-256 of method, path and body. */
    request: p.text(),
    status: p.integer().nullable(),
    headers: json<Record<string, string>>().nullable(),
    body: p.text().nullable(),
    createdAt: time(),
  },
});
