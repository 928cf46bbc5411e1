import { type AliasedExpression, type Expression, type QueryCreator, type Selectable, sql } from 'kysely';
import type { Context } from '../context.ts';
import { isoTimeExpression } from '../sql/selection.ts';
import { anyOf, asTimestamptz, db, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';

// A company has an entry no later than the `due_at` of any row of a kind: background work looks at such companies only.
// A transaction that makes a row due adds an entry. Entries are never changed, so writers do not wait for each other.

type ScheduleKind = Selectable<Tables['schedule']>['kind'];

type DueRow = { company: string; due_at: string | null };
type DueRows = { as<A extends string>(alias: A): AliasedExpression<DueRow, A> };

/** A `with` clause that schedules the due rows of another clause. */
export const scheduleClause = (q: QueryCreator<Tables>, kind: ScheduleKind, rows: DueRows) =>
  q
    .insertInto('schedule')
    .columns(['company', 'kind', 'due_at'])
    .expression(
      db
        .selectFrom(rows.as('r'))
        .select(({ fn }) => ['r.company', fieldKind(kind), fn.min<string>('r.due_at').as('due_at')])
        .where('r.due_at', 'is not', null)
        .groupBy('r.company'),
    );

const fieldKind = (kind: ScheduleKind) => sql<ScheduleKind>`${sql.lit(kind)}::text`.as('kind');

const add = prepare((p: { company: string; kind: ScheduleKind; now: Date }) =>
  db.insertInto('schedule').values({ company: p.company, kind: p.kind, due_at: p.now }),
);

/** Adds an entry for rows that the transaction makes due, now or later, and wakes the job. */
export async function scheduleNow(
  ctx: Context,
  kind: 'vehicle' | 'contract' | 'delivery',
  company: string,
): Promise<void> {
  await add(ctx, { company, kind, now: ctx.now() });
  // Periods of contracts are recorded by the job that publishes events.
  ctx.services.changes.announce('due', kind === 'contract' ? 'event' : kind);
}

/** The companies with an entry that is due, as a table `c`. */
export const dueCompaniesQuery = (kind: ScheduleKind, now: Expression<string>) =>
  db
    .selectFrom('schedule')
    .select('company')
    .distinct()
    .where('kind', '=', sql.lit(kind))
    .where('due_at', '<=', now)
    .as('c');

/** Entries that a look reads: what is done until the next one does not grow with the companies that have work. */
const READ_AT_ONCE = 250;
/** Entries of a company among them, before one replaces all of its entries. */
const MOST_ENTRIES = 16;

/** The last entry that a look read: the next one begins after it, and ends with what was due when the first one began. */
export type SchedulePlace = { time: string; company: string; now: Date };

const findDue = prepare((p: SchedulePlace & { kind: ScheduleKind }) =>
  db
    .selectFrom('schedule')
    // With all digits, however sessions write times.
    .select(({ ref }) => ['company', sql<string>`to_json(${ref('due_at')}) #>> '{}'`.as('time')])
    .where('kind', '=', p.kind)
    .where('due_at', '<=', asTimestamptz(p.now))
    .where(({ eb, refTuple, tuple }) => eb(refTuple('due_at', 'company'), '>', tuple(asTimestamptz(p.time), p.company)))
    .orderBy('due_at')
    .orderBy('company')
    .limit(READ_AT_ONCE),
);

const findNext = prepare((p: { kind: ScheduleKind; now: Date }) =>
  db
    .selectFrom('schedule')
    .select(({ fn }) => isoTimeExpression(fn.min<string | null>('due_at')).as('due_at'))
    .where('kind', '=', p.kind)
    .where('due_at', '>', asTimestamptz(p.now)),
);

/** Companies that may have due rows, and the next time (ISO 8601) of another, if known: now, where `last` is not the last. */
export type DueCompanies = { companies: string[]; next: string | null; last?: SchedulePlace | undefined };

/** The schedule of a kind; `first` selects the time of a company's first due row. */
export function scheduleForKind(kind: ScheduleKind, first: (company: string) => Expression<{ due_at: string | null }>) {
  const makeOne = prepare((p: { company: string }) => {
    const own = sql.lit(kind);
    const entries = db.selectFrom('schedule').select('id').where('company', '=', p.company).where('kind', '=', own);
    const firstRow = sql<{ due_at: string | null }>`(${first(p.company)})`.as('f');
    return db
      .with('deleted', (q) =>
        q
          .deleteFrom('schedule')
          .where('company', '=', p.company)
          .where('kind', '=', own)
          .where('id', '=', anyOf(entries.forUpdate().skipLocked()))
          .returning('id'),
      )
      .insertInto('schedule')
      .columns(['company', 'kind', 'due_at'])
      .expression((q) =>
        q
          .selectFrom(firstRow)
          .select(({ ref }) => [
            sql<string>`${p.company}::text`.as('company'),
            fieldKind(kind),
            ref('f.due_at').$notNull().as('due_at'),
          ])
          .where('f.due_at', 'is not', null)
          .where(({ exists, selectFrom }) => exists(selectFrom('deleted').select('deleted.id'))),
      );
  });
  /** Replaces a company's entries by one of its first row; entries that this statement cannot see or lock stay. */
  const reschedule = (ctx: Context, company: string) => makeOne(ctx, { company });
  /** Some of the companies with due entries, the longest waiting first; the next ones are `after` the last of these. */
  async function companiesDue(ctx: Context, after?: SchedulePlace): Promise<DueCompanies> {
    const at = { time: '-infinity', company: '', now: ctx.now(), ...after, kind };
    const [due, [next]] = await Promise.all([findDue(ctx, at), findNext(ctx, at)]);
    const entries = Map.groupBy(due, ({ company }) => company);
    for (const [company, own] of entries) if (own.length > MOST_ENTRIES) await reschedule(ctx, company);
    const last = due[READ_AT_ONCE - 1];
    const companies = [...entries.keys()];
    if (last) return { companies, next: at.now.toISOString(), last: { ...last, now: at.now } };
    return { companies, next: next?.due_at ?? null };
  }
  return { companiesDue, reschedule };
}
