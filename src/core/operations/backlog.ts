import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { companiesWithDue } from '../vehicles/due-vehicles.ts';

/** Rows of one kind that are due and have not been taken up; `oldestSeconds` is how long the first has been waiting. */
export interface Backlog {
  kind: string;
  rows: number;
  oldestSeconds: number;
}

/**
 * Where the rows are that say by `due_at` when they need work, in an index of all companies'. Vehicles have one by company;
 * deliveries of webhooks that are halted need no work.
 */
const kinds = {
  import: sql`import`,
  delivery: sql`(select d.due_at from delivery d join webhook w on w.id = d.webhook_id and w.state = 'ACTIVE') delivery`,
  webhook: sql`webhook`,
};

/** Counting further would cost more than the number is worth. */
export const BACKLOG_MOST = 100_000;

/** What is waiting to be done, of all companies: for operators. */
export async function readBacklog(ctx: Context): Promise<Backlog[]> {
  const now = sql`${ctx.now()}::timestamptz`;
  const counts = Object.entries(kinds).map(
    ([kind, table]) =>
      sql`select ${kind}::text as kind, count(*)::int as rows,
            coalesce(extract(epoch from ${now} - min(due_at)), 0)::float8 as "oldestSeconds"
          from (select due_at from ${table} where due_at <= ${now} order by due_at limit ${BACKLOG_MOST}) due`,
  );
  const vehicles = sql`
    select 'vehicle'::text as kind,
      (select count(*)::int from (
        select from turn cross join lateral (select from vehicle where company = turn.company and due_at <= ${now}) own
        limit ${BACKLOG_MOST}
      ) due) as rows,
      coalesce(extract(epoch from ${now} - min(due_at) filter (where due_at <= ${now})), 0)::float8 as "oldestSeconds"
    from turn`;
  return execute<Backlog>(
    onPrimary(ctx),
    sql`with ${companiesWithDue} ${sql.join([vehicles, ...counts], sql` union all `)}`,
  );
}
