import { isArchive } from './spreadsheet/workbook.ts';
import { keepOnDisk, type TemporaryFile } from './temporary-file.ts';

/** Bytes that tell a workbook from text. */
const SIGNATURE_BYTES = 4;

/** A file to be read: text as it arrives, or a workbook, which has arrived. */
export type Source = { text: AsyncGenerator<Buffer> } | { workbook: TemporaryFile };

/**
 * Tells by its content whether a file is a workbook; if so, writes it to disk, since its table of contents is at its end.
 * Throws PayloadTooLarge and Unavailable for a workbook for which there is no room.
 */
export async function openSource(input: AsyncIterable<Buffer>, mostBytes: number): Promise<Source> {
  const { start, all } = await startOf(input);
  return isArchive(start) ? { workbook: await keepOnDisk(all, mostBytes) } : { text: all };
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
