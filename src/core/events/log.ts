import { type QueryCreator, type RawBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db, type Tables } from '../sql/tables.ts';

// Every company has a log of its own, whose end is counted in the company's row.

/** Where a company's log ends: 0 before its first event. Positions of the version before are not counted in its row. */
export const endOfLog = (company: string | RawBuilder<string>) => sql<string>`greatest(
  (select position from company where company = ${company}),
  (select max(position) from event where company = ${company} and position is not null), 0)`;

const readEnd = prepare((p: { company: string }) => db.selectNoFrom(endOfLog(p.company).as('end')));

/** The position of the last event of a company; '0' before the first. */
export async function readEndOfLog(ctx: Context, company: string): Promise<string> {
  const [row] = await readEnd(onPrimary(ctx), { company });
  return row?.end ?? '0';
}

/** As a step of a statement: makes the row of a company that has none. */
export const knowCompany = (company: string) => (q: QueryCreator<Tables>) =>
  q
    .insertInto('company')
    .values({ company })
    .onConflict((conflict) => conflict.doNothing());

const addCompany = prepare((p: { company: string }) => knowCompany(p.company)(db));

/** Any number will do, as long as it is that of the version before. */
const PUBLISHING_LOCK = 4_071_927;

/**
 * Keeps processes of the version before from publishing, and each other, until the open transaction ends: as long as
 * these may run, the order is one over all companies. Does nothing once `npm run migrate -- finish` has been run.
 */
export const holdVersionBefore = prepare((_: object) =>
  db.selectNoFrom(
    sql`case when to_regclass('event_position') is not null then pg_advisory_xact_lock(${PUBLISHING_LOCK}::bigint) end`.as(
      'held',
    ),
  ),
);

const lockLog = prepare((p: { company: string }) =>
  db.selectFrom('company').select('company').where('company', '=', p.company).forNoKeyUpdate(),
);

/**
 * Waits until nobody publishes events of a company, and lets nobody until the open transaction ends. Positions thereby
 * become visible in their order, and a webhook is halted, or has caught up with the log, between two events. Companies are
 * to be held in the order of their names.
 */
export async function holdPublishing(ctx: Context, company: string): Promise<void> {
  await holdVersionBefore(onPrimary(ctx), {});
  await addCompany(onPrimary(ctx), { company });
  await lockLog(onPrimary(ctx), { company });
}
