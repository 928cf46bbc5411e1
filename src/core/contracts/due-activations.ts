import { type Expression, sql } from 'kysely';
import type { Asker } from '../../manufacturers/provider.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { anyOfIds, anyOfTexts, asTimestamptz, db, prepare, prepareStatementVariants } from '../sql/sql.ts';
import { programsOfContract } from './activation.ts';
import { CONTRACTS_OF_VEHICLE } from './contracts-of-vehicles.ts';

// A program is at rest, due or claimed, as a vehicle is (core/vehicles/due-vehicles.ts), and ends: its row is deleted once it is ended at the
// manufacturer and nobody wants it. Changes of contracts (`touchActivations`, plan-activations.ts) make it due, and mark it `touched` where
// it is claimed: its answer, stored if the claim is still held (store-activations.ts), then makes it due at once in place of at rest or
// deleted.

/** A claim outlives the wait for a place, a token, and questions that build on each other, each of up to one time-out. */
const LEASE_TIMEOUTS = 6;

const timeoutMs = (ctx: Context): number => ctx.services.config.PROVIDER_TIMEOUT_SECONDS * 1000;

/**
 * Asks about programs claimed `until` then: time is left for storing the answer. When others may take the claims over, no call
 * begins any more, and theirs begin when the last one is over (core/companies/take-over-claims.ts).
 */
export const claimant = (ctx: Context, until: string, takenOverAt: () => number): Asker => ({
  company: '',
  get deadline() {
    return Math.min(Date.parse(until) - timeoutMs(ctx), takenOverAt() + timeoutMs(ctx));
  },
});

/** Whether a contract in force needs the program of a row `a`. */
const isWanted = (company: string, now: string) =>
  sql<boolean>`exists (select from vehicle v join contract c on c.company = ${company} and ${sql.raw(CONTRACTS_OF_VEHICLE)}
    where v.company = ${company} and ${sql.raw(programsOfContract('a', 'c', 'v.vin'))}
      and c.starts_at <= ${now}::timestamptz and c.ends_at > ${now}::timestamptz)`;

/**
 * What is wanted goes by the contracts of now: whatever changes them makes the row due again. That it is asked for, or ended, is
 * noted before it is: a process may be killed in between.
 */
const claim = prepare((p: { company: string; process: string; now: string; until: string; limit: number }) => {
  const due = db
    .selectFrom('activation as a')
    .select(['a.id', 'a.asked', 'a.state', isWanted(p.company, p.now).as('wanted')])
    .where('a.company', '=', p.company)
    .where('a.due_at', '<=', asTimestamptz(p.now))
    .orderBy('a.due_at')
    .limit(p.limit)
    .forUpdate()
    .skipLocked();
  const isEnding = sql<boolean>`(due.asked and not due.wanted)`;
  return db
    .with('due', () => due)
    .updateTable('activation as a')
    .from('due')
    .set({
      due_at: asTimestamptz(p.until),
      claimed_by: p.process,
      touched: false,
      wanted: sql<boolean>`due.wanted`,
      changed_at: sql<string>`case when a.wanted = due.wanted then a.changed_at else ${asTimestamptz(p.now)} end`,
      asked: sql<boolean>`due.asked or due.wanted`,
      state: sql<'ENDING'>`case when ${isEnding} then 'ENDING' else a.state end`,
      looks: sql<number>`case when ${isEnding} and a.state <> 'ENDING' then 0 else a.looks end`,
    })
    .where('a.company', '=', p.company)
    .whereRef('a.id', '=', 'due.id')
    .returning(['a.id', 'a.company', 'a.vin', 'a.provider', 'a.program', 'a.brand', 'a.wanted', 'a.renewed', 'a.state'])
    .returning(['a.looks', 'a.faults', 'due.asked', 'due.state as was']);
});

/** The end of a claim that is made now. */
export const programClaimEnd = (ctx: Context): string =>
  new Date(ctx.now().getTime() + LEASE_TIMEOUTS * timeoutMs(ctx)).toISOString();

/** Claims up to `limit` due programs of a company, the longest waiting first; skips rows of other claims. */
export async function claimDueActivations(ctx: Context, company: string, limit: number, until = programClaimEnd(ctx)) {
  const now = ctx.now();
  const { process } = ctx.services.changes;
  const rows = await claim(ctx, { company, process, now: now.toISOString(), until, limit });
  return rows.map((row) => ({ ...row, until }));
}

/** A program to be asked about; `until` shows that the claim is still held when the answer is stored. */
export type ClaimedProgram = Awaited<ReturnType<typeof claimDueActivations>>[number];

/** The one question over all companies: programs belong to the gateway's account at the provider. */
const wantedElsewhere = prepare((p: { ids: readonly string[]; companies: readonly string[] }) =>
  db
    .selectFrom('activation as a')
    .select('a.id')
    .where('a.id', '=', anyOfIds(p.ids))
    .where('a.company', '=', anyOfTexts(p.companies))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('activation as o')
          .select('o.id')
          .whereRef('o.vin', '=', 'a.vin')
          .whereRef('o.provider', '=', 'a.provider')
          .whereRef('o.program', '=', 'a.program')
          .whereRef('o.company', '<>', 'a.company')
          .where('o.wanted', '=', sql.lit(true)),
      ),
    ),
);

/**
 * The programs among these that nobody wants here but another company does, so that they are not to be ended. Each row says whether it
 * is wanted before it is asked here, so of two companies that end at the same time, the later one sees that nobody wants it.
 */
export async function findWantedElsewhere(ctx: Context, programs: readonly ClaimedProgram[]): Promise<Set<string>> {
  const unwanted = programs.filter(({ wanted }) => !wanted);
  if (unwanted.length === 0) return new Set();
  const ids = unwanted.map(({ id }) => id);
  const companies = [...new Set(unwanted.map(({ company }) => company))];
  return new Set((await wantedElsewhere(ctx, { ids, companies })).map(({ id }) => id));
}

/** Makes a row due. A claimed one is due when its answer is stored, since two questions could overtake each other. */
export const touched = (now: Expression<string>) => {
  const isClaimed = sql<boolean>`(activation.claimed_by is not null and activation.due_at > ${now})`;
  return {
    touched: sql<boolean>`${isClaimed}`,
    due_at: sql<string>`case when ${isClaimed} then activation.due_at else ${now} end`,
  };
};

/** Makes the programs of vehicles due, and schedules them. */
const touch = prepare((p: { company: string; vins: readonly string[]; now: Date }) =>
  db
    .with('touched', (q) =>
      q
        .updateTable('activation')
        .set(touched(asTimestamptz(p.now)))
        .where('company', '=', p.company)
        .where('vin', '=', anyOfTexts(p.vins))
        .returning(['company', 'due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('touched').select(['company', 'due_at'])))
    .selectFrom('touched')
    .select('company'),
);

type OfVehicle = { company: string; vin: string };

/** Has what is wanted of these vehicles looked at again, after the statement of the transaction that changed their contracts. */
export async function touchActivations(ctx: Context, vehicles: readonly OfVehicle[]): Promise<void> {
  for (const [company, own] of Map.groupBy(vehicles, (one) => one.company)) {
    const touched = await touch(ctx, { company, vins: [...new Set(own.map(({ vin }) => vin))], now: ctx.now() });
    if (touched.length > 0) ctx.services.changes.announce('due', 'activation');
  }
}

const findPrograms = prepareStatementVariants<{ provider: string; vins: readonly string[]; except?: string }>()(
  ['except'],
  (p, has) =>
    db
      .selectFrom('activation')
      .select(['company', 'vin'])
      .distinct()
      .where('vin', '=', anyOfTexts(p.vins))
      .where('provider', '=', p.provider)
      .$if(has.except, (q) => q.where('company', '<>', p.except).where('wanted', '=', sql.lit(true))),
);

/** Has a provider's programs of these vehicles looked at again: of all companies, or those that others than one want. */
export async function touchPrograms(ctx: Context, provider: string, vins: readonly string[], except?: string) {
  if (vins.length === 0) return;
  const { fence } = ctx.services;
  const found = await findPrograms(ctx, { provider, vins, ...(except && { except }) });
  await touchActivations(
    ctx,
    found.filter(({ company }) => !fence?.refusal(company, 'work')),
  );
}
