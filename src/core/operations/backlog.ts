import { type AliasedExpression, type Expression, sql } from 'kysely';
import { dueCompaniesQuery } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { fleetExistsExpression } from '../fleets/fleet.ts';
import { asTimestamptz, db, prepare } from '../sql/sql.ts';
import { goneProviders, type WaitingPrograms, waitingPrograms } from '../vehicles/providers.ts';

/** Rows of one kind that are due and have not been taken up; `oldestSeconds` is how long the first has been waiting. */
type BacklogEntry = { kind: string; rows: number; oldestSeconds: number };

export const MOST_BACKLOG_ROWS = 100_000;

type Time = Expression<string>;
type DueRows = AliasedExpression<{ due_at: string | null }, 'due'>;

/** `oldest`: the time of the first due row, where it may not be among the counted rows. */
const waiting = (kind: string, now: Time, due: DueRows, oldest?: Expression<{ due_at: string | null }>) =>
  db
    .selectFrom(due)
    .select(({ fn }) => [
      sql<string>`${sql.lit(kind)}::text`.as('kind'),
      sql<number>`count(*)::int`.as('rows'),
      sql<number>`coalesce(extract(epoch from ${now} - ${oldest ?? fn.min('due_at')}), 0)::float8`.as('oldestSeconds'),
    ]);

/** Due rows of companies with an entry in the schedule: all of them, or the first of each company. */
const dueRows = (table: 'vehicle' | 'activation', now: Time, { first = false } = {}) =>
  db.selectFrom(dueCompaniesQuery(table, now)).crossJoinLateral((of) =>
    of
      .selectFrom(table)
      .select('due_at')
      .whereRef(`${table}.company`, '=', 'c.company')
      .where('due_at', '<=', now)
      .$if(table === 'vehicle', (q) => q.where(fleetExistsExpression(table, sql.ref('c.company'))))
      .$if(first, (q) => q.orderBy('due_at').limit(sql.lit(1)))
      .as('own'),
  );

function waitingByCompany(table: 'vehicle' | 'activation', now: Time) {
  const due = dueRows(table, now).select('own.due_at').limit(MOST_BACKLOG_ROWS).as('due');
  const oldest = dueRows(table, now, { first: true }).select(({ fn }) => fn.min('own.due_at').as('due_at'));
  return waiting(table, now, due, oldest);
}

/** Counts waiting rows of tables that have an index by `due_at` over all companies. */
const waitingRows = (table: 'import' | 'webhook', now: Time) => {
  const due = db.selectFrom(table).select('due_at').where('due_at', '<=', now).orderBy('due_at');
  return waiting(table, now, due.limit(MOST_BACKLOG_ROWS).as('due'));
};

const unpublishedEvents = (now: Time) => {
  const due = db.selectFrom('event').select('at as due_at').where('position', 'is', null);
  return waiting('event', now, due.limit(MOST_BACKLOG_ROWS).as('due'));
};

/** Deliveries of a halted webhook wait, and those of a failing one for its receiver. */
const waitingDeliveries = (now: Time) => {
  const due = db
    .selectFrom('delivery as d')
    .innerJoin('webhook as w', (on) => on.onRef('w.id', '=', 'd.webhook_id').onRef('w.company', '=', 'd.company'))
    .where('w.state', '=', sql.lit('ACTIVE'))
    .where('w.failing', '=', sql.lit(false))
    .select('d.due_at')
    .where('d.due_at', '<=', now)
    .orderBy('d.due_at')
    .limit(MOST_BACKLOG_ROWS);
  return waiting('delivery', now, due.as('due'));
};

const backlog = prepare((p: { now: Date }) => {
  const now = asTimestamptz(p.now);
  return waitingByCompany('vehicle', now)
    .unionAll(waitingByCompany('activation', now))
    .unionAll(unpublishedEvents(now))
    .unionAll(waitingRows('import', now))
    .unionAll(waitingDeliveries(now))
    .unionAll(waitingRows('webhook', now));
});

const isTold = ({ services }: Context): boolean => services.config.CONTRACTS_ACTIVATION;

/** Where manufacturers are not told about contracts, nothing waits for them. */
export const readBacklog = async (ctx: Context): Promise<BacklogEntry[]> =>
  (await backlog(ctx, { now: ctx.now() })).filter(({ kind }) => kind !== 'activation' || isTold(ctx));

export const readWaitingPrograms = async (ctx: Context): Promise<WaitingPrograms[]> =>
  isTold(ctx) ? waitingPrograms(ctx, {}) : [];

/** Programs at providers without settings stay on, whether or not manufacturers are told. */
export const readGonePrograms = (ctx: Context) => goneProviders(ctx);
