import { type Expression, sql } from 'kysely';
import { counted } from '../counted.ts';
import { asTimestamptz, db, prepare } from '../sql/sql.ts';
import { programsOfContract } from './activation.ts';
import type { Auditing } from './audit-activations.ts';
import { type Needs, needSql, needsAt } from './needs.ts';
import { planOfSettings } from './pack-changes.ts';
import { planOfBrands } from './refused-brands.ts';

/** Programs by provider and state, whether they are wanted, and how many are due. */
const programsByState = prepare((p: { now: Date }) =>
  db
    .selectFrom('activation')
    .select(['provider', 'state', 'wanted'])
    .select(sql<number>`count(*)::int`.as('programs'))
    .select(sql<number>`count(*) filter (where due_at <= ${p.now}::timestamptz)::int`.as('due'))
    .groupBy(['provider', 'state', 'wanted'])
    .orderBy('provider')
    .orderBy('state'),
);

/** Programs of contracts that have ended, which nobody has recorded yet. */
const programsOver = (now: Expression<string>) =>
  sql`select o.id from contract c, vehicle v, activation o where v.company = c.company and v.id = c.vehicle_id
    and ${sql.raw(programsOfContract('o', 'c', 'v.vin'))} and c.due_at <= ${now} and c.ends_at <= ${now}`;

/** Programs whose contracts went or ended while nothing was ended: a claim would find so. */
const programsLeft = prepare((p: Needs) =>
  db
    .selectFrom('activation as a')
    .crossJoinLateral(needSql(p).as('need'))
    .select(['a.provider', sql<number>`count(*)::int`.as('programs')])
    .where(sql<boolean>`(a.due_at <= ${asTimestamptz(p.now)} or a.id in (${programsOver(asTimestamptz(p.now))}))`)
    .where('a.asked', '=', sql.lit(true))
    .where('a.wanted', '=', sql.lit(true))
    .where('need.begins', 'is', null)
    .groupBy('a.provider')
    .orderBy('a.provider'),
);

type ActivationReport = Awaited<ReturnType<typeof reportActivations>>;

/** What the settings have manufacturers be asked about contracts in force, and what they have been asked; nothing is asked for it. */
export async function reportActivations({ send, manufacturers, gap }: Auditing, now: Date) {
  const programs = await programsByState(send, { now });
  const left = await programsLeft(send, needsAt(now, manufacturers, gap));
  return {
    plan: [...(await planOfSettings(send, manufacturers, now)), ...(await planOfBrands(send, manufacturers, now))],
    programs,
    left: left.filter(({ provider }) => manufacturers.activatorOf(provider)),
    /** Providers without settings whose programs wait. */
    gone: [...new Set(programs.map(({ provider }) => provider))].filter((one) => !manufacturers.activatorOf(one)),
  };
}

const named = (programs: readonly string[]): string => programs.filter(Boolean).join(', ') || 'a clearance';

/** What becomes of contracts in force by the settings, a line for each maker and pack of which something does. */
export function planLines({ plan }: ActivationReport): string[] {
  return plan.flatMap(({ provider, manufacturer, pack, contracts, vehicles, needed, asked, ended }) => {
    if (provider !== null && asked.length + ended.length === 0) return [];
    const acts = [
      ...(asked.length > 0 && needed ? [`${needed.provider} is asked for ${named(asked)}`] : []),
      ...(ended.length > 0 ? [`${provider} is asked to end ${named(ended)}`] : []),
    ];
    return `${contracts} of pack ${pack} for ${counted(vehicles, 'vehicle')} of ${manufacturer ?? 'unknown makers'}: ${acts.join(', and ') || 'nobody is asked'}`;
  });
}

/** What providers are asked to end, since its contracts went while nothing was ended. */
export const leftLines = ({ left }: ActivationReport): string[] =>
  left.map(
    ({ provider, programs }) =>
      `${provider} is asked to end ${counted(programs, 'program')} that no contract needs any more.`,
  );

/** How many programs stay as they are: `3 programs ACTIVE and 1 program PENDING`; empty if none does. */
function staying(programs: ActivationReport['programs']): string {
  const counts = ['ACTIVE', 'PENDING', 'ENDING'].flatMap((state) => {
    const rows = programs.filter((one) => one.state === state);
    const count = rows.reduce((sum, one) => sum + one.programs, 0);
    return count > 0 ? `${counted(count, 'program')} ${state}` : [];
  });
  return new Intl.ListFormat('en').format(counts);
}

/** A sentence for each provider without settings that rows name: it can be asked for nothing, nor told of an end. */
export const goneLines = ({ programs, gone }: ActivationReport): string[] =>
  gone.flatMap((provider) => {
    const stay = staying(programs.filter((one) => one.provider === provider));
    return `${provider} has no settings any more, and is told of nothing${stay && `; it has ${stay}`}. Set it again, or end them on its page.`;
  });

/** The sentences of the service's start: what the settings change, before anything is asked. */
export function startLines(report: ActivationReport, isOn: boolean): { info: string[]; warn: string[] } {
  const stay = staying(report.programs);
  const isOff = `CONTRACTS_ACTIVATION is off: nothing is asked or ended. What stays: ${stay}.`;
  if (!isOn) return { info: stay ? [isOff] : [], warn: [] };
  const lines = planLines(report);
  const changed = report.plan.filter(({ asked, ended }) => asked.length + ended.length > 0);
  const contracts = changed.reduce((sum, one) => sum + one.contracts, 0);
  const carriedOut = `CONTRACTS_ACTIVATION is on. Carried out at manufacturers now: ${counted(contracts, 'contract')} in force.`;
  return {
    info: [...(contracts > 0 ? [carriedOut, ...lines] : []), ...leftLines(report)],
    warn: goneLines(report),
  };
}
