import { posix } from 'node:path';
import { UnsupportedMediaType } from '../../errors.ts';
import type { CsvLimits } from '../csv/limits.ts';
import { Archive, damaged, tooLarge } from './archive.ts';
import { readDateStyles } from './dates.ts';
import { SharedStrings } from './shared-strings.ts';
import { sheetText } from './sheet.ts';
import { readAll } from './xml.ts';

const WORKBOOK = 'xl/workbook.xml';

/** Sheets that a workbook may have; the first ones count. */
const MOST_SHEETS = 1000;

/** Where the parts of a workbook are. */
export interface Workbook {
  /** The first sheet of cells that is not hidden. */
  sheet: string;
  /** Days are counted from 1904. */
  from1904: boolean;
}

/** Finds a workbook's first sheet. Throws UnsupportedMediaType for an archive that is no workbook, and ValidationFailed. */
export async function readWorkbook(archive: Archive): Promise<Workbook> {
  if (!archive.has(WORKBOOK)) {
    throw new UnsupportedMediaType(
      'The uploaded file is neither CSV text nor an Excel workbook: it is a ZIP archive of something else. In your ' +
        'program, save the sheet as "CSV UTF-8" or as .xlsx and send that.',
    );
  }
  const sheets: { id: string; hidden: boolean }[] = [];
  let from1904 = false;
  await readAll(archive.read(WORKBOOK), {
    open(name, attributes) {
      if (name === 'workbookPr') from1904 = /^(?:1|true)$/.test(attributes.date1904 ?? '');
      if (name !== 'sheet' || sheets.length >= MOST_SHEETS) return;
      const id = Object.entries(attributes).find(([key]) => /:id$/.test(key))?.[1] ?? '';
      sheets.push({ id, hidden: /hidden/i.test(attributes.state ?? '') });
    },
  });
  const places = await readPlaces(archive);
  const first = sheets.find(({ id, hidden }) => !hidden && places.has(id)) ?? sheets.find(({ id }) => places.has(id));
  const sheet = first && places.get(first.id);
  if (!sheet || !archive.has(sheet)) throw damaged(new Error('no sheet'));
  return { sheet, from1904 };
}

/** The parts of sheets of cells, by the ids by which the workbook names them. */
async function readPlaces(archive: Archive): Promise<Map<string, string>> {
  const places = new Map<string, string>();
  let relationships = 0;
  await readAll(archive.read('xl/_rels/workbook.xml.rels'), {
    open(name, { Id = '', Type = '', Target = '' }) {
      if (name !== 'Relationship' || !Type.endsWith('/worksheet') || relationships++ >= MOST_SHEETS) return;
      places.set(Id, posix.resolve('/xl', Target).slice(1));
    },
  });
  return places;
}

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
