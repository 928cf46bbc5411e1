import { type RawBuilder, sql } from 'kysely';
import { type Manufacturers, type Reason, reason } from '../../manufacturers/index.ts';
import type { Context } from '../context.ts';
import { asTimestamptz } from '../sql/sql.ts';
import { CONTRACTS_OF_VEHICLE } from './contracts-of-vehicles.ts';

// What contracts need of manufacturers: one definition for what is planned, claimed, ended and reported.

/** What providers offer, and who carries it out. */
export type Offering = Pick<Manufacturers, 'offers' | 'activatorOf'>;

/** Values of a plan, as JSON: what providers offer by brand (null: manufacturers are not told), and why there is none. */
export interface PlanValues {
  offers: string | null;
  reasons: string;
}

export const noPack = reason(
  'PACK_NOT_OFFERED',
  'The pack is not among those that the operator has set up with the manufacturer’s service.',
);

export function planValues({ services }: Context): PlanValues {
  const { manufacturers, config } = services;
  const reasons: Record<'unknown' | 'brand' | 'pack', Reason> = {
    unknown: manufacturers.unsupported(null),
    brand: manufacturers.noActivation,
    pack: noPack,
  };
  return {
    offers: config.CONTRACTS_ACTIVATION ? JSON.stringify(manufacturers.offers) : null,
    reasons: JSON.stringify(reasons),
  };
}

/** What the provider of a vehicle `v` offers; null: there is none. */
export const offerSql = (offers: string | null) => sql`(${offers}::jsonb -> v.manufacturer)`;
/** The programs that the pack of a contract `c` needs of an offer; null: the provider does not offer it. */
export const packSql = (offer: RawBuilder<unknown>) =>
  sql`coalesce(${offer} -> 'packs' -> c.pack, ${offer} -> 'packs' -> '*')`;

/** Whether a contract `c` of a vehicle `v` needs the program of a row `a`, whether or not it has been planned. */
const needsProgram = (offer: RawBuilder<unknown>) =>
  sql`case when c.provider is not null then c.provider = a.provider and a.program = any(c.programs)
    else ${offer} ->> 'provider' = a.provider and ${packSql(offer)} @> to_jsonb(a.program) end`;

/** What decides whether a program is needed: offers of providers by brand, as JSON; now; until when contracts count before they begin (ISO 8601). */
export type Needs = { offers: string; now: string; soon: string };

/** `gap`: minutes within which a contract counts before it begins. */
export const needsAt = (now: Date, { offers }: Offering, gap: number): Needs => ({
  offers: JSON.stringify(offers),
  now: now.toISOString(),
  soon: new Date(now.getTime() + gap * 60_000).toISOString(),
});

/**
 * Who needs the program of a row `a`: `wanted`, a contract of its company that is in force; `begins`, the start of the first contract of
 * any company that is in force or begins until `soon`. Programs belong to the gateway's account at the provider.
 */
export const needSql = ({ offers, now, soon }: Needs) =>
  sql<{ wanted: boolean; begins: string | null }>`(
    select coalesce(bool_or(c.company = a.company and c.starts_at <= ${asTimestamptz(now)}), false) as wanted,
      min(c.starts_at) as begins
    from vehicle v join contract c on c.company = v.company and ${sql.raw(CONTRACTS_OF_VEHICLE)}
    where v.vin = a.vin and c.starts_at <= ${asTimestamptz(soon)} and c.ends_at > ${asTimestamptz(now)}
      and ${needsProgram(offerSql(offers))})`;
