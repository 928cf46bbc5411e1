import type { CsvDelimiter, CsvHead, CsvHeadLine } from './head.ts';
import { isVin } from './vin-cells.ts';

/** Rows in which a column of VINs is looked for below unknown names, if as many hold anything. */
const SAMPLE = 50;
const MOST_READ = 500;
export const cellsOf = ({ readings }: CsvHeadLine, delimiter: CsvDelimiter): readonly string[] =>
  readings.find((reading) => reading.delimiter === delimiter)?.cells ?? [];

export const isFilled = (cell: string): boolean => cell.trim() !== '';

/** The first rows that hold anything, from these on. */
export async function sampleOf(head: CsvHead, lines: readonly CsvHeadLine[], delimiter: CsvDelimiter) {
  const rows = lines.map((line) => cellsOf(line, delimiter)).filter((cells) => cells.some(isFilled));
  for (let read = 0; read < MOST_READ && rows.length < SAMPLE; read++) {
    const line = await head.next();
    if (!line) break;
    const cells = cellsOf(line, delimiter);
    if (cells.some(isFilled)) rows.push(cells);
  }
  return rows;
}

/** Columns of which at least four in five cells are VINs. */
export function columnsOfVins(rows: readonly (readonly string[])[]): number[] {
  const width = Math.max(...rows.map(({ length }) => length));
  const columns = Array.from({ length: width }, (_, at) => at);
  return columns.filter((at) => rows.filter((cells) => isVin(cells[at] ?? '')).length * 5 >= rows.length * 4);
}
