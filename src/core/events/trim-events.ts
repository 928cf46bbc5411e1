import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { firstIdOf } from '../sql/ids.ts';
import { anyOf, db, prepare } from '../sql/sql.ts';

const TRIMMED_AT_ONCE = 1000;

/** Deletes old events with their deliveries and history, in small steps; gives whether there may be more. */
export async function trimEvents(ctx: Context): Promise<boolean> {
  const oldest = ctx.now().getTime() - ctx.services.config.EVENTS_KEEP_DAYS * 86_400_000;
  const { length } = await trim(ctx, { before: firstIdOf(oldest), time: new Date(oldest) });
  return length === TRIMMED_AT_ONCE;
}

const trim = prepare((p: { before: string; time: Date }) =>
  db
    .with('old', (q) =>
      q
        .selectFrom('event')
        .select(['company', 'id'])
        .where('id', '<', p.before)
        .where('position', 'is not', null)
        .orderBy('id')
        .limit(TRIMMED_AT_ONCE),
    )
    .with('companies', (q) => q.selectFrom('old').select('company').distinct())
    .with('history_gone', (q) =>
      q
        .deleteFrom('history as h')
        .using('companies as c')
        .whereRef('h.company', '=', 'c.company')
        .where('h.id', '=', (of) =>
          anyOf(
            of
              .selectFrom('history')
              .innerJoin('companies', 'companies.company', 'history.company')
              .select('history.id')
              .where('history.id', '<', p.before)
              .limit(TRIMMED_AT_ONCE),
          ),
        ),
    )
    .with('activity_gone', (q) =>
      q
        .deleteFrom('activity as a')
        .using('companies as c')
        .whereRef('a.company', '=', 'c.company')
        .where('a.hour', '<', sql<string>`date_trunc('hour', ${p.time}::timestamptz, 'UTC')`),
    )
    .deleteFrom('event')
    .where('id', '=', (of) => anyOf(of.selectFrom('old').select('id')))
    .returning('id'),
);
