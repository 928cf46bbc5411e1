import { type BrandId, wmiTable } from './brands.ts';
import type { Provider } from './provider.ts';

/** What can be asked about with these providers: worked out once, since it is looked up for each VIN. */
export function servedBrands(byBrand: ReadonlyMap<BrandId, Provider>) {
  const served = new Map(wmiTable.map(({ brands }) => [brands, servedOf(brands, byBrand)]));
  const rows = wmiTable.filter((row) => served.get(row.brands)?.length);
  return {
    /** By the brands of a row of the table (its own list), those of them that can be asked about. */
    served,
    /** The makers, and the beginnings of VINs, that may be of a brand with a provider. */
    servable: { makers: [...new Set(rows.flatMap((row) => row.brands.slice(0, 1)))], wmis: rows.map((row) => row.wmi) },
  };
}

/** The candidates that can be asked about: by the name of another candidate, the answer would be about that one. */
function servedOf(candidates: readonly BrandId[], byBrand: ReadonlyMap<BrandId, Provider>) {
  return candidates.flatMap((id) => {
    const provider = byBrand.get(id);
    const name = provider?.askedAs?.(id) ?? id;
    const isOther = name !== id && candidates.some((one) => one === name);
    return provider && !isOther ? { id, provider } : [];
  });
}
