import { sql } from 'kysely';
import type { Context } from './context.ts';
import { write } from './sql.ts';

/** Nobody adds to a minute that has been over for so long. */
const KEPT_MINUTES = 5;

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
  const rows = await write<{ who: string; points: number }>(
    ctx,
    sql`insert into rate_use (who, minute, points)
        select who, ${new Date(minute)}::timestamptz, points
        from unnest(${ordered.map(([who]) => who)}::text[], ${ordered.map(([, points]) => points)}::int[]) as given (who, points)
        on conflict (minute, who) do update set points = rate_use.points + excluded.points
        returning who, points`,
  );
  return new Map(rows.map(({ who, points }) => [who, points]));
}

/** Forgets minutes that are over. */
export async function forgetRateUse(ctx: Context): Promise<void> {
  await write(
    ctx,
    sql`delete from rate_use where minute < ${ctx.now()}::timestamptz - make_interval(mins => ${KEPT_MINUTES})`,
  );
}
