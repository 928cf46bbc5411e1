import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { authorizeContracts, type Context } from '../context.ts';
import { Unauthenticated } from '../errors.ts';
import { field } from '../fields.ts';
import { fleetExistsExpression } from '../fleets/fleet.ts';
import { db, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';

export const packSchema = z
  .object({
    name: field(z.string(), 'The name of the pack, as contracts have it in `pack`.', 'driving-log'),
    description: field(
      z.string().nullable(),
      'The data services of the pack, in the words of the operator; null if the operator has not described it.',
      'Odometer and location for the driving log',
    ),
    manufacturers: field(
      z.array(z.string()),
      'The manufacturers for whose vehicles a provider carries out contracts for the pack.',
      ['bmw', 'mini'],
    ),
    isOffered: field(
      z.boolean(),
      'True if the operator’s settings name the pack or, where they name none, if a provider carries out contracts for it.',
      true,
    ),
    contracts: field(z.int(), 'The number of the company’s contracts for the pack, also of those that are over.', 12),
  })
  .meta({
    id: 'Pack',
    description: 'A pack of data services for which contracts can be made, or for which the company has contracts.',
  });
export type Pack = z.output<typeof packSchema>;

export const MOST_PACKS = 1000;

const countByPack = prepare((p: { company: string }) =>
  db
    .selectFrom('contract as c')
    .select(['c.pack', sql<number>`count(*)::int`.as('contracts')])
    .where('c.company', '=', p.company)
    .where(fleetExistsExpression('c', p.company))
    .groupBy('c.pack')
    .orderBy('contracts', 'desc')
    .orderBy('c.pack')
    .limit(sql.lit(MOST_PACKS)),
);

/** The packs that the settings name and those of the company's contracts, by name; of all, at most a thousand. */
export async function listPacks(ctx: Context): Promise<Pack[]> {
  const company = authorizeContracts(ctx, 'contracts:read');
  if (company === null) throw new Unauthenticated('Packs are listed for a company: send its token.', null);
  const counts = await countByPack(ctx, { company }, 'search');
  const contracts = new Map(counts.map((row) => [row.pack, row.contracts]));
  const names = [...new Set([...namedPacks(ctx), ...contracts.keys()])].slice(0, MOST_PACKS);
  return names
    .toSorted((a, b) => a.localeCompare(b, 'en'))
    .map((name) => ({
      name,
      description: ctx.services.config.PACKS.get(name) ?? null,
      manufacturers: offeringBrands(ctx, name),
      isOffered: isOffered(ctx, name),
      contracts: contracts.get(name) ?? 0,
    }));
}

/** Names of packs in the settings; `*` stands for any. */
function namedPacks({ services: { config, manufacturers } }: Context): Set<string> {
  const atProviders = Object.values(manufacturers.offers).flatMap(({ packs }) => Object.keys(packs));
  return new Set([...config.PACKS.keys(), ...atProviders.filter((name) => name !== '*')]);
}

const offeringBrands = ({ services: { manufacturers } }: Context, pack: string): string[] =>
  Object.entries(manufacturers.offers).flatMap(([brand, { packs }]) => ((packs[pack] ?? packs['*']) ? brand : []));

function isOffered(ctx: Context, pack: string): boolean {
  const named = namedPacks(ctx);
  return named.size > 0 ? named.has(pack) : offeringBrands(ctx, pack).length > 0;
}

export const contractWarningCodeSchema = z.enum([
  'PACK_NOT_OFFERED',
  'VEHICLE_NOT_ELIGIBLE',
  'MANUFACTURER_NOT_SUPPORTED',
]);

export const contractWarningSchema = z
  .object({
    code: field(
      contractWarningCodeSchema,
      'The reason for which the contract may have no effect: `PACK_NOT_OFFERED`, `VEHICLE_NOT_ELIGIBLE` or `MANUFACTURER_NOT_SUPPORTED`.',
      'PACK_NOT_OFFERED',
    ),
    message: field(
      z.string(),
      'The reason for which the contract may have no effect, as a sentence in English.',
      'The pack “driving log” is not among those that the operator offers.',
    ),
    vin: field(z.string(), 'The VIN of the contract’s vehicle.', 'WBA3A5C50CF256985'),
  })
  .meta({
    id: 'ContractWarning',
    description: 'A reason for which a contract may have no effect at the manufacturer. Nothing is rejected for it.',
  });
export type ContractWarning = z.output<typeof contractWarningSchema>;

export const warningsSchema = z
  .array(contractWarningSchema)
  .describe('The reasons for which contracts may have no effect at the manufacturer. Nothing is rejected for them.');

type Known = Pick<Selectable<Tables['vehicle']>, 'vin' | 'manufacturer' | 'status'>;

/** What can be said beforehand about contracts of these vehicles for a pack. */
export function warningsOf(ctx: Context, pack: string, vehicles: readonly Known[]): ContractWarning[] {
  const offering = new Set(offeringBrands(ctx, pack));
  const offered = isOffered(ctx, pack);
  const makers = new Map(ctx.services.manufacturers.list().map((one) => [one.id as string, one]));
  return vehicles.flatMap(({ vin, manufacturer, status }): ContractWarning[] => {
    const maker = makers.get(manufacturer ?? '');
    const name = maker?.name ?? 'a manufacturer that the VIN does not tell';
    const reasons: Record<ContractWarning['code'], string | false> = {
      PACK_NOT_OFFERED: offered
        ? maker?.contracts === true && !offering.has(maker.id) && `${name} does not offer the pack “${pack}”.`
        : `The pack “${pack}” is not among those that the operator offers.`,
      VEHICLE_NOT_ELIGIBLE: status === 'INELIGIBLE' && 'The manufacturer says that the vehicle is not eligible.',
      MANUFACTURER_NOT_SUPPORTED: !maker?.contracts && `No provider carries out contracts for ${name}.`,
    };
    return contractWarningCodeSchema.options.flatMap((code) => {
      const message = reasons[code];
      return message ? { code, message, vin } : [];
    });
  });
}
