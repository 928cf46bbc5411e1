import { isDeepStrictEqual } from 'node:util';
import { type InferEntity, LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/sql';
import { sql } from 'kysely';
import { Webhook as WebhookEntity } from '../../entities/event.ts';
import { scheduleNow } from '../companies/schedule.ts';
import { authorize, type Context, requireScope } from '../context.ts';
import { transaction } from '../database.ts';
import { type Precondition, requirePrecondition, ValidationFailed, WebhookNotFound } from '../errors.ts';
import { eventTypesField } from '../events/event-data.ts';
import { holdPublishing, readEndOfLog } from '../events/event-log.ts';
import { readInput } from '../input.ts';
import type { PageArguments } from '../sql/page.ts';
import { type RowWriter, readOneRow, readTextPage } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { isoTimeSql, jsonMembersOf, jsonSql } from '../sql/selection.ts';
import { db, isId, newId, prepare, type RowKey } from '../sql/sql.ts';
import { newWebhookSecret } from './sender.ts';
import { deleteEndedDeliveries } from './trim-deliveries.ts';
import {
  createWebhookInput,
  haltReasonCodes,
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
    const { description, types } = fields;
    const url = readWebhookUrl(fields.url, urlRules(ctx));
    const [id, now] = [newId(), ctx.now()];
    const times = { createdAt: now, updatedAt: now };
    const webhook = em.create(WebhookEntity, {
      ...{ id, company, url, description: description ?? '', types: types ?? [], secret, ...times },
    });
    await em.flush();
    return withSecret(ctx, webhook);
  });
}

/** Changes, pauses or activates a webhook; throws WebhookNotFound, PreconditionFailed, ValidationFailed, Forbidden. */
export async function updateWebhook(ctx: Context, input: unknown, expected?: Precondition<Webhook>): Promise<Webhook> {
  const company = authorize(ctx, 'fleets:write');
  const { id: webhookId, state, ...fields } = readInput(updateWebhookInput, input);
  return transaction(ctx, async (em) => {
    if (state === 'PAUSED') await holdPublishing(ctx, company);
    const webhook = await lockWebhook(em, company, webhookId);
    const before = await readWebhook(ctx, company, webhookId);
    requirePrecondition(before, expected);
    if (state === undefined && Object.values(fields).every((value) => value === undefined)) {
      throw new ValidationFailed([], 'Nothing to change: name at least one of url, description, types, state.');
    }
    const { url: newUrl, types = before.types, description = before.description } = fields;
    if (newUrl !== undefined || fields.types || state) await needEventsOf(ctx, webhook, types);
    const url = newUrl === undefined ? before.url : readWebhookUrl(newUrl, urlRules(ctx));
    const updatedAt = ctx.now();
    if (!isDeepStrictEqual([url, description, types], [before.url, before.description, before.types])) {
      em.assign(webhook, { url, description, types, updatedAt });
    }
    if (state === 'PAUSED' && before.state === 'ACTIVE') {
      const heldFrom = webhook.heldFrom ?? BigInt(await readEndOfLog(ctx, company));
      em.assign(webhook, { state, reason: null, dueAt: null, heldFrom, updatedAt });
    }
    if (state === 'ACTIVE' && before.state !== 'ACTIVE') {
      // core/webhooks/resume-webhooks.ts sends what has waited, in steps.
      em.assign(webhook, { state, reason: null, failing: false, dueAt: updatedAt, updatedAt });
      await scheduleNow(ctx, 'delivery', company);
      ctx.services.changes.announce('due', 'webhook');
    }
    await em.flush();
    return readWebhook(ctx, company, webhookId);
  });
}

/** Deletes a webhook; throws WebhookNotFound and PreconditionFailed. Ended deliveries go first, in small steps. */
export async function deleteWebhook(ctx: Context, input: { id: string }, expected?: Precondition<Webhook>) {
  const company = authorize(ctx, 'fleets:write');
  const before = await readWebhook(ctx, company, input.id);
  requirePrecondition(before, expected);
  await deleteEndedDeliveries(ctx, { company, id: before.id });
  return transaction(ctx, async (em) => {
    await holdPublishing(ctx, company);
    const webhook = await lockWebhook(em, company, before.id);
    const deleted = await readWebhook(ctx, company, before.id);
    requirePrecondition(deleted, expected);
    em.remove(webhook);
    return deleted;
  });
}

const OLD_SECRET_HOURS = 24;

/** Gives a webhook a new secret; the old one signs too for 24 hours. Throws WebhookNotFound and Forbidden. */
export async function rotateWebhookSecret(ctx: Context, input: { id: string }): Promise<WebhookWithSecret> {
  const company = authorize(ctx, 'fleets:write');
  return transaction(ctx, async (em) => {
    const webhook = await lockWebhook(em, company, input.id);
    await needEventsOf(ctx, webhook);
    const now = ctx.now();
    const oldSecretUntil = new Date(now.getTime() + OLD_SECRET_HOURS * 3_600_000);
    em.assign(webhook, { oldSecret: webhook.secret, oldSecretUntil, secret: newWebhookSecret(), updatedAt: now });
    await em.flush();
    return withSecret(ctx, webhook);
  });
}

export const getWebhook = (ctx: Context, input: { id: string }): Promise<Webhook> =>
  readWebhook(ctx, authorize(ctx, 'fleets:read'), input.id);

export const listWebhooks = (ctx: Context, writer: RowWriter, { page }: { page: PageArguments }) =>
  readTextPage(ctx, webhookResource, writer, { company: authorize(ctx, 'fleets:read'), page });

type WebhookRow = InferEntity<typeof WebhookEntity>;

/** A webhook of the company, locked until the transaction ends; throws WebhookNotFound. */
export async function lockWebhook(em: EntityManager, company: string, id: string): Promise<WebhookRow> {
  if (!isId(id)) throw new WebhookNotFound();
  const failHandler = () => new WebhookNotFound();
  return em.findOneOrFail(WebhookEntity, { company, id }, { lockMode: LockMode.PESSIMISTIC_WRITE, failHandler });
}

const readWebhook = (ctx: Context, company: string, id: string): Promise<Webhook> =>
  readOneRow(ctx, webhookResource, { id }, { company });

async function withSecret(ctx: Context, { company, id, secret }: WebhookRow): Promise<WebhookWithSecret> {
  ctx.disclosure.secret = { webhookId: id, text: secret };
  return { webhook: await readWebhook(ctx, company, id), secret };
}

export const isContractEventType = (type: string): boolean => type.startsWith('contract.');
const haveContracts = (types: readonly string[]) => types.length === 0 || types.some(isContractEventType);

/** A token must not redirect events that it may not read. */
export const requireContractsScope = (ctx: Context): void =>
  requireScope(ctx, 'contracts:read', 'Events of contracts (and so all events) need the scope contracts:read.');

/** Throws Forbidden unless the caller may read all events of the webhook's types, and those that wait for it. */
async function needEventsOf(
  ctx: Context,
  webhook: WebhookRow,
  types: readonly string[] = webhook.types,
): Promise<void> {
  const { company, id } = webhook;
  const wanted = haveContracts(webhook.types) || haveContracts(types);
  const [waiting] = wanted ? [] : await contractsWaiting(ctx, { company, id });
  if (wanted || waiting) requireContractsScope(ctx);
}

const urlRules = (ctx: Context) => ({ loopback: ctx.services.config.WEBHOOK_LOOPBACK });

const webhookJson = jsonMembersOf('webhook', 'w', webhookSchema, {
  reasonCode: jsonSql.orNull({
    sql: `case when w.reason is not null then ${jsonSql.oneOf('w.state', haltReasonCodes, '').sql} end`,
    bare: true,
  }),
  oldSecretUntil: jsonSql.orNull({
    sql: `case when w.old_secret_until > $now::timestamptz then ${isoTimeSql('w.old_secret_until')} end`,
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
