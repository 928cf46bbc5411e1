import { sql } from 'kysely';
import type { Asker, ProgramWish, Reason } from '../../manufacturers/index.ts';
import { scheduleClause } from '../companies/schedule.ts';
import { claimEnd, providerTimeoutMs } from '../companies/take-over-claims.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { isoTimeExpression } from '../sql/selection.ts';
import { anyOfIds, anyOfTexts, asTimestamptz, db, prepare } from '../sql/sql.ts';
import { type Needs, needSql, needsAt } from './needs.ts';

// A program is at rest, due or claimed, as a vehicle is (core/vehicles/due-vehicles.ts). Once it is ended at the manufacturer it is looked at
// three times more before its row is deleted. Changes of contracts (touch-activations.ts) make it due, and mark it
// `touched` where it is claimed: its answer, stored if the claim is still held (store-activations.ts), then makes it due at once.

/** A claim outlives the wait for a place, a token, and questions that build on each other, each of up to one time-out. */
const LEASE_TIMEOUTS = 6;

/**
 * Asks about programs claimed `until` then: time is left for storing the answer. When others may take the claims over, no call
 * begins any more, and theirs begin when the last one is over (core/companies/take-over-claims.ts).
 */
export const claimant = (ctx: Context, until: string, takenOverAt: () => number): Asker => ({
  company: '',
  looksEnd: Date.parse(until) - (LEASE_TIMEOUTS / 2) * providerTimeoutMs(ctx),
  get deadline() {
    return Math.min(Date.parse(until) - providerTimeoutMs(ctx), takenOverAt() + providerTimeoutMs(ctx));
  },
});

type Due = { company: string; now: string; limit: number };

const lockDue = prepare((p: Due) =>
  db
    .selectFrom('activation')
    .select('id')
    .where('company', '=', p.company)
    .where('due_at', '<=', asTimestamptz(p.now))
    .orderBy('due_at')
    .limit(p.limit)
    .forUpdate()
    .skipLocked(),
);

type Claim = Needs & { company: string; process: string; until: string; ids: readonly string[] };

/**
 * Claims rows that the transaction has locked: what a statement locks itself may be newer than the contracts that it sees. What is wanted
 * goes by the contracts of now: whatever changes them makes the row due again. That it is asked for, or ended, is noted before it
 * is: a process may be killed in between. `shared`: a row of another company has it, so that it is not ended here.
 */
const claim = prepare((p: Claim) => {
  const now = asTimestamptz(p.now);
  const others = sql<{ shared: boolean; ended_at: string | null; looked_at: string | null }>`(
    select coalesce(bool_or(o.company <> a.company and o.wanted and o.asked and o.program = a.program), false) as shared,
      max(o.ended_at) filter (where o.program = a.program) as ended_at, max(o.looked_at) as looked_at
    from activation o where o.vin = a.vin and o.provider = a.provider)`;
  const isUnwanted = sql<boolean>`(due.asked and due.begins is null)`;
  const isOver = sql<boolean>`(${isUnwanted} and a.state not in ('ENDING', 'ENDED'))`;
  const isNew = sql<boolean>`(due.wanted and (not due.asked or a.state in ('ENDING', 'ENDED')))`;
  // After an end that was ordered, what the list says may be of that.
  const isRepeated = sql<boolean>`(a.wanted and a.renewed and due.lost and a.ended_at is null)`;
  return db
    .with('due', () =>
      db
        .selectFrom('activation as a')
        .crossJoinLateral(needSql(p).as('need'))
        .crossJoinLateral(others.as('others'))
        .select(['a.id', 'a.asked', 'a.state', 'need.wanted', 'need.begins', 'others.ended_at', 'others.looked_at'])
        .select(sql<boolean>`(others.shared and need.begins <= ${now})`.as('shared'))
        .select(sql<boolean>`(a.claimed_by is not null)`.as('lost'))
        .where('a.company', '=', p.company)
        .where('a.id', '=', anyOfIds(p.ids)),
    )
    .updateTable('activation as a')
    .from('due')
    .set({
      due_at: asTimestamptz(p.until),
      claimed_by: p.process,
      touched: false,
      wanted: sql<boolean>`due.wanted`,
      changed_at: sql<string>`case when a.wanted = due.wanted then a.changed_at else ${now} end`,
      asked: sql<boolean>`due.asked or due.wanted`,
      renewed: sql<boolean>`a.renewed or ${isOver} or ${isNew}`,
      state: sql<'ENDING'>`case when ${isOver} then 'ENDING' when ${isNew} then 'PENDING' else a.state end`,
      looks: sql<number>`case when ${isOver} or ${isNew} then 0 else a.looks end`,
      ended_at: sql<string | null>`case when ${isUnwanted} then ${now} else a.ended_at end`,
    })
    .where('a.company', '=', p.company)
    .whereRef('a.id', '=', 'due.id')
    .returning(['a.id', 'a.company', 'a.vin', 'a.provider', 'a.program', 'a.brand', 'a.wanted', 'a.renewed', 'a.state'])
    .returning(sql<Reason | null>`a.reason`.as('reason'))
    .returning(isRepeated.as('repeated'))
    .returning(['a.looks', 'a.faults', 'due.asked', 'due.state as was', 'due.shared'])
    .returning(({ ref }) => [
      isoTimeExpression(ref('a.changed_at')).as('since'),
      isoTimeExpression(ref('a.looked_at')).as('looked'),
      isoTimeExpression(ref('due.looked_at')).as('vehicleLooked'),
      isoTimeExpression(ref('due.begins')).as('begins'),
      isoTimeExpression(ref('due.ended_at')).as('ended'),
    ]);
});

export const programClaimEnd = (ctx: Context): string => claimEnd(ctx, LEASE_TIMEOUTS);

/** Claims up to `limit` due programs of a company, the longest waiting first; skips rows of other claims. */
export async function claimDueActivations(ctx: Context, company: string, limit: number, until = programClaimEnd(ctx)) {
  const { changes, config, manufacturers } = ctx.services;
  const now = ctx.now();
  const needs = needsAt(now, manufacturers, config.ACTIVATION_GAP_MINUTES);
  const claimLocked = async () => {
    const ids = (await lockDue(ctx, { company, now: needs.now, limit })).map(({ id }) => id);
    return ids.length > 0 ? claim(ctx, { ...needs, company, process: changes.process, until, ids }) : [];
  };
  const rows = await transaction(ctx, claimLocked, { repeats: true });
  const timeOf = (time: string | null) => (time === null ? null : Date.parse(time));
  return rows.map(({ since, ended, looked, vehicleLooked, ...row }) => {
    const times = { since: Date.parse(since), endedAt: timeOf(ended), lookedAt: timeOf(looked) };
    const wish: ProgramWish = { ...row, ...times };
    return { ...row, ...wish, vehicleLookedAt: timeOf(vehicleLooked), claimedAt: now.getTime(), until };
  });
}

/** A program to be asked about; `until` shows that the claim is still held when the answer is stored. */
export type ClaimedProgram = Awaited<ReturnType<typeof claimDueActivations>>[number];

const RESUMED_AT_ONCE = 5000;

const makeDue = prepare((p: { providers: readonly string[]; code: string; now: Date }) => {
  const now = asTimestamptz(p.now);
  const waiting = db
    .selectFrom('activation')
    .select(['company', 'id'])
    .where('provider', '=', anyOfTexts(p.providers))
    .where(sql<boolean>`reason ->> 'code' = ${p.code}`)
    .where('claimed_by', 'is', null)
    .where('due_at', '>', now)
    .limit(sql.lit(RESUMED_AT_ONCE))
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
  return (await makeDue(ctx, { providers, code, now: ctx.now() })).length === RESUMED_AT_ONCE;
}
