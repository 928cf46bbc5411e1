import { type QueryCreator, type RawBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { onNewest, onPrimary } from '../sql/send.ts';
import { db, type Tables } from '../sql/tables.ts';

// Every company has a log of its own, whose end is counted in the company's row.

/** The position of a company's last event: 0 before its first. */
export const endOfLog = (company: string | RawBuilder<string>) =>
  sql<string>`coalesce((select position from company where company = ${company}), 0)`;

const readEnd = prepare((p: { company: string }) => db.selectNoFrom(endOfLog(p.company).as('end')));

/** The position of the last event of a company; '0' before the first. */
export async function readEndOfLog(ctx: Context, company: string): Promise<string> {
  const [row] = await readEnd(onNewest(ctx), { company });
  return row?.end ?? '0';
}

/** As a step of a statement: makes the row of a company that has none. */
export const knowCompany = (company: string) => (q: QueryCreator<Tables>) =>
  q
    .insertInto('company')
    .values({ company })
    .onConflict((conflict) => conflict.doNothing());

const addCompany = prepare((p: { company: string }) => knowCompany(p.company)(db));

const lockLog = prepare((p: { company: string }) =>
  db.selectFrom('company').select('company').where('company', '=', p.company).forNoKeyUpdate(),
);

/**
 * Waits until nobody publishes events of a company, and lets nobody until the open transaction ends. Positions thereby
 * become visible in their order, and a webhook is halted, or has caught up with the log, between two events. Companies are
 * to be held in the order of their names.
 */
export async function holdPublishing(ctx: Context, company: string): Promise<void> {
  await addCompany(onPrimary(ctx), { company });
  await lockLog(onPrimary(ctx), { company });
}
