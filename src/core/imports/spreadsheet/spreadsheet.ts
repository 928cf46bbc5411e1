import type { CsvLimits } from '../csv/limits.ts';
import { Archive, tooLarge } from './archive.ts';
import { readDateStyles } from './dates.ts';
import { SharedStrings } from './shared-strings.ts';
import { sheetText } from './sheet.ts';
import { readWorkbook } from './workbook.ts';

/** A sheet takes more room when it is unpacked than its file, but not without end. */
const UNPACKED = 4;

/** Whether a file that begins with these bytes may be a workbook: it is a ZIP archive. */
export const isArchive = (start: Buffer): boolean => start.toString('latin1', 0, 4) === 'PK\x03\x04';

/**
 * The first sheet of an Excel workbook (.xlsx) as CSV text with commas, piece by piece, in constant memory but for the
 * workbook's texts. Throws UnsupportedMediaType for what is no workbook, PayloadTooLarge, and ValidationFailed.
 */
export async function* firstSheet(fd: number, limits: CsvLimits): AsyncGenerator<string, void> {
  const archive = await Archive.open(fd, limits.bytes * UNPACKED);
  const { sheet, from1904 } = await readWorkbook(archive);
  const strings = await SharedStrings.read(archive.read('xl/sharedStrings.xml'), limits.fieldLength);
  const dateStyles = await readDateStyles(archive.read('xl/styles.xml'));
  // A text that many cells share stands in the file once, and in each of them here.
  let charactersLeft = limits.bytes;
  for await (const text of sheetText(archive.read(sheet), { strings, dateStyles, from1904 }, limits)) {
    charactersLeft -= text.length;
    if (charactersLeft < 0) throw tooLarge();
    yield text;
  }
}
