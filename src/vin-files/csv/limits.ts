import { tooManyBytesError } from '../rejection.ts';

/** The most of a CSV file that is read: bytes of the file, data rows, and per row characters, cells and characters of a cell. */
export interface CsvLimits {
  bytes: number;
  rowLength: number;
  columns: number;
  fieldLength: number;
  rows: number;
  /** The name of the column of VINs, where it is not to be found by itself. */
  column?: string | undefined;
}

/** Limits for files from anybody. */
export const usualLimits: CsvLimits = {
  bytes: 100_000_000,
  rowLength: 64 * 1024,
  columns: 256,
  fieldLength: 8 * 1024,
  rows: 50_000_000,
};

/** Throws `tooLong()` as soon as the pieces have more than `most` bytes or characters. */
export async function* limitPieces<T extends { length: number }>(
  pieces: AsyncIterable<T>,
  most: number,
  tooLong: () => Error = () => tooManyBytesError(most),
): AsyncGenerator<T, void> {
  let left = most;
  for await (const piece of pieces) {
    left -= piece.length;
    if (left < 0) throw tooLong();
    yield piece;
  }
}
