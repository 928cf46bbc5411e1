import { sql } from 'kysely';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { anyOfTexts, asTimestamptz, db, prepare } from '../sql/sql.ts';

const AT_ONCE = 5000;

const makeDue = prepare((p: { providers: readonly string[]; code: string; now: Date }) => {
  const now = asTimestamptz(p.now);
  const waiting = db
    .selectFrom('activation')
    .select(['company', 'id'])
    .where('provider', '=', anyOfTexts(p.providers))
    .where(sql<boolean>`reason ->> 'code' = ${p.code}`)
    .where('claimed_by', 'is', null)
    .where('due_at', '>', now)
    .limit(sql.lit(AT_ONCE))
    .forUpdate()
    .skipLocked();
  return db
    .with('waiting', () => waiting)
    .with('made', (q) =>
      q
        .updateTable('activation as a')
        .from('waiting')
        .set({ due_at: now })
        .whereRef('a.company', '=', 'waiting.company')
        .whereRef('a.id', '=', 'waiting.id')
        .returning(['a.company', 'a.due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('made').select(['company', 'due_at'])))
    .selectFrom('made')
    .select('company');
});

/** Has programs looked at that waited for a provider without settings, which has some now; gives whether more may be left. */
export async function resumeProviders(ctx: Context): Promise<boolean> {
  const { manufacturers } = ctx.services;
  const providers = manufacturers.state().flatMap(({ id }) => (manufacturers.activatorOf(id) ? id : []));
  const { code } = manufacturers.noActivation;
  return (await makeDue(ctx, { providers, code, now: ctx.now() })).length === AT_ONCE;
}
