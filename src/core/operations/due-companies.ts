import { type Expression, type Selectable, type SqlBool, sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepareVariants } from '../sql/prepare.ts';
import { isoOf } from '../sql/selection.ts';
import { onPrimary } from '../sql/send.ts';
import { db, type Tables } from '../sql/tables.ts';
import { fleetsBeingDeleted } from './delete-fleets.ts';

/** What comes due by the time in its `due_at`. Each table has an index of (company, due_at). */
type Timed = 'vehicle' | 'contract';
type Row = Pick<Selectable<Tables[Timed]>, 'company' | 'due_at'>;

/**
 * Each company with rows that await something, and when the first of them does, as a table `turn`. One look into the index
 * for each company, however many rows it has. `counts` is a condition on a `row`.
 */
export const withCompaniesDue = (table: Timed, counts: Expression<SqlBool>) =>
  db.with('turn', (q) =>
    q
      .selectFrom('company as c')
      .crossJoinLateral((of) =>
        of
          .selectFrom(sql<Row>`${sql.table(table)}`.as('row'))
          .select('row.due_at')
          .whereRef('row.company', '=', 'c.company')
          .where('row.due_at', 'is not', null)
          .where(counts)
          .orderBy('row.due_at')
          .limit(sql.lit(1))
          .as('first'),
      )
      .select(['c.company', 'first.due_at']),
  );

const finding = (table: Timed) =>
  prepareVariants<{ now: Date; gone: readonly string[] | null }>()(['gone'], (p, has) =>
    // Without the condition, the look reads the index alone.
    withCompaniesDue(table, has.gone ? sql<SqlBool>`row.fleet_id <> all(${p.gone}::uuid[])` : sql.lit(true))
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

/**
 * The companies of which rows have come due, and when (ISO 8601) the first of another one will; rows of fleets that are being
 * deleted await nothing. Locks nothing.
 */
export async function companiesDue(ctx: Context, table: Timed): Promise<{ companies: string[]; next: string | null }> {
  const gone = (await fleetsBeingDeleted(ctx)).map(({ id }) => id);
  const [row] = await find[table](onPrimary(ctx), { now: ctx.now(), gone: gone.length > 0 ? gone : null });
  return row ?? { companies: [], next: null };
}
