import { sql } from 'kysely';
import type { z } from 'zod';
import type { ProviderService } from '../../manufacturers/index.ts';
import type { ProviderReport } from '../changes.ts';
import { dueCompaniesQuery } from '../companies/schedule.ts';
import { authorize, type Context, contextWithoutClient } from '../context.ts';
import { isoTimeExpression } from '../sql/selection.ts';
import { asTimestamptz, db, prepare } from '../sql/sql.ts';
import { MOST_WAITING_PROGRAMS, type ProviderStatus, type providerContractsSchema } from './provider-schema.ts';

/** The time between two reports of a process on its providers, and the time for which a report is valid. */
export const PROVIDER_REPORT_SECONDS = 10;
const VALID_SECONDS = 3 * PROVIDER_REPORT_SECONDS;

export async function listProviders(ctx: Context): Promise<ProviderStatus[]> {
  authorize(ctx, 'fleets:read');
  const { manufacturers } = ctx.services;
  const reports = reportsOf(ctx);
  const waiting = await waitingOf(ctx);
  const gone = await goneProviders(ctx);
  const all = manufacturers.list();
  const contracts = (id: string) => contractsOf(waiting.programs.filter(({ provider }) => provider === id));
  const set = manufacturers.state().map(({ id, services: known }): ProviderStatus => {
    const own = reports.flatMap(({ providers }) => providers.filter((one) => one.id === id));
    const heldSince = earliest(own.map((one) => one.heldSince));
    const services = known.map(({ service }) => serviceOf(service, own));
    const failingSince = earliest(services.map((one) => one.since));
    const brands = all.filter((one) => one.provider === id).map((one) => one.id);
    return {
      name: id,
      state: heldSince === null && failingSince !== null ? 'FAILING' : stateOf(heldSince),
      since: heldSince ?? failingSince,
      askedLastMinute: own.reduce((sum, one) => sum + one.asked, 0),
      oldestWaiting: earliest(brands.map((brand) => waiting.vehicles.get(brand) ?? null)),
      contracts: manufacturers.activatorOf(id) ? contracts(id) : null,
      services,
      brands: brands.map((brand) => {
        const held = own.flatMap((one) => one.brands.filter((other) => other.id === brand));
        const since = heldSince ?? earliest(held.map((one) => one.heldSince));
        return { id: brand, state: stateOf(since), since };
      }),
    };
  });
  return [
    ...set,
    ...gone.map(
      ({ provider }): ProviderStatus => ({
        name: provider,
        state: 'NOT_CONFIGURED',
        since: null,
        askedLastMinute: 0,
        oldestWaiting: null,
        contracts: contracts(provider),
        services: [],
        brands: [],
      }),
    ),
  ];
}

/** The state of a service as the process says that it failed first. */
function serviceOf(service: ProviderService, reports: readonly ProviderReport['providers'][number][]) {
  const [failing] = reports
    .flatMap(({ services }) => services.filter((one) => one.name === service && one.since !== null))
    .toSorted((a, b) => (`${a.since}` < `${b.since}` ? -1 : 1));
  const { since = null, reason = null } = failing ?? {};
  return { name: service, state: since === null ? ('OK' as const) : ('FAILING' as const), since, reason };
}

const countPrograms = prepare((_: object) =>
  db
    .selectFrom('activation')
    .select(['provider', sql<number>`count(*)::int`.as('programs')])
    .groupBy('provider')
    .orderBy('provider'),
);
type ProgramCount = Awaited<ReturnType<typeof countPrograms>>[number];

/** The statement reads all programs. */
const COUNTED_SECONDS = 60;
const programsOfProviders = sharedFor(COUNTED_SECONDS, (ctx) => countPrograms(ctx, {}, 'read'));

/** Providers without settings that programs of contracts name, as of the last minute. */
export async function goneProviders(ctx: Context): Promise<ProgramCount[]> {
  const set = new Set(ctx.services.manufacturers.state().map(({ id }) => id));
  return (await programsOfProviders(ctx)).filter(({ provider }) => !set.has(provider));
}

/** Gives what was read of a database, to all who ask within so many seconds: such statements look at all companies. */
function sharedFor<T>(seconds: number, read: (ctx: Context) => Promise<T>): (ctx: Context) => Promise<T> {
  const known = new WeakMap<object, { until: number; answer: Promise<T> }>();
  return (ctx) => {
    const { database } = ctx.services;
    const now = ctx.now().getTime();
    const before = known.get(database);
    if (before && now < before.until) return before.answer;
    // It does not end with the client that asked first.
    const answer = read(contextWithoutClient(ctx));
    known.set(database, { until: now + seconds * 1000, answer });
    answer.catch(() => known.delete(database));
    return answer;
  };
}

function contractsOf(programs: readonly WaitingPrograms[]): z.output<typeof providerContractsSchema> {
  const begin = programs.find(({ wanted }) => wanted);
  const end = programs.find(({ wanted }) => !wanted);
  return {
    toActivate: begin?.programs ?? 0,
    activatingSince: begin?.since ?? null,
    toRevoke: end?.programs ?? 0,
    revokingSince: end?.since ?? null,
  };
}

const stateOf = (since: string | null) => (since === null ? 'OK' : 'HELD_BACK');

const earliest = (times: readonly (string | null)[]): string | null =>
  times.filter((time) => time !== null).toSorted()[0] ?? null;

function reportsOf(ctx: Context): ProviderReport[] {
  const { changes } = ctx.services;
  const from = ctx.now().getTime() - VALID_SECONDS * 1000;
  const others = [...changes.providerReports.values()];
  return [ownReport(ctx), ...others.filter(({ process, at }) => process !== changes.process && at > from)];
}

function ownReport(ctx: Context): ProviderReport {
  const providers = ctx.services.manufacturers.state().map(({ id, asked, since, brands, services }) => ({
    id,
    asked,
    heldSince: since?.toISOString() ?? null,
    services: services.map((one) => ({
      name: one.service,
      since: one.since?.toISOString() ?? null,
      reason: one.reason,
    })),
    brands: brands.map((brand) => ({ id: brand.id, heldSince: brand.since?.toISOString() ?? null })),
  }));
  return { process: ctx.services.changes.process, at: ctx.now().getTime(), providers };
}

/** Reports on providers to other processes, and once more after the last (`before`); gives whether any is in use. */
export function reportProviders(ctx: Context, before: boolean): boolean {
  const report = ownReport(ctx);
  const isQuiet = report.providers.every(
    (one) => one.asked === 0 && !one.heldSince && one.brands.length === 0 && one.services.every(({ since }) => !since),
  );
  if (!isQuiet || before) ctx.services.changes.announce('provider', report);
  return !isQuiet;
}

/** Vehicles of a company that are read: those that are due first. */
const LOOKED_AT = 1000;
/** Retries come after at most 19 minutes (RETRY_CAP_SECONDS plus a quarter), unless a provider asked for longer. */
const SOON_MINUTES = 19;

const oldestWaiting = prepare((p: { soon: Date }) =>
  db
    .selectFrom(dueCompaniesQuery('vehicle', asTimestamptz(p.soon)))
    .crossJoinLateral((of) =>
      of
        .selectFrom('vehicle')
        .select(['manufacturer', 'created_at', 'status'])
        .whereRef('vehicle.company', '=', 'c.company')
        .where('due_at', '<=', asTimestamptz(p.soon))
        .orderBy('due_at')
        .limit(sql.lit(LOOKED_AT))
        .as('v'),
    )
    .where('v.status', '=', sql.lit('PENDING'))
    .where('v.manufacturer', 'is not', null)
    .groupBy('v.manufacturer')
    .select(({ fn, ref }) => [
      ref('v.manufacturer').$castTo<string>().as('brand'),
      isoTimeExpression(fn.min<string>('v.created_at')).as('since'),
    ]),
);

/** Programs that wait to begin (wanted) or to end, of all companies, by provider: how many, and since when the first does. */
export const waitingPrograms = prepare((_: object) =>
  db
    .selectFrom((q) =>
      q
        .selectFrom('activation')
        .select(['provider', 'wanted', 'changed_at'])
        .where(sql<boolean>`(state in ('PENDING', 'ENDING') or not wanted)`)
        .where('state', '<>', sql.lit('ENDED'))
        .orderBy('changed_at')
        .limit(sql.lit(MOST_WAITING_PROGRAMS))
        .as('first'),
    )
    .select(['provider', 'wanted', sql<number>`count(*)::int`.as('programs')])
    .select(({ fn }) => isoTimeExpression(fn.min<string>('changed_at')).as('since'))
    .groupBy(['provider', 'wanted']),
);
export type WaitingPrograms = Awaited<ReturnType<typeof waitingPrograms>>[number];

const WAITING_SECONDS = 5;
const waitingOf = sharedFor(WAITING_SECONDS, async (ctx) => {
  const soon = new Date(ctx.now().getTime() + SOON_MINUTES * 60_000);
  const [vehicles, programs] = await Promise.all([
    oldestWaiting(ctx, { soon }, 'read'),
    waitingPrograms(ctx, {}, 'read'),
  ]);
  return { vehicles: new Map(vehicles.map(({ brand, since }) => [brand, since])), programs };
});
