import { sql } from 'kysely';
import type { Manufacturers } from '../../manufacturers/registry.ts';
import type { SendStatement } from '../database.ts';
import { asTimestamptz, db, prepare } from '../sql/sql.ts';

/** Contracts in force of which no manufacturer has heard, by maker and pack. */
const untold = prepare((p: { now: Date }) =>
  db
    .selectFrom('contract as c')
    .innerJoin('vehicle as v', (on) => on.onRef('v.company', '=', 'c.company').onRef('v.id', '=', 'c.vehicle_id'))
    .select(['v.manufacturer', 'c.pack', sql<number>`count(*)::int`.as('contracts')])
    .select(sql<number>`count(distinct v.vin)::int`.as('vehicles'))
    .where('c.provider', 'is', null)
    .where('c.starts_at', '<=', asTimestamptz(p.now))
    .where('c.ends_at', '>', asTimestamptz(p.now))
    .groupBy(['v.manufacturer', 'c.pack'])
    .orderBy('v.manufacturer')
    .orderBy('c.pack'),
);

/** Programs by provider and state, whether they are wanted, and how many are due. */
const programs = prepare((p: { now: Date }) =>
  db
    .selectFrom('activation')
    .select(['provider', 'state', 'wanted'])
    .select(sql<number>`count(*)::int`.as('programs'))
    .select(sql<number>`count(*) filter (where due_at <= ${p.now}::timestamptz)::int`.as('due'))
    .groupBy(['provider', 'state', 'wanted'])
    .orderBy('provider')
    .orderBy('state'),
);

type ActivationReport = Awaited<ReturnType<typeof reportActivations>>;

/** What manufacturers would be asked about contracts in force, and what they have been asked; nothing is asked for it. */
export async function reportActivations(send: SendStatement, { offers }: Pick<Manufacturers, 'offers'>, now: Date) {
  const groups = await untold(send, { now });
  return {
    untold: groups.map(({ manufacturer, pack, ...numbers }) => {
      const offer = offers[manufacturer ?? ''];
      return {
        manufacturer,
        pack,
        ...numbers,
        provider: offer?.provider ?? null,
        programs: offer?.packs[pack] ?? offer?.packs['*'] ?? null,
      };
    }),
    programs: await programs(send, { now }),
  };
}

/** A sentence for the start of the service: what the setting changes. */
export function startSentence({ untold, programs }: ActivationReport, isOn: boolean): string | null {
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
  const active = sum(programs.flatMap(({ state, programs }) => (state === 'ACTIVE' ? programs : [])));
  const contracts = sum(untold.flatMap(({ programs, contracts }) => (programs ? contracts : [])));
  if (isOn)
    return contracts > 0
      ? `CONTRACTS_ACTIVATION is on: ${contracts} contracts in force are carried out at manufacturers now.`
      : null;
  return active > 0
    ? `CONTRACTS_ACTIVATION is off: nothing is asked, and ${active} programs stay active at manufacturers.`
    : null;
}
