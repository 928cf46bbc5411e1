import { type BrandId, brandIds } from './brands.ts';
import type { Capacity, Provider, Reason } from './provider.ts';
import { wmiTable } from './wmi.ts';

/** A provider as seen by whoever chooses which vehicles to ask about next. Brands are the likeliest ones of vehicles. */
export interface Lane {
  capacity: Capacity;
  /** Brands of vehicles that another provider is asked about. */
  elsewhere: readonly string[];
  /** Brands that nothing is sent about for so many seconds, and why. */
  holds(): { brands: string[]; seconds: number; reason: Reason }[];
}

/** A lane for each provider; `byBrand` says who serves which brand. */
export function lanesOf(providers: readonly Provider[], byBrand: ReadonlyMap<BrandId, Provider>): Lane[] {
  /** The brand that is asked about first where a vehicle's likeliest brand is this one, if any is. */
  const askedFirst = new Map(
    brandIds.flatMap((id) => {
      const candidates = [id, ...wmiTable.filter((row) => row.brands[0] === id).flatMap((row) => row.brands)];
      const asked = candidates.find((one) => byBrand.has(one));
      return asked ? [[id, asked] as const] : [];
    }),
  );
  const providerOf = (id: BrandId) => byBrand.get(askedFirst.get(id) ?? id);
  return providers.map((provider) => ({
    capacity: provider.capacity,
    elsewhere: brandIds.filter((id) => (providerOf(id) ?? provider) !== provider),
    holds: () =>
      provider.state().holds.map(({ brand, ...hold }) => ({
        ...hold,
        brands: brandIds.filter(
          (id) => providerOf(id) === provider && (brand === null || askedFirst.get(id) === brand),
        ),
      })),
  }));
}
