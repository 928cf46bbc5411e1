import { type CsvTable, readCsv, readCsvText } from './csv/csv.ts';
import type { CsvLimits } from './csv/limits.ts';
import { firstSheet } from './spreadsheet/workbook.ts';

/**
 * Opens a file of VINs: CSV text, or a workbook by its descriptor, whose rows are those of the CSV file that its first sheet
 * would make. Throws what readCsv and firstSheet throw, here or from `rows`.
 */
export const readTable = (file: AsyncIterable<Buffer> | number, limits: CsvLimits): Promise<CsvTable> =>
  typeof file === 'number' ? readCsvText(firstSheet(file, limits), limits, ',') : readCsv(file, limits);
