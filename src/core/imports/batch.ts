import { candidateBrands } from '../../manufacturers/brands.ts';
import { readVin, type VinError, warningsText } from '../vin.ts';
import type { CsvRow } from './table.ts';

/** Rows of a file in the form in which statements take them: columns as PostgreSQL writes arrays, or as JSON. */
export interface Batch {
  received: number;
  good: GoodRows | null;
  rejected: RejectedRow[];
}

export interface GoodRows {
  firstRow: number;
  count: number;
  rows: string;
  vins: string;
  manufacturers: string;
  supported: string;
  warnings: string;
  /** null: none of the rows has other cells than its VIN. */
  cells: string | null;
}

export interface RejectedRow extends CsvRow {
  code: VinError['code'];
  message: string;
}

/** Reads the VINs of some rows; `supported` are the brands that somebody can be asked about. */
export function batchOf(rows: readonly CsvRow[], supported: ReadonlySet<string>): Batch {
  const rejected: RejectedRow[] = [];
  const good: CsvRow[] = [];
  const vins: string[] = [];
  const warnings: (string | null)[] = [];
  for (const one of rows) {
    const reading = readVin(one.value);
    if ('vin' in reading) {
      good.push(one);
      vins.push(reading.vin);
      warnings.push(warningsText(reading));
    } else {
      rejected.push({ ...one, code: reading.code, message: reading.message });
    }
  }
  const [first] = good;
  if (!first) return { received: rows.length, good: null, rejected };
  const brands = vins.map(candidateBrands);
  return {
    received: rows.length,
    good: {
      firstRow: first.row,
      count: good.length,
      rows: arrayOf(good.map(({ row }) => row)),
      vins: arrayOf(vins),
      manufacturers: arrayOf(brands.map(([likeliest]) => likeliest ?? null)),
      supported: arrayOf(brands.map((all) => (all.some((brand) => supported.has(brand)) ? 't' : 'f'))),
      warnings: arrayOf(warnings),
      cells: good.some(({ cells }) => cells !== null) ? JSON.stringify(good.map(({ cells }) => cells)) : null,
    },
    rejected,
  };
}

/** An array as PostgreSQL writes it. Only for numbers, VINs, slugs, flags, codes and null: nothing in them needs quotes. */
const arrayOf = (values: readonly (string | number | null)[]) => `{${values.map((value) => value ?? 'null').join()}}`;
