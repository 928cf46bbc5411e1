import { type CsvTable, readCsv, readCsvText } from './csv/csv.ts';
import type { CsvLimits } from './csv/limits.ts';
import { firstSheet, isArchive } from './spreadsheet/spreadsheet.ts';
import { keepOnDisk } from './temporary-file.ts';

/** Bytes that tell a workbook from text. */
const SIGNATURE_BYTES = 4;

/**
 * Opens a file of VINs, CSV text or an Excel workbook, as its content tells. A workbook, whose table of contents is at its
 * end, waits on disk until it is there; its rows are then those of the CSV file that its first sheet would make.
 * Throws what readCsv and firstSheet throw, here or from `rows`.
 */
export async function readTable(input: AsyncIterable<Buffer>, limits: CsvLimits): Promise<CsvTable> {
  const { start, all } = await startOf(input);
  return isArchive(start) ? readCsvText(sheetOf(all, limits), limits, ',') : readCsv(all, limits);
}

async function* sheetOf(input: AsyncIterable<Buffer>, limits: CsvLimits): AsyncGenerator<string, void> {
  const file = await keepOnDisk(input, limits.bytes);
  try {
    yield* firstSheet(file.fd, limits);
  } finally {
    await file.discard();
  }
}

/** The first bytes of a file, and all of it. */
async function startOf(input: AsyncIterable<Buffer>): Promise<{ start: Buffer; all: AsyncGenerator<Buffer> }> {
  const pieces = input[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  let start: Buffer = Buffer.alloc(0);
  while (start.length < SIGNATURE_BYTES) {
    const { done, value } = await pieces.next();
    if (done) break;
    read.push(value);
    start = read.length === 1 ? value : Buffer.concat(read);
  }
  async function* all() {
    try {
      yield* read;
      yield* { [Symbol.asyncIterator]: () => pieces };
    } finally {
      await pieces.return?.();
    }
  }
  return { start, all: all() };
}
