import { sql } from 'kysely';
import { z } from 'zod';
import { type Context, companyOf } from './context.ts';
import { Forbidden, ValidationFailed, WebhookNotFound } from './errors.ts';
import { id, listOf, readInput } from './input.ts';
import { type Page, pageSql, type Slice, sliceOf } from './page.ts';
import { holdPublishing } from './publish-events.ts';
import { eventTypes, MOST_TYPES } from './record-events.ts';
import { isoSql, type JsonSql, json, jsonObject } from './selection.ts';
import { isId, newId, write } from './sql.ts';
import { newSecret } from './webhooks/signature.ts';
import { haltWebhook, resumeWebhook } from './webhooks/state.ts';
import { readWebhookUrl } from './webhooks/url.ts';

export const webhookStates = ['ACTIVE', 'PAUSED', 'DISABLED'] as const;
export type WebhookState = (typeof webhookStates)[number];

/** An address that events are sent to, as both faces show it. Times are ISO 8601 UTC. */
export interface Webhook {
  id: string;
  url: string;
  description: string;
  /** Empty for all. */
  types: string[];
  /** PAUSED: events wait for it. DISABLED: the receiver said that it is gone. */
  state: WebhookState;
  /** Why it was paused or disabled by itself. */
  reason: string | null;
  /** Until when the secret before the present one signs too. */
  oldSecretUntil: string | null;
  createdAt: string;
  updatedAt: string;
}

/** With the signing secret, which is shown this once. */
export interface WebhookWithSecret {
  webhook: Webhook;
  secret: string;
}

/** Types that can be subscribed to; a test is sent to whom it is for. */
export const subscribableTypes = eventTypes.filter((type) => type !== 'webhook.test');

const types = listOf(
  z.enum(subscribableTypes, `must be one of ${subscribableTypes.join(', ')}`),
  MOST_TYPES,
  'must be a list of event types',
);
const url = z.string('is required and must be a string');
const description = z.string('must be a string').trim().max(255, 'is at most 255 characters');

export const createWebhookInput = z.object({ url, description: description.nullish(), types: types.nullish() });
export const updateWebhookInput = z.object({
  id,
  url: url.optional(),
  description: description.optional(),
  types: types.optional(),
  state: z.enum(['ACTIVE', 'PAUSED'], 'is ACTIVE or PAUSED').optional(),
});

/** Every event is matched against all of them. */
const WEBHOOKS_MAX = 100;

/** Has the company's events sent to an address from now on; throws ValidationFailed. */
export async function createWebhook(ctx: Context, input: unknown): Promise<WebhookWithSecret> {
  const company = companyOf(ctx, 'fleets:write');
  const fields = readInput(createWebhookInput, input);
  needContracts(ctx, fields.types ?? []);
  const secret = newSecret();
  return ctx.em.transactional(async () => {
    const [count] = await write<{ count: number }>(
      ctx,
      sql`select count(*)::int as count from webhook where company = ${company}`,
    );
    if ((count?.count ?? 0) >= WEBHOOKS_MAX)
      throw new ValidationFailed([], `A company has at most ${WEBHOOKS_MAX} webhooks.`);
    const [row] = await write<{ json: Webhook }>(
      ctx,
      sql`insert into webhook as w (id, company, url, description, types, secret, created_at, updated_at)
          values (${newId()}, ${company}, ${readWebhookUrl(fields.url, urlRules(ctx))}, ${fields.description ?? ''},
            ${fields.types ?? []}::text[], ${secret}, ${ctx.now()}::timestamptz, ${ctx.now()}::timestamptz)
          returning ${webhookObject} as json`,
    );
    return { webhook: (row as { json: Webhook }).json, secret };
  });
}

/**
 * Changes a webhook. Pausing keeps its events for it; activating sends what has waited. Throws WebhookNotFound and
 * ValidationFailed.
 */
export async function updateWebhook(ctx: Context, input: unknown): Promise<Webhook> {
  const company = companyOf(ctx, 'fleets:write');
  const { id: webhookId, state, ...fields } = readInput(updateWebhookInput, input);
  if (fields.types) needContracts(ctx, fields.types);
  return ctx.em.transactional(async () => {
    await holdPublishing(ctx);
    await lockWebhook(ctx, company, webhookId);
    if (state === undefined && Object.values(fields).every((value) => value === undefined)) {
      throw new ValidationFailed([], 'Nothing to change: name at least one of url, description, types, state.');
    }
    const newUrl = fields.url === undefined ? null : readWebhookUrl(fields.url, urlRules(ctx));
    await write(
      ctx,
      sql`update webhook set url = coalesce(${newUrl}, url), description = coalesce(${fields.description ?? null}, description),
            types = coalesce(${fields.types ?? null}::text[], types), updated_at = ${ctx.now()}::timestamptz
          where id = ${webhookId}`,
    );
    if (state === 'PAUSED') await haltWebhook(ctx, webhookId, 'PAUSED', null);
    if (state === 'ACTIVE') await resumeWebhook(ctx, webhookId);
    return lockWebhook(ctx, company, webhookId);
  });
}

/** Deletes a webhook with its deliveries and gives it back as it was; throws WebhookNotFound. */
export async function deleteWebhook(ctx: Context, input: { id: string }): Promise<Webhook> {
  const company = companyOf(ctx, 'fleets:write');
  return ctx.em.transactional(async () => {
    await holdPublishing(ctx);
    const webhook = await lockWebhook(ctx, company, input.id);
    await write(ctx, sql`delete from webhook where id = ${webhook.id}`);
    return webhook;
  });
}

const OLD_SECRET_HOURS = 24;

/** Gives a webhook a new secret; the old one signs too for 24 hours. Throws WebhookNotFound. */
export async function rotateWebhookSecret(ctx: Context, input: { id: string }): Promise<WebhookWithSecret> {
  const company = companyOf(ctx, 'fleets:write');
  const secret = newSecret();
  const [row] = isId(input.id)
    ? await write<{ json: Webhook }>(
        ctx,
        sql`update webhook w set secret = ${secret}, old_secret = secret, updated_at = ${ctx.now()}::timestamptz,
              old_secret_until = ${ctx.now()}::timestamptz + make_interval(hours => ${OLD_SECRET_HOURS})
            where w.id = ${input.id} and w.company = ${company} returning ${webhookObject} as json`,
      )
    : [];
  if (!row) throw new WebhookNotFound();
  return { webhook: row.json, secret };
}

/** One webhook of the caller's company; throws WebhookNotFound. */
export async function getWebhook(ctx: Context, input: { id: string }): Promise<Webhook> {
  return webhookRow(ctx, companyOf(ctx, 'fleets:read'), input.id);
}

/** A page of the company's webhooks, oldest first. */
export async function listWebhooks(ctx: Context, input: { page: Page }): Promise<Slice<Webhook>> {
  const company = companyOf(ctx, 'fleets:read');
  const { within, tail } = pageSql(input.page, sql`w.id`);
  const rows = await write<{ json: Webhook }>(
    ctx,
    sql`select ${webhookObject} as json from webhook w where w.company = ${company} ${within} ${tail}`,
  );
  return sliceOf(
    rows.map(({ json }) => json),
    input.page,
  );
}

/** How many webhooks listWebhooks has in all. */
export async function countWebhooks(ctx: Context): Promise<number> {
  const company = companyOf(ctx, 'fleets:read');
  const [row] = await write<{ count: number }>(
    ctx,
    sql`select count(*)::int as count from webhook where company = ${company}`,
  );
  return row?.count ?? 0;
}

/** A webhook of the company, locked until the transaction ends; throws WebhookNotFound. */
export const lockWebhook = (ctx: Context, company: string, webhookId: string): Promise<Webhook> =>
  webhookRow(ctx, company, webhookId, sql`for no key update`);

async function webhookRow(ctx: Context, company: string, webhookId: string, lock = sql``): Promise<Webhook> {
  const [row] = isId(webhookId)
    ? await write<{ json: Webhook }>(
        ctx,
        sql`select ${webhookObject} as json from webhook w where w.id = ${webhookId} and w.company = ${company} ${lock}`,
      )
    : [];
  if (!row) throw new WebhookNotFound();
  return row.json;
}

/** What a token may not read must not be sent to an address of its choice either. */
function needContracts(ctx: Context, wanted: readonly string[]): void {
  const contracts = wanted.length === 0 || wanted.some((type) => type.startsWith('contract.'));
  if (contracts && ctx.caller?.scopes && !ctx.caller.scopes.has('contracts:read')) {
    throw new Forbidden('Events of contracts (and so all events) need the scope contracts:read.', 'contracts:read');
  }
}

const urlRules = (ctx: Context) => ({ loopback: ctx.services.config.WEBHOOK_LOOPBACK });

const webhookJson: JsonSql<Webhook> = {
  id: json.code('w.id'),
  url: json.text('w.url'),
  description: json.text('w.description'),
  types: json.value('w.types'),
  state: json.code('w.state'),
  reason: json.orNull(json.text('w.reason')),
  oldSecretUntil: json.orNull({
    sql: `case when w.old_secret_until > now() then ${isoSql('w.old_secret_until')} end`,
    bare: true,
  }),
  createdAt: json.time('w.created_at'),
  updatedAt: json.time('w.updated_at'),
};
const webhookObject = jsonObject(webhookJson);
