import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { onPrimary } from '../sql/send.ts';
import { anyOf, FIRST_ID, firstIdOf, prepare } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import type { WebhookKey } from './webhook.ts';

const DELIVERIES_KEPT_DAYS = 30;
const TRIMMED_AT_ONCE = 5000;

const trim = prepare((p: { before: string }) =>
  db
    .with('old', (q) =>
      q
        .selectFrom('delivery')
        .select(['company', 'id'])
        .where('id', '<', p.before)
        .where('state', '<>', sql.lit('PENDING'))
        .orderBy('id')
        .limit(sql.lit(TRIMMED_AT_ONCE)),
    )
    .deleteFrom('delivery as d')
    .using('old')
    .whereRef('d.company', '=', 'old.company')
    .whereRef('d.id', '=', 'old.id')
    .returning(({ lit }) => lit(1).as('one')),
);

/** Forgets finished deliveries past their time, in small steps; gives whether there may be more. */
export async function trimDeliveries(ctx: Context): Promise<boolean> {
  const before = firstIdOf(ctx.now().getTime() - DELIVERIES_KEPT_DAYS * 86_400_000);
  const rows = await trim(onPrimary(ctx), { before });
  return rows.length === TRIMMED_AT_ONCE;
}

const forget = prepare((p: WebhookKey & { after: string }) =>
  db
    .with('ended', (q) =>
      q
        .selectFrom('delivery')
        .select('id')
        .where('company', '=', p.company)
        .where('webhook_id', '=', p.id)
        .where('id', '>', p.after)
        .where('state', '<>', sql.lit('PENDING'))
        .orderBy('id')
        .limit(sql.lit(TRIMMED_AT_ONCE)),
    )
    .with('gone', (q) =>
      q
        .deleteFrom('delivery')
        .where('company', '=', p.company)
        .where('id', '=', anyOf(q.selectFrom('ended').select('id'))),
    )
    .selectFrom('ended')
    .select('id')
    .orderBy('id'),
);

/** Forgets a webhook's finished deliveries, in small steps. */
export async function forgetEnded(ctx: Context, webhook: WebhookKey): Promise<void> {
  // What was deleted before the last id stays in the index for a while, and would be looked through again.
  for (let after: string | undefined = FIRST_ID; after; ) {
    const forgotten = await forget(onPrimary(ctx), { ...webhook, after });
    after = forgotten[TRIMMED_AT_ONCE - 1]?.id;
  }
}
