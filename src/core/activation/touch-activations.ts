import { type Expression, type SqlBool, sql } from 'kysely';
import { findNote, noteOnce } from '../companies/once.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { anyOfIds, anyOfTexts, asTimestamptz, db, prepare, prepareStatementVariants } from '../sql/sql.ts';

// What makes programs due: changes of contracts, news of providers, and what other companies' programs have come to.

/** Makes a row due, and begins its schedule anew. A claimed one is due when its answer is stored: two questions could overtake each other. */
export const touched = (now: Expression<string>) => {
  const isClaimed = sql<boolean>`(activation.claimed_by is not null and activation.due_at > ${now})`;
  return {
    touched: sql<boolean>`${isClaimed}`,
    due_at: sql<string>`case when ${isClaimed} then activation.due_at else ${now} end`,
    looks: 0,
  };
};

/** `news`: a provider says that something has changed. What it does not answer about is asked by its own pauses. */
type How = { news?: true };

/** Rows are locked in the order in which plans add them: opposite orders would wait for each other. */
export const lockOrder = sql`activation.vin, activation.provider, activation.program`;

/** The rows that a clause `row` has locked: all of them first, however many the planner expects. */
export const ANY_OF_ROW = sql<string>`any(array(select id from "row"))`;

type Touched = { company: string; now: Date };

/** Makes programs of a company due, and schedules them. */
const touchWhere = (p: Touched, isMeant: Expression<SqlBool>) =>
  db
    .with('row', () =>
      db
        .selectFrom('activation')
        .select('id')
        .where('company', '=', p.company)
        .where(isMeant)
        .orderBy(lockOrder)
        .forNoKeyUpdate(),
    )
    .with('touched', (q) =>
      q
        .updateTable('activation')
        .set(touched(asTimestamptz(p.now)))
        .where('company', '=', p.company)
        .where('id', '=', ANY_OF_ROW)
        .returning(['company', 'due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('touched').select(['company', 'due_at'])))
    .selectFrom('touched')
    .select('company');

const touchVehicles = prepareStatementVariants<Touched & { vins: readonly string[] } & How>()(['news'], (p, has) =>
  touchWhere(p, sql`vin = ${anyOfTexts(p.vins)}${has.news ? sql` and faults = 0` : sql``}`),
);
const touchPrograms = prepare((p: Touched & { ids: readonly string[] }) => touchWhere(p, sql`id = ${anyOfIds(p.ids)}`));

type OfVehicle = { company: string; vin: string };

/** Has what is wanted of these vehicles looked at again, after the statement of the transaction that changed their contracts. */
export async function touchActivations(ctx: Context, vehicles: readonly OfVehicle[], how: How = {}) {
  for (const [company, own] of Map.groupBy(vehicles, (one) => one.company)) {
    const vins = [...new Set(own.map(({ vin }) => vin))];
    const touched = await touchVehicles(ctx, { company, vins, now: ctx.now(), ...how });
    if (touched.length > 0) ctx.services.changes.announce('due', 'activation');
  }
}

type OfProvider = { provider: string; vins: readonly string[] };

const findPrograms = prepare((p: OfProvider) =>
  db
    .selectFrom('activation')
    .select(['company', 'id', 'vin', 'program', 'wanted', 'state'])
    .where('vin', '=', anyOfTexts(p.vins))
    .where('provider', '=', p.provider)
    .orderBy('company'),
);

async function programsHere(ctx: Context, given: OfProvider) {
  if (given.vins.length === 0) return [];
  const { fence } = ctx.services;
  return (await findPrograms(ctx, given)).filter(({ company }) => !fence?.refusal(company, 'work'));
}

const DAY_MS = 86_400_000;

interface Delivery extends OfProvider {
  name: string;
  /** Tells other installations. It comes before the note: a process may be killed in between, and the delivery comes again. */
  passOn: () => Promise<void>;
}

/** Has a provider's programs of these vehicles looked at again, whatever their company: once a day for the same delivery of its news. */
export async function takeDelivery(ctx: Context, { name, passOn, ...given }: Delivery): Promise<void> {
  const now = ctx.now();
  const since = new Date(now.getTime() - DAY_MS);
  if ((await findNote(ctx, { name, since })).length > 0) return;
  await passOn();
  await transaction(
    ctx,
    async () => {
      const noted = await noteOnce(ctx, { name, now, since });
      if (noted.length > 0) await touchActivations(ctx, await programsHere(ctx, given), { news: true });
    },
    { repeats: true },
  );
  ctx.services.changes.announce('due', 'activation');
}

type OfProgram = { vin: string; program: string };

interface Changed {
  provider: string;
  /** Programs that a company ended, or was ending or waiting for, and those that are active now. */
  ended: readonly OfProgram[];
  begun: readonly OfProgram[];
}

/** Has programs that others want looked at again: where a company ended them or waits no longer, and where they are on and not yet known to be. */
export async function touchOthers(ctx: Context, company: string, { provider, ended, begun }: Changed): Promise<void> {
  const rows = await programsHere(ctx, { provider, vins: [...ended, ...begun].map(({ vin }) => vin) });
  const nameOf = ({ vin, program }: OfProgram) => `${vin} ${program}`;
  const [areEnded, areBegun] = [ended, begun].map((programs) => new Set(programs.map(nameOf))) as [
    Set<string>,
    Set<string>,
  ];
  const others = rows.filter(
    (one) =>
      one.wanted &&
      one.company !== company &&
      (areEnded.has(nameOf(one)) || (areBegun.has(nameOf(one)) && one.state !== 'ACTIVE')),
  );
  for (const [other, own] of Map.groupBy(others, (one) => one.company)) {
    const ids = own.map(({ id }) => id);
    await transaction(ctx, () => touchPrograms(ctx, { company: other, ids, now: ctx.now() }), { repeats: true });
    ctx.services.changes.announce('due', 'activation');
  }
}
