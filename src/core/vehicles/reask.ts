import { type Expression, sql } from 'kysely';
import { SANDBOX } from '../../manufacturers/provider.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { anyOfTexts, asTimestamptz, db, prepare, type RowKey } from '../sql/sql.ts';

// Vehicles about which the providers of this process may answer otherwise than those of an earlier start.

const AT_ONCE = 5000;

/** Makes rows due that are selected and locked. */
const makingDue = (found: Expression<RowKey>, now: Date) =>
  db
    .with('found', () => found)
    .with('made', (q) =>
      q
        .updateTable('vehicle as v')
        .from('found')
        .set(({ ref }) => ({ provider: null, due_at: sql<string>`least(${ref('v.due_at')}, ${asTimestamptz(now)})` }))
        .whereRef('v.company', '=', 'found.company')
        .whereRef('v.id', '=', 'found.id')
        .returning(['v.company', 'v.due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'vehicle', q.selectFrom('made').select(['company', 'due_at'])))
    .selectFrom('made')
    .select('company');

/** A claimed vehicle is being asked about. */
const unclaimed = () =>
  db
    .selectFrom('vehicle as v')
    .select(['v.company', 'v.id'])
    .where('v.claimed_by', 'is', null)
    .limit(sql.lit(AT_ONCE))
    .forUpdate()
    .skipLocked();

const makeInventedDue = prepare((p: { now: Date }) =>
  makingDue(unclaimed().where('v.provider', '=', sql.lit(SANDBOX)), p.now),
);

/** Has the sandbox's answers given by providers, or taken back where there are none; gives whether more may be left. */
export async function reaskInvented(ctx: Context): Promise<boolean> {
  const invents = ctx.services.manufacturers.state().some(({ id }) => id === SANDBOX);
  return !invents && announced(ctx, await makeInventedDue(ctx, { now: ctx.now() }));
}

/** Written as candidateBrands (manufacturers/brands.ts) has it. */
const wmi = sql<string>`case when substr(v.vin, 3, 1) = '9' then left(v.vin, 3) || substr(v.vin, 12, 3) else left(v.vin, 3) end`;

const makeUnsupportedDue = prepare((p: { now: Date; makers: readonly string[]; wmis: readonly string[] }) => {
  const fleets = db
    .selectFrom('vehicle_tally')
    .select(['company', 'fleet_id'])
    .where('status', '=', sql.lit('UNSUPPORTED'))
    .groupBy(['company', 'fleet_id'])
    .having(({ fn }) => fn.sum('delta'), '>', sql.lit(0));
  // Nobody was asked about a vehicle without an answer to keep.
  const ofFleet = unclaimed()
    .where('v.company', '=', sql.ref<string>('t.company'))
    .where('v.fleet_id', '=', sql.ref<string>('t.fleet_id'))
    .where('v.status', '=', sql.lit('UNSUPPORTED'))
    .where('v.manufacturer', '=', anyOfTexts(p.makers))
    .where('v.raw_answer', 'is', null)
    .where('v.due_at', '>', asTimestamptz(p.now))
    .where(wmi, '=', anyOfTexts(p.wmis));
  const all = db.selectFrom(fleets.as('t')).crossJoinLateral(() => ofFleet.as('f'));
  return makingDue(all.select(['f.company', 'f.id']).limit(sql.lit(AT_ONCE)), p.now);
});

/** Has vehicles asked about that had no provider and have one now; gives whether more may be left. */
export async function reaskUnsupported(ctx: Context): Promise<boolean> {
  const { servable } = ctx.services.manufacturers;
  return announced(ctx, await makeUnsupportedDue(ctx, { ...servable, now: ctx.now() }));
}

function announced(ctx: Context, { length }: readonly unknown[]): boolean {
  if (length > 0) ctx.services.changes.announce('due', 'vehicle');
  return length === AT_ONCE;
}
