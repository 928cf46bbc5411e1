import { defineEntity, p } from '@mikro-orm/core';
import { belongsTo, json, texts, time, uuids } from './columns.ts';

/** Most indexes hold published events only, so that recording an event does not pay for them. */
const published = 'position IS NOT NULL';
const publishedOf = (column: string) => `${published} AND ${column} IS NOT NULL`;

/** A fact as it was when it became true. Rows are written once; publishing adds `position` and `historyId`. */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'event',
  uniques: [
    { name: 'event_company_position_key', properties: ['company', 'position'], where: published },
    // Old rows of all companies are deleted in this order.
    { name: 'event_by_id', properties: ['id'] },
  ],
  indexes: [
    { name: 'event_to_publish', properties: ['company', 'seq'], where: 'position IS NULL' },
    { name: 'event_type', properties: ['company', 'type', 'position'], where: published },
    { name: 'event_by_fleet', properties: ['company', 'fleetId', 'position'], where: publishedOf('fleet_id') },
    { name: 'event_by_contract', properties: ['company', 'contractId', 'position'], where: publishedOf('contract_id') },
    { name: 'event_by_history', properties: ['company', 'historyId', 'position'], where: publishedOf('history_id') },
    { name: 'event_vehicle', properties: ['vehicleIds'], type: 'gin', where: published },
    { name: 'event_vin', properties: ['vins'], type: 'gin', where: published },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary().defaultRaw('new_uuid()'),
    /** The order of writing: a later transaction's is greater. */
    seq: p.bigint().autoincrement().columnType('bigint').generated('identity'),
    /** The position in the company's log; null until published. */
    position: p.bigint().nullable(),
    type: p.text(),
    // No foreign keys: events outlive their subjects.
    fleetId: p.uuid().nullable(),
    contractId: p.uuid().nullable(),
    vehicleIds: uuids().default([]),
    /** The VINs of vehicleIds, in their order. */
    vins: texts().default([]),
    /** The subject of the token, `anonymous` or `system`. */
    actor: p.text(),
    requestId: p.text().nullable(),
    at: time(),
    data: json<Record<string, unknown>>().defaultRaw(`'{}'`),
    /** The item of the history that the event is part of, once published. */
    historyId: p.uuid().nullable(),
  },
});

/** An item of the history: the events of a request about a fleet, or of the service of one type within an hour. */
export const History = defineEntity({
  name: 'History',
  tableName: 'history',
  uniques: [
    { name: 'history_key', properties: ['company', 'key'] },
    { name: 'history_position', properties: ['company', 'position'] },
  ],
  indexes: [{ name: 'history_by_fleet', properties: ['company', 'fleetId', 'position'] }],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary().defaultRaw('new_uuid()'),
    /** A digest of what its events have in common. */
    key: p.uuid(),
    position: p.bigint(),
    type: p.text(),
    fleetId: p.uuid().nullable(),
    importId: p.uuid().nullable(),
    actor: p.text(),
    requestId: p.text().nullable(),
    /** The maker that decided, for what manufacturers say about contracts. */
    manufacturer: p.text().nullable(),
    firstAt: time(),
    lastAt: time(),
    events: p.integer(),
    vehicles: p.integer(),
    pending: p.integer(),
    eligible: p.integer(),
    ineligible: p.integer(),
    unsupported: p.integer(),
    failed: p.integer(),
  },
});

/** Events of a type that were published, by the hour in which they happened. */
export const Activity = defineEntity({
  name: 'Activity',
  tableName: 'activity',
  properties: {
    company: p.text().primary(),
    hour: time().primary(),
    /** Zeros for events without a fleet. */
    fleetId: p.uuid().primary(),
    type: p.text().primary(),
    events: p.integer(),
    vehicles: p.integer(),
  },
});

export const webhookStates = ['ACTIVE', 'PAUSED', 'DISABLED'] as const;

export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'webhook',
  indexes: [{ name: 'webhook_due', properties: ['dueAt'], where: 'due_at IS NOT NULL' }],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary(),
    url: p.text(),
    description: p.text().default(''),
    /** Empty: all types. */
    types: texts().default([]),
    state: p.enum(webhookStates).default('ACTIVE'),
    /** Why the webhook is not active; null where its owner halted it. */
    reason: p.text().nullable(),
    /** The position after which events wait for it, while it is halted or catches up. */
    heldFrom: p.bigint().nullable(),
    /** Since when resumeWebhookStep has work; null: none. */
    dueAt: time().nullable(),
    failing: p.boolean().default(false),
    secret: p.text(),
    /** Still signs, beside the new one, until oldSecretUntil. */
    oldSecret: p.text().nullable(),
    oldSecretUntil: time().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
});

export const deliveryStates = ['PENDING', 'SUCCEEDED', 'FAILED'] as const;

/** One event on its way to one webhook, with what came of the last attempt. */
export const Delivery = defineEntity({
  name: 'Delivery',
  tableName: 'delivery',
  uniques: [
    { name: 'delivery_event', properties: ['company', 'eventId', 'webhookId'] },
    // Old rows of all companies are deleted in this order.
    { name: 'delivery_by_id', properties: ['id'] },
  ],
  indexes: [
    { name: 'delivery_by_webhook', properties: ['company', 'webhookId', 'id'] },
    { name: 'delivery_due_by_webhook', properties: ['company', 'webhookId', 'dueAt'], where: 'due_at IS NOT NULL' },
    {
      name: 'delivery_asked_by_webhook',
      properties: ['company', 'webhookId', 'dueAt'],
      where: 'asked AND (due_at IS NOT NULL)',
    },
  ],
  properties: {
    company: p.text().primary(),
    id: p.uuid().primary().defaultRaw('new_uuid()'),
    webhookId: p.uuid().persist(false),
    webhook: () => belongsTo(Webhook, 'webhook_id'),
    eventId: p.uuid().persist(false),
    event: () => belongsTo(Event, 'event_id'),
    state: p.enum(deliveryStates).default('PENDING'),
    /** One attempt only. */
    once: p.boolean().default(false),
    /** A person asked for the next attempt, whatever the state of the webhook. */
    asked: p.boolean().default(false),
    attempts: p.integer().default(0),
    /** When it is sent next, or its claim ends; null: not by itself. */
    dueAt: time().nullable(),
    claimed: p.boolean().default(false),
    url: p.text().nullable(),
    headers: json<Record<string, string>>().nullable(),
    status: p.integer().nullable(),
    /** The beginning of the answer's body. */
    answer: p.text().nullable(),
    error: p.text().nullable(),
    durationMs: p.integer().nullable(),
    createdAt: time(),
    attemptedAt: time().nullable(),
  },
});
