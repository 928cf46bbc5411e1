import type { Readable } from 'node:stream';
import { textOf } from './decode.ts';
import type { Delimiter } from './head.ts';
import { type CsvLayout, readStart } from './layout.ts';
import type { CsvLimits } from './limits.ts';
import { type CsvRow, rowsOf } from './rows.ts';

/** A CSV file as far as its first row tells; its rows are read while they are iterated over, in constant memory. */
export interface CsvTable extends CsvLayout {
  rows: AsyncIterable<CsvRow[]>;
}

/**
 * Opens a CSV file of VINs in any of the shapes spreadsheets and scripts produce.
 * Throws, here or from `rows`: UnsupportedMediaType for what is not CSV text, PayloadTooLarge, ValidationFailed for a
 * file that cannot be read, and the input's own errors. The input is destroyed when reading fails or the iteration
 * over `rows` ends early; who never begins it has the input to destroy.
 */
export const readCsv = (input: Readable | AsyncIterable<Buffer>, limits: CsvLimits): Promise<CsvTable> =>
  readCsvText(textOf(input, limits.bytes), limits);

/** The same for text, with `\n` as its only line break, and `delimiter` as its delimiter where that is known. */
export async function readCsvText(
  text: AsyncGenerator<string, void>,
  limits: CsvLimits,
  delimiter?: Delimiter,
): Promise<CsvTable> {
  try {
    const start = await readStart(text, limits, delimiter);
    return { ...start.layout, rows: rowsOf(start, text, limits) };
  } catch (error) {
    await text.return();
    throw error;
  }
}
