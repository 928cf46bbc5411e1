import { sql } from 'kysely';
import type { DueKind } from '../changes.ts';
import type { Context } from '../context.ts';
import { isoTimeExpression } from '../sql/selection.ts';
import { anyOfIds, asTimestamptz, db, prepare } from '../sql/sql.ts';
import { scheduleClause } from './schedule.ts';

// A process claims vehicles (core/vehicles/due-vehicles.ts) and programs of contracts (core/activation/due-activations.ts) until a time.
// Claims of a dead process end earlier. Its sign of life is one row for all of them. A claim whose answer is lost, its process gives back.

export const providerTimeoutMs = ({ services }: Context): number => services.config.PROVIDER_TIMEOUT_SECONDS * 1000;

/** The end of a claim that is made now and outlives so many time-outs of a provider. */
export const claimEnd = (ctx: Context, timeouts: number): string =>
  new Date(ctx.now().getTime() + timeouts * providerTimeoutMs(ctx)).toISOString();

/** A process without a sign of life for so long is dead. */
const ALIVE_SECONDS = 20;
export const SIGN_OF_LIFE_SECONDS = 5;
/** No sign of life reaches so far ahead, unless by a clock that is wrong: clocks may differ by some seconds. */
const LONGEST_ALIVE_SECONDS = 3 * ALIVE_SECONDS;

const live = prepare((p: { id: string; until: Date }) =>
  db
    .insertInto('worker')
    .values({ id: p.id, alive_until: p.until })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ alive_until: p.until })),
);

/** Keeps the claims of this process from other processes; gives until when (ms since 1970). */
export async function giveSignOfLife(ctx: Context): Promise<number> {
  const until = new Date(ctx.now().getTime() + ALIVE_SECONDS * 1000);
  await live(ctx, { id: ctx.services.changes.process, until });
  return until.getTime();
}

/** Whether a process gives no sign of life at a time, and none that can be true. */
const isDead = (now: Date) =>
  sql<boolean>`(alive_until <= ${now}::timestamptz
    or alive_until > ${now}::timestamptz + make_interval(secs => ${sql.lit(LONGEST_ALIVE_SECONDS)}))`;

const forget = prepare((p: { ids: readonly string[] }) => db.deleteFrom('worker').where('id', '=', anyOfIds(p.ids)));

const forgetDead = prepare((p: { ids: readonly string[]; now: Date }) =>
  db.deleteFrom('worker').where('id', '=', anyOfIds(p.ids)).where(isDead(p.now)),
);

/** This process has no claims any more. */
export async function unregisterWorker(ctx: Context): Promise<void> {
  await forget(ctx, { ids: [ctx.services.changes.process] });
}

const findOthers = prepare((p: { id: string; now: Date }) =>
  db
    .selectFrom('worker')
    .select(({ ref }) => ['id', isoTimeExpression(ref('alive_until')).as('until'), isDead(p.now).as('dead')])
    .where('id', '<>', p.id)
    .orderBy('alive_until'),
);

const RELEASED_AT_ONCE = 1000;

type Released = { company: string; due_at: string };
type Release = { dead: readonly string[]; now: Date; end: Date };

/** A `with` clause that ends claims of dead processes, whatever their companies; `end`: what becomes of a claim. */
const release = (table: 'vehicle' | 'activation', dead: readonly string[], at: Date, end: string) =>
  sql<Released>`(
    with held as materialized (
      select company, id from ${sql.table(table)} where claimed_by = ${anyOfIds(dead)} and claimed_by is not null
        and due_at > ${at}::timestamptz limit ${sql.lit(RELEASED_AT_ONCE)} for update skip locked
    )
    update ${sql.table(table)} one set ${sql.raw(end)}due_at = ${at}::timestamptz from held
    where one.company = held.company and one.id = held.id returning one.company, one.due_at)`;

/** A program stays claimed for one time-out: a call of the dead process that is still carried out must not overtake the next one. */
const releaseAll = prepare((p: Release) =>
  db
    .with('vehicles', () => release('vehicle', p.dead, p.now, 'claimed_by = null, '))
    .with('programs', () => release('activation', p.dead, p.end, ''))
    .with('vehicles_due', (q) => scheduleClause(q, 'vehicle', q.selectFrom('vehicles').selectAll()))
    .with('programs_due', (q) => scheduleClause(q, 'activation', q.selectFrom('programs').selectAll()))
    .selectFrom('vehicles')
    .select(sql<DueKind>`'vehicle'`.as('kind'))
    .unionAll((q) => q.selectFrom('programs').select(sql<DueKind>`'activation'`.as('kind'))),
);

/** Ends the claims of dead processes; gives when (ISO 8601) the next process may be dead. */
export async function takeOverClaims(ctx: Context): Promise<string | null> {
  const { changes } = ctx.services;
  const now = ctx.now();
  const others = await findOthers(ctx, { id: changes.process, now });
  const dead = others.filter((one) => one.dead).map(({ id }) => id);
  if (dead.length > 0) {
    const end = new Date(now.getTime() + providerTimeoutMs(ctx));
    const released = Map.groupBy(await releaseAll(ctx, { dead, now, end }), ({ kind }) => kind);
    for (const kind of released.keys()) changes.announce('due', kind);
    if ([...released.values()].some(({ length }) => length === RELEASED_AT_ONCE)) return now.toISOString();
    await forgetDead(ctx, { ids: dead, now });
  }
  return others.find((one) => !one.dead)?.until ?? null;
}

/** A claim without an answer: its rows may be claimed, or be claimed later, as behind a pooler that holds its statement back. */
export interface LostClaim {
  kind: 'vehicle' | 'activation';
  company: string;
  /** ISO 8601. */
  until: string;
}

type GivenBack = Omit<LostClaim, 'kind'> & { process: string; now: Date };

const giveBack = (kind: LostClaim['kind']) =>
  prepare((p: GivenBack) =>
    db
      .with('given', (q) =>
        q
          .updateTable(kind)
          .set({ claimed_by: null, due_at: asTimestamptz(p.now) })
          .where('company', '=', p.company)
          .where('claimed_by', '=', p.process)
          .where('due_at', '=', asTimestamptz(p.until))
          .returning(['company', 'due_at']),
      )
      .with('scheduled', (q) => scheduleClause(q, kind, q.selectFrom('given').select(['company', 'due_at'])))
      .selectFrom('given')
      .select('company'),
  );
const givingBack = { vehicle: giveBack('vehicle'), activation: giveBack('activation') };

/** Makes the rows of such a claim of this process due. */
export async function giveBackLostClaim(ctx: Context, { kind, company, until }: LostClaim): Promise<void> {
  const { changes } = ctx.services;
  const rows = await givingBack[kind](ctx, { company, until, process: changes.process, now: ctx.now() });
  if (rows.length > 0) changes.announce('due', kind);
}
