import { type Selectable, sql } from 'kysely';
import type { Context } from '../context.ts';
import { ofFleetThatIsThere } from '../fleets/there.ts';
import { prepare } from '../sql/prepare.ts';
import { isoOf } from '../sql/selection.ts';
import { onPrimary } from '../sql/send.ts';
import { db, type Tables } from '../sql/tables.ts';

/** What comes due by the time in its `due_at`. Each table has an index of (company, due_at). */
type Timed = 'vehicle' | 'contract';
type Row = Pick<Selectable<Tables[Timed]>, 'company' | 'fleet_id' | 'due_at'>;

/**
 * Each company with rows that await something, and when the first of them does, as a table `turn`. One look into the index
 * for each company, however many rows it has. Rows of fleets that are being deleted await nothing.
 */
export const withCompaniesDue = (table: Timed) =>
  db.with('turn', (q) =>
    q
      .selectFrom('company as c')
      .crossJoinLateral((of) =>
        of
          .selectFrom(sql<Row>`${sql.table(table)}`.as('row'))
          .select('row.due_at')
          .whereRef('row.company', '=', 'c.company')
          .where('row.due_at', 'is not', null)
          .where(ofFleetThatIsThere('row', sql.ref('c.company')))
          .orderBy('row.due_at')
          .limit(sql.lit(1))
          .as('first'),
      )
      .select(['c.company', 'first.due_at']),
  );

const finding = (table: Timed) =>
  prepare((p: { now: Date }) =>
    withCompaniesDue(table)
      .selectFrom((q) =>
        q
          .selectFrom('turn')
          .select(({ eb }) => ['company', 'due_at', eb('due_at', '<=', sql<string>`${p.now}::timestamptz`).as('due')])
          .as('turn'),
      )
      .select(({ fn, ref }) => [
        sql<
          string[]
        >`coalesce(array_agg(${ref('company')} order by ${ref('company')}) filter (where ${ref('due')}), '{}')`.as(
          'companies',
        ),
        isoOf(fn.min('due_at').filterWhere('due', '=', sql.lit(false))).as('next'),
      ]),
  );
const find = { vehicle: finding('vehicle'), contract: finding('contract') };

/** The companies of which rows have come due, and when (ISO 8601) the first of another one will. Locks nothing. */
export async function companiesDue(ctx: Context, table: Timed): Promise<{ companies: string[]; next: string | null }> {
  const [row] = await find[table](onPrimary(ctx), { now: ctx.now() });
  return row ?? { companies: [], next: null };
}
