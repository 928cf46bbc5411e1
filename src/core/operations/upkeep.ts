import { sql } from 'kysely';
import { answerExpiryTime } from '../companies/idempotency.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { anyOf, anyOfIds, db, lowestIdAtTime, prepare, unnestLists } from '../sql/sql.ts';
import { updateVehicleTally } from '../vehicles/tally.ts';

/** Tallies of a fleet with more rows are summed up. */
const TALLY_ROWS = 16;

// Every change of a count records an event, so companies in the events of the last minute have changed tallies.
const ACTIVE_MINUTES = 1;
const ACTIVE_EVENTS = 10_000;

const grown = () =>
  db
    .selectFrom('vehicle_tally')
    .select(['company', 'fleet_id'])
    .groupBy(['company', 'fleet_id'])
    .having((t) => t.fn.countAll(), '>', TALLY_ROWS)
    .limit(1000);

const findGrown = prepare(grown);

const findGrownOfActive = prepare((p: { since: string }) => {
  const latest = db.selectFrom('event').select('company').where('id', '>=', p.since).orderBy('id', 'desc');
  const active = db.selectFrom(latest.limit(ACTIVE_EVENTS).as('latest')).select('company').distinct();
  return grown().where('company', '=', anyOf(active));
});

const takeAway = prepare((p: { company: string; fleets: readonly string[] }) =>
  db
    .with('held', (q) =>
      q
        .selectFrom('fleet')
        .select('id')
        .where('company', '=', p.company)
        .where('id', '=', anyOfIds(p.fleets))
        .forKeyShare()
        .skipLocked(),
    )
    .with('folded', (q) =>
      q
        .selectFrom('vehicle_tally as t')
        .innerJoin('held', 'held.id', 't.fleet_id')
        .select('t.id')
        .where('t.company', '=', p.company)
        .limit(50_000)
        .forUpdate('t')
        .skipLocked(),
    )
    .with('deleted', (q) =>
      q
        .deleteFrom('vehicle_tally as t')
        .where('t.company', '=', p.company)
        // A join would compare each row with each where the planner takes the table for empty.
        .where('t.fleet_id', '=', anyOfIds(p.fleets))
        .where(sql<boolean>`(t.id in (select id from folded)) is true`)
        .returning(['t.fleet_id', 't.status', 't.delta']),
    )
    .selectFrom('deleted')
    .select((t) => ['fleet_id', 'status', sql<number>`${t.fn.sum('delta')}::int`.as('delta')])
    .groupBy(['fleet_id', 'status']),
);

/** Sums up tallies of companies with new events, or of all. Fleets are held before their rows, in the order of their deletion. */
export async function sumUpTallies(ctx: Context, { all = false, signal }: SumUpInput = {}): Promise<void> {
  const since = lowestIdAtTime(ctx.now().getTime() - ACTIVE_MINUTES * 60_000);
  const grown = await (all ? findGrown(ctx, {}) : findGrownOfActive(ctx, { since }));
  for (const [company, fleets] of Map.groupBy(grown, (one) => one.company)) {
    if (signal?.aborted) return;
    await transaction(ctx, async () => {
      const sums = await takeAway(ctx, { company, fleets: fleets.map((one) => one.fleet_id) });
      const changes = sums.map((sum) => ({ company, ...sum }));
      await updateVehicleTally(ctx, changes);
    });
  }
}

type SumUpInput = { all?: boolean; signal?: AbortSignal };

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

/** Uses are added to a minute until it is this old. */
const KEPT_MINUTES = 5;

const addUse = prepare((p: { minute: Date; who: string[]; points: number[] }) =>
  db
    .insertInto('rate_use')
    .columns(['minute', 'who', 'points'])
    .expression((q) =>
      q
        .selectFrom(unnestLists('given', { who: [p.who, 'text'], points: [p.points, 'int'] }))
        .select([sql<Date>`${p.minute}::timestamptz`.as('minute'), 'who', 'points']),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['minute', 'who'])
        .doUpdateSet(({ eb, ref }) => ({ points: eb('rate_use.points', '+', ref('excluded.points')) })),
    )
    .returning(['who', 'points']),
);

/** Adds to the sums of all processes in a minute (ms since 1970), and gives them; `counted` is not empty. */
export async function addRateLimitUse(ctx: Context, minute: number, counted: ReadonlyMap<string, number>) {
  // One order everywhere, against deadlocks.
  const ordered = [...counted].sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = await addUse(ctx, {
    minute: new Date(minute),
    who: ordered.map(([who]) => who),
    points: ordered.map(([, points]) => points),
  });
  return new Map(rows.map(({ who, points }) => [who, points]));
}

const forgetUse = prepare((p: { before: string }) => db.deleteFrom('rate_use').where('minute', '<', p.before));

export async function deleteOldRateLimitUse(ctx: Context): Promise<void> {
  await forgetUse(ctx, { before: new Date(ctx.now().getTime() - KEPT_MINUTES * 60_000).toISOString() });
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
