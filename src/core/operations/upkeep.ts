import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { IDEMPOTENCY_HOURS } from '../idempotency.ts';
import { execute, onPrimary } from '../sql/send.ts';

/** A fleet's tally is folded together when it has grown past this many rows. */
const TALLY_ROWS = 16;

/**
 * Folds the changes that have piled up in the tallies into one row per fleet and status. Sums stay the same throughout.
 * Fleets are held before their rows, as everywhere, since their deletion locks in this order.
 */
export async function foldTallies(ctx: Context): Promise<void> {
  await execute(
    onPrimary(ctx),
    sql`with gone as (
          delete from vehicle_tally where id in (
            select id from vehicle_tally where fleet_id in (
              select id from fleet where id in (
                select fleet_id from vehicle_tally group by fleet_id having count(*) > ${TALLY_ROWS} limit 1000
              ) for key share skip locked
            ) limit 50000 for update skip locked
          ) returning fleet_id, status, delta
        )
        insert into vehicle_tally (fleet_id, status, delta)
        select fleet_id, status, sum(delta)::int from gone group by fleet_id, status having sum(delta) <> 0`,
  );
}

/** Forgets remembered answers that are past their time, in small steps. */
export async function forgetAnswers(ctx: Context): Promise<void> {
  await execute(
    onPrimary(ctx),
    sql`delete from idempotency_key where (company, key) in (
          select company, key from idempotency_key
          where created_at <= ${ctx.now()}::timestamptz - make_interval(hours => ${IDEMPOTENCY_HOURS}) limit 5000)`,
  );
}
