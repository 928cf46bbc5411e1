import { sql } from 'kysely';
import type { Manufacturers } from '../../manufacturers/index.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { type SendStatement, transaction } from '../database.ts';
import { contractFactsQuery, vehicleNamesOf } from '../events/contract-facts.ts';
import { announceEvents, type EventOrigin, eventsClause, systemOrigin } from '../events/record-events.ts';
import { asTimestamptz, db, jsonRecordset, prepare } from '../sql/sql.ts';
import { contractsInForce } from './contracts-of-vehicles.ts';
import { noPack, type Offering } from './needs.ts';
import { wantClause } from './plan-activations.ts';
import { settle } from './settle-contracts.ts';
import { touchActivations } from './touch-activations.ts';

// Settings that name other programs than contracts in force have: what is missing is asked for, what is left over is ended.

/** Contracts in force by provider (null: no manufacturer has heard of them), maker, pack and programs. */
const groupContracts = prepare((p: { now: Date }) =>
  contractsInForce(asTimestamptz(p.now))
    .select(['c.provider', 'v.manufacturer', 'c.pack', 'c.programs', sql<number>`count(*)::int`.as('contracts')])
    .select(sql<number>`count(distinct v.vin)::int`.as('vehicles'))
    .groupBy(['c.provider', 'v.manufacturer', 'c.pack', 'c.programs'])
    .orderBy('c.provider')
    .orderBy('v.manufacturer')
    .orderBy('c.pack'),
);

type Group = Awaited<ReturnType<typeof groupContracts>>[number];
type Need = { provider: string; programs: readonly string[] };

/** What the settings have contracts of a group need; null: nothing, since no provider offers the pack. */
function neededBy({ provider, manufacturer, pack, programs }: Group, { offers, activatorOf }: Offering): Need | null {
  const own = provider === null ? undefined : activatorOf(provider);
  // A provider without settings can be asked for nothing: its contracts wait until it is back.
  if (provider !== null && Object.keys(own?.packs ?? {}).length === 0) return { provider, programs };
  const stillOffered = own?.brands.has(manufacturer ?? '') && (own.packs[pack] ?? own.packs['*']);
  if (provider !== null && stillOffered) return { provider, programs: stillOffered };
  const offer = offers[manufacturer ?? ''];
  const offered = offer?.packs[pack] ?? offer?.packs['*'];
  return offer && offered ? { provider: offer.provider, programs: offered } : null;
}

/** Contracts in force by what they have and what they are to have: `asked` are programs to ask for, `ended` those to end. */
export async function planOfSettings(send: SendStatement, offering: Offering, now: Date) {
  const groups = await groupContracts(send, { now });
  return groups.map((group) => {
    const needed = neededBy(group, offering);
    const isOther = needed?.provider !== group.provider;
    const without = (all: readonly string[], some: readonly string[]) => all.filter((one) => !some.includes(one));
    const asked = without(needed?.programs ?? [], isOther ? [] : group.programs);
    const ended = without(group.programs, isOther ? [] : (needed?.programs ?? []));
    return { ...group, needed, asked, ended };
  });
}
type SettingsPlan = Awaited<ReturnType<typeof planOfSettings>>[number];

const AT_ONCE = 500;

type Change = ReturnType<typeof toChanges>[number];
const changeColumns = `provider text, manufacturer text, pack text, programs text[],
  new_provider text, new_programs text[], asked text[], reason jsonb`;

type Changes = { changes: string; now: string };
const changed = ({ changes, now }: Changes) =>
  contractsInForce(asTimestamptz(now)).innerJoin(
    jsonRecordset<Change, 'change'>('change', changes, changeColumns),
    (on) =>
      on
        .onRef('change.provider', '=', 'c.provider')
        .onRef('change.manufacturer', 'is not distinct from', 'v.manufacturer')
        .on(sql<boolean>`change.pack = greatest(c.pack)`)
        .onRef('change.programs', '=', 'c.programs'),
  );

const findCompanies = prepare((p: Changes) => changed(p).select('c.company').distinct().orderBy('c.company'));

const apply = prepare((p: Changes & EventOrigin & { company: string }) => {
  const now = asTimestamptz(p.now);
  return db
    .with('found', () =>
      changed(p)
        .select(['c.id', 'c.company', 'v.vin', 'v.manufacturer as brand'])
        .select(sql<boolean>`(c.was_active or c.activation = 'ACTIVE')`.as('was_active'))
        .select(['change.new_provider', 'change.new_programs', 'change.asked', 'change.reason'])
        .where('c.company', '=', p.company)
        .orderBy('c.id')
        .limit(sql.lit(AT_ONCE))
        .forNoKeyUpdate('c'),
    )
    .with('plan', (q) =>
      q
        .selectFrom('found')
        .select(['company', 'vin', 'brand', 'new_provider as provider', 'asked as programs'])
        .select(sql.lit('PENDING').as('activation'))
        .where('new_provider', 'is not', null),
    )
    .with('wanted', (q) => wantClause(q, now))
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('wanted').select(['company', 'due_at'])))
    .with('c', (q) =>
      q
        .updateTable('contract as c')
        .from('found')
        .set({
          provider: sql<string | null>`found.new_provider`,
          programs: sql<string[]>`found.new_programs`,
          activation: sql<'UNSUPPORTED'>`case when found.new_provider is null then 'UNSUPPORTED' else c.activation end`,
          activation_reason: sql<string>`case when found.new_provider is null then found.reason else c.activation_reason end`,
          activation_changed_at: sql<string>`case when found.new_provider is null then ${now} else c.activation_changed_at end`,
          was_active: sql<boolean>`c.was_active and found.new_provider is not null`,
        })
        .where('c.company', '=', p.company)
        .whereRef('c.id', '=', 'found.id')
        .returningAll('c'),
    )
    .with('recorded', (q) =>
      eventsClause(q, p, {
        'contract.deactivated': contractFactsQuery(q, vehicleNamesOf(p.company), 'withReason').where(
          sql<boolean>`exists (select from found where found.id = c.id and found.was_active and found.new_provider is null)`,
        ),
      }),
    )
    .selectFrom('found')
    .select(['company', 'vin', 'id']);
});

/** The companies with contracts in force that the settings of this process change, and the step that changes some of them. */
export async function findPackChanges(ctx: Context) {
  const { database, manufacturers } = ctx.services;
  const all = toChanges(await planOfSettings(database.send, manufacturers, ctx.now()), manufacturers);
  const changes = JSON.stringify(all);
  const rows = all.length === 0 ? [] : await findCompanies(ctx, { changes, now: ctx.now().toISOString() });
  return {
    companies: rows.map(({ company }) => company),
    step: (company: string) => applyPackChanges(ctx, company, changes),
  };
}

const toChanges = (plan: readonly SettingsPlan[], { offers, noActivation }: Manufacturers) =>
  plan.flatMap(({ needed, provider, manufacturer, pack, programs, asked, ended }) =>
    provider === null || asked.length + ended.length === 0
      ? []
      : {
          ...{ provider, manufacturer, pack, programs, asked },
          new_provider: needed?.provider ?? null,
          new_programs: [...(needed?.programs ?? [])],
          /** Why there is no provider any more. */
          reason: needed ? null : offers[manufacturer ?? ''] ? noPack : noActivation,
        },
  );

/** Gives the first of a company's contracts the programs of the settings; gives whether more may be left. */
async function applyPackChanges(ctx: Context, company: string, changes: string): Promise<boolean> {
  const origin = systemOrigin(ctx);
  const change = async () => {
    const rows = await apply(ctx, { ...origin, company, changes, now: ctx.now().toISOString() });
    const vins = [...new Set(rows.map(({ vin }) => vin))];
    await touchActivations(ctx, rows);
    await settle(ctx, { ...origin, company, vins });
    announceEvents(ctx);
    return rows;
  };
  const found = await transaction(ctx, change, { repeats: true });
  ctx.services.changes.announce('due', 'activation');
  ctx.services.changes.announceActivations(company, found);
  return found.length === AT_ONCE;
}
