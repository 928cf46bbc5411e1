import { sql } from 'kysely';
import { z } from 'zod';
import type { ProviderReport } from '../changes.ts';
import { dueCompaniesQuery } from '../companies/schedule.ts';
import { authorize, type Context, contextWithoutClient } from '../context.ts';
import { field, timeOrNullField } from '../fields.ts';
import { isoTimeExpression } from '../sql/selection.ts';
import { asTimestamptz, db, prepare } from '../sql/sql.ts';

/** The time between two reports of a process on its providers, and the time for which a report is valid. */
export const PROVIDER_REPORT_SECONDS = 10;
const VALID_SECONDS = 3 * PROVIDER_REPORT_SECONDS;

export async function listProviders(ctx: Context): Promise<ProviderStatus[]> {
  authorize(ctx, 'fleets:read');
  const { manufacturers } = ctx.services;
  const reports = reportsOf(ctx);
  const waiting = await waitingOf(ctx);
  const all = manufacturers.list();
  return manufacturers.state().map(({ id }) => {
    const own = reports.flatMap(({ providers }) => providers.filter((one) => one.id === id));
    const since = earliest(own.map((one) => one.heldSince));
    const brands = all.filter((one) => one.provider === id).map((one) => one.id);
    return {
      name: id,
      state: stateOf(since),
      since,
      askedLastMinute: own.reduce((sum, one) => sum + one.asked, 0),
      oldestWaiting: earliest(brands.map((brand) => waiting.vehicles.get(brand) ?? null)),
      contracts: manufacturers.activatorOf(id)
        ? contractsOf(waiting.programs.filter(({ provider }) => provider === id))
        : null,
      brands: brands.map((brand) => {
        const held = own.flatMap((one) => one.brands.filter((other) => other.id === brand));
        const heldSince = since ?? earliest(held.map((one) => one.heldSince));
        return { id: brand, state: stateOf(heldSince), since: heldSince };
      }),
    };
  });
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
  const providers = ctx.services.manufacturers.state().map(({ id, asked, since, brands }) => ({
    id,
    asked,
    heldSince: since?.toISOString() ?? null,
    brands: brands.map((brand) => ({ id: brand.id, heldSince: brand.since?.toISOString() ?? null })),
  }));
  return { process: ctx.services.changes.process, at: ctx.now().getTime(), providers };
}

/** Reports on providers to other processes, and once more after the last (`before`); gives whether any is in use. */
export function reportProviders(ctx: Context, before: boolean): boolean {
  const report = ownReport(ctx);
  const isQuiet = report.providers.every((one) => one.asked === 0 && !one.heldSince && one.brands.length === 0);
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

export const MOST_WAITING_PROGRAMS = 100_000;

/** Programs that wait to begin (wanted) or to end, of all companies, by provider: how many, and since when the first does. */
export const waitingPrograms = prepare((_: object) =>
  db
    .selectFrom((q) =>
      q
        .selectFrom('activation')
        .select(['provider', 'wanted', 'changed_at'])
        .where(sql<boolean>`(state in ('PENDING', 'ENDING') or not wanted)`)
        .orderBy('changed_at')
        .limit(sql.lit(MOST_WAITING_PROGRAMS))
        .as('first'),
    )
    .select(['provider', 'wanted', sql<number>`count(*)::int`.as('programs')])
    .select(({ fn }) => isoTimeExpression(fn.min<string>('changed_at')).as('since'))
    .groupBy(['provider', 'wanted']),
);
export type WaitingPrograms = Awaited<ReturnType<typeof waitingPrograms>>[number];

type Waiting = { vehicles: ReadonlyMap<string, string | null>; programs: readonly WaitingPrograms[] };

/** The statements look at all companies, so their answers are kept for a while. */
const KEPT_SECONDS = 5;
const kept = new WeakMap<object, { until: number; waiting: Promise<Waiting> }>();

function waitingOf(ctx: Context): Promise<Waiting> {
  const { database } = ctx.services;
  const now = ctx.now().getTime();
  const before = kept.get(database);
  if (before && now < before.until) return before.waiting;
  const soon = new Date(now + SOON_MINUTES * 60_000);
  // Others share the answer: it does not end with this client.
  const shared = contextWithoutClient(ctx);
  const reads = { reads: true } as const;
  const waiting = Promise.all([oldestWaiting(shared, { soon }, reads), waitingPrograms(shared, {}, reads)]).then(
    ([vehicles, programs]) => ({ vehicles: new Map(vehicles.map(({ brand, since }) => [brand, since])), programs }),
  );
  kept.set(database, { until: now + KEPT_SECONDS * 1000, waiting });
  waiting.catch(() => kept.delete(database));
  return waiting;
}

export const manufacturerSchema = z
  .object({
    id: field(z.string(), 'The id of the manufacturer, such as `bmw`, as vehicles have it in REST.', 'bmw'),
    name: field(z.string(), 'The name of the manufacturer as it writes it.', 'BMW'),
    provider: field(
      z.string().nullable(),
      'The name of the provider, the service that is asked about the manufacturer’s vehicles; null if none is configured.',
      'high-mobility',
    ),
    supported: field(z.boolean(), 'True if a provider can be asked about the manufacturer’s vehicles.', true),
    contracts: field(
      z.boolean(),
      'True if a provider carries out contracts for the manufacturer’s vehicles; `packs` says for which packs.',
      true,
    ),
    wmis: field(
      z.array(z.string()),
      'The world manufacturer identifiers (WMI) of the manufacturer: the first three characters of its VINs, and for a maker of few vehicles the 12th to 14th as well. Several manufacturers may share one.',
      ['WBA', 'WBS'],
    ),
  })
  .meta({ id: 'Manufacturer', description: 'A manufacturer of vehicles, which the first characters of a VIN tell.' });

export const providerStateSchema = z.enum(['OK', 'HELD_BACK']);

const since = 'The time since which the provider is asked less (`HELD_BACK`); null if it is asked as usual.';

export const providerBrandSchema = z
  .object({
    id: field(z.string(), 'The id of the manufacturer, such as `bmw`.', 'bmw'),
    state: field(
      providerStateSchema,
      'The availability of the provider for questions about vehicles of the manufacturer.',
      'OK',
    ),
    since: timeOrNullField(since, null),
  })
  .meta({
    id: 'ProviderBrand',
    description: 'A manufacturer that a provider answers for, with the state of the gateway’s questions about it.',
  });

const sinceWhen = (what: string) =>
  `The time since which the first program of a contract has waited to be ${what}; null if none waits.`;

export const providerContractsSchema = z
  .object({
    toActivate: field(
      z.int(),
      `The number of vehicles’ programs that contracts need and that are not active yet, each program of each vehicle counted, up to ${MOST_WAITING_PROGRAMS.toLocaleString('en')}.`,
      12,
    ),
    activatingSince: timeOrNullField(sinceWhen('activated'), '2027-01-01T00:00:00.000Z'),
    toRevoke: field(
      z.int(),
      'The number of vehicles’ programs that no contract needs any more and whose end the manufacturer has not confirmed, each program of each vehicle counted.',
      0,
    ),
    revokingSince: timeOrNullField(sinceWhen('revoked'), null),
  })
  .meta({
    id: 'ProviderContracts',
    description:
      'The contracts that wait for a provider to activate or end them, counted in vehicles’ programs at the manufacturer: a contract needs one or several of its vehicle.',
  });

export const providerSchema = z
  .object({
    name: field(z.string(), 'The name of the provider, the service that answers for manufacturers.', 'high-mobility'),
    state: field(
      providerStateSchema,
      'The state of the provider: `HELD_BACK` if it failed several times in a row or asked for a pause, so that it is asked less for now.',
      'OK',
    ),
    since: timeOrNullField(since, null),
    askedLastMinute: field(z.int(), 'The number of the gateway’s questions to the provider in the last minute.', 42),
    oldestWaiting: timeOrNullField(
      'The time at which the vehicle was added that has waited longest for the provider’s first answer; null if none waits.',
      '2026-11-20T08:00:00.000Z',
    ),
    contracts: providerContractsSchema
      .nullable()
      .describe('The contracts that wait for the provider to activate or end them; null if it carries out none.'),
    brands: z
      .array(providerBrandSchema)
      .describe('The manufacturers whose vehicles the provider is asked about, each with its availability.'),
  })
  .meta({
    id: 'Provider',
    description:
      'A service that answers about vehicles for one or more manufacturers, with its state for all companies together.',
  });
type ProviderStatus = z.output<typeof providerSchema>;
