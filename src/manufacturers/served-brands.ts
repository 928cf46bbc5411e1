import { type BrandId, wmiTable } from './brands.ts';
import type { Provider } from './provider.ts';

/** The candidates that can be asked about: by the name of another candidate, the answer would be about that one. */
export function servedOf(candidates: readonly BrandId[], byBrand: ReadonlyMap<BrandId, Provider>) {
  return candidates.flatMap((id) => {
    const provider = byBrand.get(id);
    const name = provider?.askedAs?.(id) ?? id;
    const isOther = name !== id && candidates.some((one) => one === name);
    return provider && !isOther ? { id, provider } : [];
  });
}

/** The makers, and the beginnings of VINs, that may be of a brand with a provider. */
export function servableBy(byBrand: ReadonlyMap<BrandId, Provider>) {
  const rows = wmiTable.filter((row) => servedOf(row.brands, byBrand).length > 0);
  return { makers: [...new Set(rows.flatMap((row) => row.brands.slice(0, 1)))], wmis: rows.map((row) => row.wmi) };
}
