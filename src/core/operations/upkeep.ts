import { sql } from 'kysely';
import { answerExpiryTime } from '../companies/idempotency.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { IN_ATTENTION } from '../fleets/fleets.ts';
import { anyOf, anyOfIds, db, lowestIdAtTime, prepare } from '../sql/sql.ts';

const FLEETS_AT_ONCE = 500;

/** Fleets with changes that their sums do not have. */
const findBehind = prepare(() =>
  db
    .selectFrom('vehicle_tally')
    .select(['company', 'fleet_id'])
    .distinct()
    .where('counted', '=', sql.lit(false))
    .limit(FLEETS_AT_ONCE),
);

type Fleets = { company: string; fleets: readonly string[] };

/** Writers of vehicles hold the fleet's key alone, and go on. */
const hold = prepare((p: Fleets) =>
  db
    .selectFrom('fleet')
    .select('id')
    .where('company', '=', p.company)
    .where('id', '=', anyOfIds(p.fleets))
    .orderBy('id')
    .forNoKeyUpdate()
    .skipLocked(),
);

/** A row for each status in place of all changes, and their sums in the fleet, where they differ. */
const sumUp = prepare((p: Fleets) =>
  db
    .with('taken', (q) =>
      q
        .deleteFrom('vehicle_tally')
        .where('company', '=', p.company)
        .where('fleet_id', '=', anyOfIds(p.fleets))
        .returning(['fleet_id', 'status', 'delta']),
    )
    .with('sums', (q) =>
      q
        .selectFrom('taken')
        .select(({ fn }) => ['fleet_id', 'status', sql<number>`${fn.sum('delta')}::int`.as('delta')])
        .groupBy(['fleet_id', 'status']),
    )
    .with('summed_up', (q) => {
      const company = sql<string>`${p.company}::text`.as('company');
      const rows = q.selectFrom('sums').where('delta', '<>', 0);
      return q
        .insertInto('vehicle_tally')
        .columns(['company', 'fleet_id', 'status', 'delta', 'counted'])
        .expression(rows.select(({ lit }) => [company, 'fleet_id', 'status', 'delta', lit(true).as('counted')]));
    })
    .with('numbers', (q) =>
      q
        .selectFrom('sums')
        .select('fleet_id')
        .select(sql<number>`sum(delta)`.as('vehicles'))
        .select(sql<number>`coalesce(sum(delta) filter (where ${sql.raw(IN_ATTENTION)}), 0)`.as('attention'))
        .groupBy('fleet_id'),
    )
    .updateTable('fleet as f')
    .from('numbers as n')
    .set(({ ref }) => ({ vehicle_count: ref('n.vehicles'), attention_count: ref('n.attention') }))
    .where('f.company', '=', p.company)
    // A join alone would compare each fleet with each sum where the planner takes the table for empty.
    .where('f.id', '=', anyOfIds(p.fleets))
    .whereRef('f.id', '=', 'n.fleet_id')
    .where(sql<boolean>`(f.vehicle_count, f.attention_count) <> (n.vehicles, n.attention)`),
);

/** Sums up the changes of some fleets, and gives whether there may be more: only a statement after the lock sees all of them. */
export async function sumUpTallies(ctx: Context, signal?: AbortSignal): Promise<boolean> {
  const behind = await findBehind(ctx, {});
  let held = 0;
  for (const [company, fleets] of Map.groupBy(behind, (one) => one.company)) {
    if (signal?.aborted) return false;
    await transaction(ctx, async () => {
      const rows = await hold(ctx, { company, fleets: fleets.map((one) => one.fleet_id) });
      held += rows.length;
      if (rows.length > 0) await sumUp(ctx, { company, fleets: rows.map((one) => one.id) });
    });
  }
  return behind.length === FLEETS_AT_ONCE && held > 0;
}

const FORGOTTEN_AT_ONCE = 5000;

const forget = prepare((p: { before: string }) =>
  db
    .with('old', (q) =>
      q
        .selectFrom('idempotency_key')
        .select(['company', 'key'])
        .where('created_at', '<=', p.before)
        .limit(sql.lit(FORGOTTEN_AT_ONCE)),
    )
    .deleteFrom('idempotency_key as k')
    .using('old')
    .whereRef('k.company', '=', 'old.company')
    .whereRef('k.key', '=', 'old.key')
    .returning(({ lit }) => lit(1).as('one')),
);

/** Deletes expired answers in small steps; gives whether there may be more. */
export async function deleteExpiredAnswers(ctx: Context): Promise<boolean> {
  const rows = await forget(ctx, { before: answerExpiryTime(ctx) });
  return rows.length === FORGOTTEN_AT_ONCE;
}

const TRIMMED_AT_ONCE = 1000;

/** Deletes old events with their deliveries and history, in small steps; gives whether there may be more. */
export async function trimEvents(ctx: Context): Promise<boolean> {
  const oldest = ctx.now().getTime() - ctx.services.config.EVENTS_KEEP_DAYS * 86_400_000;
  const { length } = await forgetEvents(ctx, { before: lowestIdAtTime(oldest), time: new Date(oldest) });
  return length === TRIMMED_AT_ONCE;
}

const forgetEvents = prepare((p: { before: string; time: Date }) =>
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
    .with('companies', (q) =>
      q
        .selectFrom(q.selectFrom('old').select('company').distinct().as('o'))
        .select('o.company')
        // A company without later events is not looked at again: its last hour goes, too.
        .select(({ exists, not, selectFrom }) =>
          not(
            exists(
              selectFrom('event as e')
                .select('e.id')
                .whereRef('e.company', '=', 'o.company')
                .where('e.id', '>=', p.before),
            ),
          )
            .$castTo<boolean>()
            .as('silent'),
        ),
    )
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
        .where(sql<boolean>`(c.silent or a.hour < date_trunc('hour', ${p.time}::timestamptz, 'UTC'))`),
    )
    .deleteFrom('event')
    .where('id', '=', (of) => anyOf(of.selectFrom('old').select('id')))
    .returning('id'),
);

/** Rebuilds an index of the embedded database if it does not have every row. */
export async function mendIndex({ services: { database, changes } }: Context, name: string): Promise<void> {
  if (await database.indexes?.mend(name)) changes.emit('outcome', 'index', name, 1);
}
