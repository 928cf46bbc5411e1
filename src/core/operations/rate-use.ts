import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { listRows } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';

/** Nobody adds to a minute that has been over for so long. */
const KEPT_MINUTES = 5;

const addUse = prepare((p: { minute: Date; who: string[]; points: number[] }) =>
  db
    .insertInto('rate_use')
    .columns(['minute', 'who', 'points'])
    .expression((q) =>
      q
        .selectFrom(listRows('given', { who: [p.who, 'text'], points: [p.points, 'int'] }))
        .select([sql<Date>`${p.minute}::timestamptz`.as('minute'), 'who', 'points']),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['minute', 'who'])
        .doUpdateSet(({ eb, ref }) => ({ points: eb('rate_use.points', '+', ref('excluded.points')) })),
    )
    .returning(['who', 'points']),
);

/**
 * Adds to what all processes have counted in a minute (ms since 1970), and gives those sums. `counted` names at least one.
 */
export async function shareRateUse(
  ctx: Context,
  minute: number,
  counted: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  // In the same order everywhere: two processes that add at once wait for each other, and not crosswise.
  const ordered = [...counted].sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = await addUse(onPrimary(ctx), {
    minute: new Date(minute),
    who: ordered.map(([who]) => who),
    points: ordered.map(([, points]) => points),
  });
  return new Map(rows.map(({ who, points }) => [who, points]));
}

const forgetUse = prepare((p: { before: string }) => db.deleteFrom('rate_use').where('minute', '<', p.before));

/** Forgets minutes that are over. */
export async function forgetRateUse(ctx: Context): Promise<void> {
  await forgetUse(onPrimary(ctx), { before: new Date(ctx.now().getTime() - KEPT_MINUTES * 60_000).toISOString() });
}
