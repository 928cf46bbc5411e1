import { candidateBrands } from '../../manufacturers/brands.ts';
import { type CsvRow, readVin, type VinError, vinWarningsText } from '../../vin-files/index.ts';

export type CsvRowBatch = ReturnType<typeof csvRowBatchOf>;
export type ValidCsvRows = NonNullable<CsvRowBatch['good']>;
export type RejectedCsvRow = CsvRow & Pick<VinError, 'code' | 'message'>;

/** For the threads that read files: what becomes of rows there; `supportedBrands` are those that a provider serves. */
export const openBatches = (supportedBrands: readonly string[]) => {
  const supported = new Set(supportedBrands);
  return (rows: readonly CsvRow[]) => csvRowBatchOf(rows, supported);
};

/** Reads the VINs of some rows, for statements: columns as PostgreSQL writes arrays, or as JSON. */
export function csvRowBatchOf(rows: readonly CsvRow[], supportedBrands: ReadonlySet<string>) {
  const rejected: RejectedCsvRow[] = [];
  const good: CsvRow[] = [];
  const vins: string[] = [];
  const warnings: (string | null)[] = [];
  for (const one of rows) {
    const reading = readVin(one.value);
    if ('code' in reading) rejected.push({ ...one, code: reading.code, message: reading.message });
    else {
      good.push(one);
      vins.push(reading.vin);
      warnings.push(vinWarningsText(reading));
    }
  }
  const [first] = good;
  if (!first) return { received: rows.length, good: null, rejected };
  const brands = vins.map(candidateBrands);
  return {
    received: rows.length,
    good: {
      firstRow: first.row,
      rows: arrayOf(good.map(({ row }) => row)),
      vins: arrayOf(vins),
      manufacturers: arrayOf(brands.map(([likeliest]) => likeliest ?? null)),
      supported: arrayOf(brands.map((all) => (all.some((brand) => supportedBrands.has(brand)) ? 't' : 'f'))),
      warnings: arrayOf(warnings),
      /** null: none of the rows has other cells than its VIN. */
      cells: good.some(({ cells }) => cells !== null) ? JSON.stringify(good.map(({ cells }) => cells)) : null,
    },
    rejected,
  };
}

/** An array as PostgreSQL writes it. Only for numbers, VINs, slugs, flags, codes and null: nothing in them needs quotes. */
const arrayOf = (values: readonly (string | number | null)[]) => `{${values.map((value) => value ?? 'null').join()}}`;
