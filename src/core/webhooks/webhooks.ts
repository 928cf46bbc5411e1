import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { authorize, type Context, needScope } from '../context.ts';
import { ValidationFailed, WebhookNotFound } from '../errors.ts';
import { holdPublishing } from '../events/publish-events.ts';
import { readInput } from '../input.ts';
import { jsonTable } from '../sql/json-table.ts';
import { type Page, pageSql, type Slice, sliceOf } from '../sql/page.ts';
import { isoSql, json, jsonObject } from '../sql/selection.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { isId, newId } from '../sql/sql.ts';
import { newSecret } from './signature.ts';
import { haltWebhook, resumeWebhook } from './state.ts';
import { readWebhookUrl } from './url.ts';
import { createWebhookInput, updateWebhookInput, type Webhook, type WebhookWithSecret, webhook } from './webhook.ts';

/** Every event is matched against all of them. */
const WEBHOOKS_MAX = 100;

/** Has the company's events sent to an address from now on; throws ValidationFailed. */
export async function createWebhook(ctx: Context, input: unknown): Promise<WebhookWithSecret> {
  const company = authorize(ctx, 'fleets:write');
  const fields = readInput(createWebhookInput, input);
  if (haveContracts(fields.types ?? [])) needContracts(ctx);
  const secret = newSecret();
  return ctx.em.transactional(async () => {
    const [count] = await execute<{ count: number }>(
      onPrimary(ctx),
      sql`select count(*)::int as count from webhook where company = ${company}`,
    );
    if ((count?.count ?? 0) >= WEBHOOKS_MAX)
      throw new ValidationFailed([], `A company has at most ${WEBHOOKS_MAX} webhooks.`);
    const [row] = await execute<{ json: Webhook }>(
      onPrimary(ctx),
      sql`insert into webhook as w (id, company, url, description, types, secret, created_at, updated_at)
          values (${newId()}, ${company}, ${readWebhookUrl(fields.url, urlRules(ctx))}, ${fields.description ?? ''},
            ${fields.types ?? []}::text[], ${secret}, ${ctx.now()}::timestamptz, ${ctx.now()}::timestamptz)
          returning ${webhookObject} as json`,
    );
    return withSecret(ctx, (row as { json: Webhook }).json, secret);
  });
}

/**
 * Changes a webhook. Pausing keeps its events for it; activating sends what has waited. Throws WebhookNotFound,
 * ValidationFailed, and Forbidden for whoever changes where events go that it may not read.
 */
export async function updateWebhook(ctx: Context, input: unknown): Promise<Webhook> {
  const company = authorize(ctx, 'fleets:write');
  const { id: webhookId, state, ...fields } = readInput(updateWebhookInput, input);
  return ctx.em.transactional(async () => {
    if (state === 'PAUSED') await holdPublishing(ctx);
    const before = await lockWebhook(ctx, company, webhookId);
    if (state === undefined && Object.values(fields).every((value) => value === undefined)) {
      throw new ValidationFailed([], 'Nothing to change: name at least one of url, description, types, state.');
    }
    const { url: newUrl, types = before.types, description = before.description } = fields;
    if (newUrl !== undefined || fields.types || state) await needEventsOf(ctx, before, types);
    const url = newUrl === undefined ? before.url : readWebhookUrl(newUrl, urlRules(ctx));
    if (!isDeepStrictEqual([url, description, types], [before.url, before.description, before.types])) {
      await execute(
        onPrimary(ctx),
        sql`update webhook set url = ${url}, description = ${description}, types = ${types}::text[],
              updated_at = ${ctx.now()}::timestamptz where id = ${before.id}`,
      );
    }
    if (state === 'PAUSED') await haltWebhook(ctx, before.id, 'PAUSED', null);
    if (state === 'ACTIVE' && before.state !== 'ACTIVE') await resumeWebhook(ctx, before.id);
    return lockWebhook(ctx, company, before.id);
  });
}

/** Deletes a webhook with its deliveries and gives it back as it was; throws WebhookNotFound. */
export async function deleteWebhook(ctx: Context, input: { id: string }): Promise<Webhook> {
  const company = authorize(ctx, 'fleets:write');
  return ctx.em.transactional(async () => {
    const webhook = await lockWebhook(ctx, company, input.id);
    await execute(onPrimary(ctx), sql`delete from webhook where id = ${webhook.id}`);
    return webhook;
  });
}

const OLD_SECRET_HOURS = 24;

/** Gives a webhook a new secret; the old one signs too for 24 hours. Throws WebhookNotFound and Forbidden. */
export async function rotateWebhookSecret(ctx: Context, input: { id: string }): Promise<WebhookWithSecret> {
  const company = authorize(ctx, 'fleets:write');
  const secret = newSecret();
  return ctx.em.transactional(async () => {
    const { id } = await needEventsOf(ctx, await lockWebhook(ctx, company, input.id));
    await execute(
      onPrimary(ctx),
      sql`update webhook set secret = ${secret}, old_secret = secret, updated_at = ${ctx.now()}::timestamptz,
            old_secret_until = ${ctx.now()}::timestamptz + make_interval(hours => ${OLD_SECRET_HOURS})
          where id = ${id}`,
    );
    return withSecret(ctx, await lockWebhook(ctx, company, id), secret);
  });
}

/** One webhook of the caller's company; throws WebhookNotFound. */
export async function getWebhook(ctx: Context, input: { id: string }): Promise<Webhook> {
  return webhookRow(ctx, authorize(ctx, 'fleets:read'), input.id);
}

/** A page of the company's webhooks, oldest first. */
export async function listWebhooks(ctx: Context, input: { page: Page }): Promise<Slice<Webhook>> {
  const company = authorize(ctx, 'fleets:read');
  const { within, tail } = pageSql(input.page, sql`w.id`);
  const rows = await execute<{ json: Webhook }>(
    onPrimary(ctx),
    sql`select ${webhookObject} as json from webhook w where w.company = ${company} ${within} ${tail}`,
  );
  return sliceOf(
    rows.map(({ json }) => json),
    input.page,
  );
}

/** How many webhooks listWebhooks has in all. */
export async function countWebhooks(ctx: Context): Promise<number> {
  const company = authorize(ctx, 'fleets:read');
  const [row] = await execute<{ count: number }>(
    onPrimary(ctx),
    sql`select count(*)::int as count from webhook where company = ${company}`,
  );
  return row?.count ?? 0;
}

/** A webhook of the company, locked until the transaction ends; throws WebhookNotFound. */
export const lockWebhook = (ctx: Context, company: string, webhookId: string): Promise<Webhook> =>
  webhookRow(ctx, company, webhookId, sql`for no key update`);

async function webhookRow(ctx: Context, company: string, webhookId: string, lock = sql``): Promise<Webhook> {
  const [row] = isId(webhookId)
    ? await execute<{ json: Webhook }>(
        onPrimary(ctx),
        sql`select ${webhookObject} as json from webhook w where w.id = ${webhookId} and w.company = ${company} ${lock}`,
      )
    : [];
  if (!row) throw new WebhookNotFound();
  return row.json;
}

function withSecret(ctx: Context, webhook: Webhook, secret: string): WebhookWithSecret {
  ctx.disclosure.secret = { webhookId: webhook.id, text: secret };
  return { webhook, secret };
}

export const isOfContract = (type: string): boolean => type.startsWith('contract.');
const haveContracts = (types: readonly string[]) => types.length === 0 || types.some(isOfContract);

/** What a token may not read must not be sent to an address of its choice either. */
export const needContracts = (ctx: Context): void =>
  needScope(ctx, 'contracts:read', 'Events of contracts (and so all events) need the scope contracts:read.');

/**
 * Gives the webhook, unless the caller may not read what goes there: by its types, as they are and as they are to be, or
 * since it waits to be sent.
 */
async function needEventsOf(ctx: Context, webhook: Webhook, types = webhook.types): Promise<Webhook> {
  const [waiting] = await execute(
    onPrimary(ctx),
    sql`select from delivery d join event e on e.id = d.event_id
        where d.webhook_id = ${webhook.id} and d.state = 'PENDING' and e.type like 'contract.%' limit 1`,
  );
  if (waiting || haveContracts(webhook.types) || haveContracts(types)) needContracts(ctx);
  return webhook;
}

const urlRules = (ctx: Context) => ({ loopback: ctx.services.config.WEBHOOK_LOOPBACK });

const webhookJson = jsonTable('webhook', 'w', webhook, {
  oldSecretUntil: json.orNull({
    sql: `case when w.old_secret_until > now() then ${isoSql('w.old_secret_until')} end`,
    bare: true,
  }),
});
const webhookObject = jsonObject(webhookJson);
