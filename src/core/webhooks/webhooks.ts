import { isDeepStrictEqual } from 'node:util';
import { raw } from '@mikro-orm/core';
import { sql } from 'kysely';
import { Webhook as WebhookEntity } from '../../entities/event.ts';
import { authorize, type Context, requireScope } from '../context.ts';
import { transaction } from '../database.ts';
import { type Precondition, requirePrecondition, ValidationFailed, WebhookNotFound } from '../errors.ts';
import { eventTypesField } from '../events/event-data.ts';
import { holdPublishing } from '../events/log.ts';
import { readInput } from '../input.ts';
import { scheduleNow } from '../schedule.ts';
import type { PageArguments } from '../sql/page.ts';
import { type RowWriter, readOneRow, readTextPage } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { isoTimeSql, jsonMembersOf, jsonObjectExpression, jsonSql } from '../sql/selection.ts';
import { db, isId, newId, prepare, type RowKey } from '../sql/sql.ts';
import { newWebhookSecret } from './sender.ts';
import { deleteEndedDeliveries } from './trim-deliveries.ts';
import {
  createWebhookInput,
  haltWebhook,
  readWebhookUrl,
  updateWebhookInput,
  type Webhook,
  type WebhookWithSecret,
  webhookSchema,
} from './webhook.ts';

/** Every event is matched against all of them. */
const WEBHOOKS_MAX = 100;

/** Creates a webhook for later events; throws ValidationFailed. */
export async function createWebhook(ctx: Context, input: unknown): Promise<WebhookWithSecret> {
  const company = authorize(ctx, 'fleets:write');
  const fields = readInput(createWebhookInput, input);
  if (haveContracts(fields.types ?? [])) requireContractsScope(ctx);
  const secret = newWebhookSecret();
  return transaction(ctx, async (em) => {
    // In turn, else two creations could both be the last.
    await holdPublishing(ctx, company);
    if ((await em.count(WebhookEntity, { company })) >= WEBHOOKS_MAX)
      throw new ValidationFailed([], `A company has at most ${WEBHOOKS_MAX} webhooks. Delete one first.`);
    const url = readWebhookUrl(fields.url, urlRules(ctx));
    const texts = { url, description: fields.description ?? '', types: fields.types ?? [] };
    const [id, now] = [newId(), ctx.now()];
    await em.insert(WebhookEntity, { id, company, ...texts, secret, createdAt: now, updatedAt: now });
    return withSecret(ctx, await lockWebhook(ctx, company, id), secret);
  });
}

/** Changes, pauses or activates a webhook; throws WebhookNotFound, PreconditionFailed, ValidationFailed, Forbidden. */
export async function updateWebhook(ctx: Context, input: unknown, expected?: Precondition<Webhook>): Promise<Webhook> {
  const company = authorize(ctx, 'fleets:write');
  const { id: webhookId, state, ...fields } = readInput(updateWebhookInput, input);
  return transaction(ctx, async (em) => {
    if (state === 'PAUSED') await holdPublishing(ctx, company);
    const before = await lockWebhook(ctx, company, webhookId);
    requirePrecondition(before, expected);
    const { id } = before;
    if (state === undefined && Object.values(fields).every((value) => value === undefined)) {
      throw new ValidationFailed([], 'Nothing to change: name at least one of url, description, types, state.');
    }
    const { url: newUrl, types = before.types, description = before.description } = fields;
    if (newUrl !== undefined || fields.types || state) await needEventsOf(ctx, company, before, types);
    const url = newUrl === undefined ? before.url : readWebhookUrl(newUrl, urlRules(ctx));
    const now = ctx.now();
    if (!isDeepStrictEqual([url, description, types], [before.url, before.description, before.types])) {
      await em.nativeUpdate(WebhookEntity, { company, id }, { url, description, types, updatedAt: now });
    }
    if (state === 'PAUSED') await haltWebhook(ctx, { company, id, state, reason: null, now });
    if (state === 'ACTIVE' && before.state !== 'ACTIVE') {
      // core/webhooks/resume-webhooks.ts sends what has waited, in steps.
      const resumed = { state, reason: null, failing: false, dueAt: now, updatedAt: now };
      await em.nativeUpdate(WebhookEntity, { company, id }, resumed);
      await scheduleNow(ctx, 'delivery', company);
      ctx.services.changes.announce('due', 'webhook');
    }
    return lockWebhook(ctx, company, id);
  });
}

/** Deletes a webhook; throws WebhookNotFound and PreconditionFailed. Ended deliveries go first, in small steps. */
export async function deleteWebhook(ctx: Context, input: { id: string }, expected?: Precondition<Webhook>) {
  const company = authorize(ctx, 'fleets:write');
  const before = await readOneRow<Webhook>(ctx, webhookResource, input, { company });
  requirePrecondition(before, expected);
  await deleteEndedDeliveries(ctx, { company, id: before.id });
  return transaction(ctx, async (em) => {
    await holdPublishing(ctx, company);
    const webhook = await lockWebhook(ctx, company, before.id);
    requirePrecondition(webhook, expected);
    await em.nativeDelete(WebhookEntity, { company, id: webhook.id });
    return webhook;
  });
}

const OLD_SECRET_HOURS = 24;

/** Gives a webhook a new secret; the old one signs too for 24 hours. Throws WebhookNotFound and Forbidden. */
export async function rotateWebhookSecret(ctx: Context, input: { id: string }): Promise<WebhookWithSecret> {
  const company = authorize(ctx, 'fleets:write');
  const secret = newWebhookSecret();
  return transaction(ctx, async (em) => {
    const webhook = await lockWebhook(ctx, company, input.id);
    await needEventsOf(ctx, company, webhook);
    const { id } = webhook;
    const now = ctx.now();
    const old = { oldSecret: raw('secret'), oldSecretUntil: new Date(now.getTime() + OLD_SECRET_HOURS * 3_600_000) };
    await em.nativeUpdate(WebhookEntity, { company, id }, { secret, ...old, updatedAt: now });
    return withSecret(ctx, await lockWebhook(ctx, company, id), secret);
  });
}

export const getWebhook = (ctx: Context, input: { id: string }): Promise<Webhook> =>
  readOneRow(ctx, webhookResource, input, { company: authorize(ctx, 'fleets:read') });

export const listWebhooks = (ctx: Context, writer: RowWriter, { page }: { page: PageArguments }) =>
  readTextPage(ctx, webhookResource, writer, { company: authorize(ctx, 'fleets:read'), page });

/** A webhook of the company, locked until the transaction ends; throws WebhookNotFound. */
export async function lockWebhook(ctx: Context, company: string, id: string): Promise<Webhook> {
  const [row] = isId(id) ? await lockOne(ctx, { company, id }) : [];
  if (!row) throw new WebhookNotFound();
  return row.json;
}

function withSecret(ctx: Context, webhook: Webhook, secret: string): WebhookWithSecret {
  ctx.disclosure.secret = { webhookId: webhook.id, text: secret };
  return { webhook, secret };
}

export const isContractEventType = (type: string): boolean => type.startsWith('contract.');
const haveContracts = (types: readonly string[]) => types.length === 0 || types.some(isContractEventType);

/** A token must not redirect events that it may not read. */
export const requireContractsScope = (ctx: Context): void =>
  requireScope(ctx, 'contracts:read', 'Events of contracts (and so all events) need the scope contracts:read.');

/** Throws Forbidden unless the caller may read all events of the webhook's types, and those that wait for it. */
async function needEventsOf(ctx: Context, company: string, webhook: Webhook, types = webhook.types): Promise<void> {
  const wanted = haveContracts(webhook.types) || haveContracts(types);
  const [waiting] = wanted ? [] : await contractsWaiting(ctx, { company, id: webhook.id });
  if (wanted || waiting) requireContractsScope(ctx);
}

const urlRules = (ctx: Context) => ({ loopback: ctx.services.config.WEBHOOK_LOOPBACK });

const webhookJson = jsonMembersOf('webhook', 'w', webhookSchema, {
  oldSecretUntil: jsonSql.orNull({
    sql: `case when w.old_secret_until > now() then ${isoTimeSql('w.old_secret_until')} end`,
    bare: true,
  }),
});

export const webhookResource: Resource = {
  table: 'webhook w',
  id: 'w.id',
  members: webhookJson,
  fields: { types: eventTypesField('w.types') },
  conditions: { id: ['w.id = ?::uuid', idOrNull] },
  primary: true,
  missing: () => new WebhookNotFound(),
};

const lockOne = prepare((p: RowKey) =>
  db
    .selectFrom('webhook as w')
    .select(jsonObjectExpression<Webhook>(webhookJson).as('json'))
    .where('w.company', '=', p.company)
    .where('w.id', '=', p.id)
    .forNoKeyUpdate(),
);

const contractsWaiting = prepare((p: RowKey) =>
  db
    .selectFrom('delivery as d')
    .innerJoin('event as e', 'e.id', 'd.event_id')
    .select('d.id')
    .where('d.company', '=', p.company)
    .where('d.webhook_id', '=', p.id)
    .where('d.state', '=', sql.lit('PENDING'))
    // An index has due deliveries only; ended ones stay for a month.
    .where('d.due_at', 'is not', null)
    .where('e.company', '=', p.company)
    .where('e.type', 'like', sql.lit('contract.%'))
    .limit(sql.lit(1)),
);
