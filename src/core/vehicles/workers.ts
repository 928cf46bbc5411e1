import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { companiesWithEntries, scheduling } from '../schedule.ts';
import { prepare } from '../sql/prepare.ts';
import { isoOf } from '../sql/selection.ts';
import { onPrimary } from '../sql/send.ts';
import { anyId, anyOf } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';

// A process says that it is alive in one row of its own, however many vehicles it has claimed.

/** A process whose last sign is so old is dead, and a living one gives a sign so often. */
const ALIVE_SECONDS = 20;
export const SIGN_SECONDS = 5;

const giveSign = prepare((p: { id: string; until: Date }) =>
  db
    .insertInto('worker')
    .values({ id: p.id, alive_until: p.until })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until: p.until })),
);

/** Keeps what this process has claimed, and will claim, from other processes for a while. */
export async function stayAlive(ctx: Context): Promise<void> {
  const until = new Date(ctx.now().getTime() + ALIVE_SECONDS * 1000);
  await giveSign(onPrimary(ctx), { id: ctx.services.changes.process, until });
}

const forget = prepare((p: { ids: readonly string[]; last: Date | 'infinity' }) =>
  db
    .deleteFrom('worker')
    .where('id', '=', anyId(p.ids))
    .where('alive_until', '<=', sql<string>`${p.last}::timestamptz`),
);

/** Says that this process has no claims any more. */
export async function retire(ctx: Context): Promise<void> {
  await forget(onPrimary(ctx), { ids: [ctx.services.changes.process], last: 'infinity' });
}

const findOthers = prepare((p: { id: string; now: Date }) =>
  db
    .selectFrom('worker')
    .select(({ eb, ref }) => [
      'id',
      isoOf(ref('alive_until')).as('until'),
      eb('alive_until', '<=', sql<string>`${p.now}::timestamptz`).$castTo<boolean>().as('dead'),
    ])
    .where('id', '<>', p.id)
    .orderBy('alive_until'),
);

const findCompanies = prepare((p: { last: Date }) =>
  db.selectFrom(companiesWithEntries('vehicle', sql<string>`${p.last}::timestamptz`)).select('c.company'),
);

const release = prepare((p: { company: string; dead: readonly string[]; now: Date; last: Date }) =>
  db
    .with('held', (q) =>
      q
        .selectFrom('vehicle')
        .select('id')
        .where('company', '=', p.company)
        .where('due_at', '>', sql<string>`${p.now}::timestamptz`)
        .where('due_at', '<=', sql<string>`${p.last}::timestamptz`)
        .where('claimed_by', '=', anyId(p.dead))
        .forUpdate()
        .skipLocked(),
    )
    .with('released', (q) =>
      q
        .updateTable('vehicle')
        .set({ due_at: p.now, claimed_by: null })
        .where('company', '=', p.company)
        .where('id', '=', anyOf(q.selectFrom('held').select('id')))
        .returning(['company', 'due_at']),
    )
    .with('scheduled', (q) => scheduling(q, 'vehicle', q.selectFrom('released').select(['company', 'due_at']).as('r')))
    .selectFrom('released')
    .select('company'),
);

/**
 * Makes the vehicles due that dead processes have claimed until `last` at most; gives when (ISO 8601) another process will be
 * dead unless it gives a sign, null where there is none.
 */
export async function takeOverClaims(ctx: Context, last: Date): Promise<string | null> {
  const now = ctx.now();
  const others = await findOthers(onPrimary(ctx), { id: ctx.services.changes.process, now });
  const dead = others.filter((one) => one.dead).map(({ id }) => id);
  if (dead.length > 0) {
    // A claim is a row that comes due when it ends.
    for (const { company } of await findCompanies(onPrimary(ctx), { last }))
      await release(onPrimary(ctx), { company, dead, now, last });
    await forget(onPrimary(ctx), { ids: dead, last: now });
  }
  return others.find((one) => !one.dead)?.until ?? null;
}
