import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import type { Context } from '../context.ts';
import { anyOf, db, LOWEST_ID, lowestIdAtTime, prepare, type RowKey } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';

const DELIVERIES_KEPT_DAYS = 30;
const TRIMMED_AT_ONCE = 5000;

const d = expressionBuilder<{ d: Tables['delivery'] }, 'd'>();

/** Deletes the first finished deliveries that meet a condition, by their ids, and gives these. */
const forgetting = (which: Expression<SqlBool>) => {
  const ended = db
    .selectFrom('delivery as d')
    .select('d.id')
    .where(which)
    .where('d.state', '<>', sql.lit('PENDING'))
    .orderBy('d.id')
    .limit(TRIMMED_AT_ONCE);
  return db.deleteFrom('delivery').where('id', '=', anyOf(ended)).returning('id');
};

const forgetOld = prepare((p: { before: string }) => forgetting(d('d.id', '<', p.before)));

/** Forgets finished deliveries past their time, in small steps; gives whether there may be more. */
export async function trimDeliveries(ctx: Context): Promise<boolean> {
  const before = lowestIdAtTime(ctx.now().getTime() - DELIVERIES_KEPT_DAYS * 86_400_000);
  const { length } = await forgetOld(ctx, { before });
  return length === TRIMMED_AT_ONCE;
}

const forgetOf = prepare((p: RowKey & { after: string }) =>
  forgetting(d.and([d('d.company', '=', p.company), d('d.webhook_id', '=', p.id), d('d.id', '>', p.after)])),
);

/** Forgets a webhook's finished deliveries, in small steps. */
export async function deleteEndedDeliveries(ctx: Context, webhook: RowKey): Promise<void> {
  // Deleted rows stay in the index for a while, so each step begins after the last id.
  for (let after: string | undefined = LOWEST_ID; after; ) {
    const forgotten = await forgetOf(ctx, { ...webhook, after });
    after = forgotten.map(({ id }) => id).toSorted()[TRIMMED_AT_ONCE - 1];
  }
}
