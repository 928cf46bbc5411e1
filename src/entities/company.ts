import { defineEntity, p } from '@mikro-orm/core';
import { json, texts, time, uuids } from './columns.ts';

/** A row for each company that has had a fleet or a webhook, locked by publishing and by halting a webhook. */
export const Company = defineEntity({
  name: 'Company',
  tableName: 'company',
  properties: {
    company: p.text().primary().check(`company <> ''`),
    /** The place of its last published event in its log. */
    position: p.bigint().defaultRaw('0'),
  },
});

/** Unused since 0.5.0, beside which 0.4.0 may run: the next version removes the table. */
export const RateUse = defineEntity({
  name: 'RateUse',
  tableName: 'rate_use',
  properties: {
    minute: time().primary(),
    who: p.text().primary(),
    points: p.integer(),
  },
});

/** A process that verifies vehicles or carries out contracts, while it has claims; a dead one stays until others have taken over its claims. */
export const Worker = defineEntity({
  name: 'Worker',
  tableName: 'worker',
  properties: {
    id: p.uuid().primary(),
    /** Its claims are valid until then. */
    aliveUntil: time(),
  },
});

const placementStates = ['HERE', 'COPYING', 'DRAINING', 'HELD', 'LEFT', 'ARRIVING', 'ARRIVED', 'ELSEWHERE'] as const;

/** Where a company is, for companies that were moved or placed: a row stays here, while the company's own go with it. */
export const Placement = defineEntity({
  name: 'Placement',
  tableName: 'placement',
  indexes: [{ name: 'placement_changed', properties: ['changedAt'] }],
  properties: {
    company: p.text().primary(),
    state: p.enum(placementStates),
    /** The other installation: where it is, where it goes, or where it comes from. */
    installation: p.text(),
    /** What processes acknowledge when they have ended what the state ends. */
    fence: p.uuid().nullable(),
    changedAt: time().defaultRaw('clock_timestamp()'),
  },
});

/** A process of an installation among several, while it lives. */
export const GatewayProcess = defineEntity({
  name: 'GatewayProcess',
  tableName: 'process',
  properties: {
    id: p.uuid().primary(),
    /** By the database's clock; it begins nothing after this. */
    aliveUntil: time(),
    /** The fences that it has acknowledged. */
    fences: uuids().default([]),
    /** Its accounts at providers. */
    accounts: texts().default([]),
  },
});

const scheduledKinds = ['vehicle', 'contract', 'delivery', 'activation'] as const;

/** A company has rows to work on: its earliest entry is no later than its first due row (core/companies/schedule.ts). */
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

/** The outcome of a request that named an Idempotency-Key, given again when the request is repeated; or a note that something was done (core/companies/once.ts). */
export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  indexes: [
    { name: 'idempotency_key_age', properties: ['createdAt'] },
    {
      name: 'idempotency_key_large',
      properties: ['company', 'createdAt'],
      where: 'octet_length(body) > 4096',
    },
  ],
  properties: {
    /** Empty for callers without a token. */
    company: p.text().primary(),
    /** Without a token: the caller's key and the digest of the request, since two callers may choose the same key. */
    key: p.text().primary(),
    /** SHA-256 of method, path and body. */
    request: p.text(),
    /** Null for an error, whose members are the body. */
    status: p.integer().nullable(),
    headers: json<Record<string, string>>().nullable(),
    /** Null for an answer that was let go (core/companies/kept-answers.ts), and for a note. */
    body: p.text().nullable(),
    /** The scopes that the first caller's token needed. */
    scopes: texts().defaultRaw(`'{fleets:read,fleets:write,contracts:read,contracts:write}'`),
    /** The webhook of the secret in the body. */
    secretOf: p.uuid().nullable(),
    createdAt: time(),
  },
});
