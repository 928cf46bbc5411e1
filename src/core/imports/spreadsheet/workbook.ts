import { posix } from 'node:path';
import { UnsupportedMediaType } from '../../errors.ts';
import type { CsvLimits } from '../csv/limits.ts';
import { Archive, damaged, readAll, tooLarge } from './archive.ts';
import { SharedStrings } from './shared-strings.ts';
import { readDateStyles, sheetText } from './sheet.ts';

const WORKBOOK = 'xl/workbook.xml';

/** Sheets that are read of a workbook's list, and characters of their names. */
const MOST_LISTED = 1000;
const NAME_LENGTH = 100;
/** Sheets in which VINs are looked for. */
const MOST_SHEETS = 100;

export interface Sheet {
  name: string;
  /** The sheet as CSV text with commas, piece by piece. Throws PayloadTooLarge and ValidationFailed. */
  text(): AsyncGenerator<string, void>;
}

export interface Workbook {
  /** The first sheets of cells, in the order of the workbook: those that are not hidden, or all where every one is. */
  sheets: Sheet[];
  /** Whether it has more of them. */
  more: boolean;
  /** Whether others are hidden. */
  hidden: boolean;
}

interface Listed {
  id: string;
  name: string;
  hidden: boolean;
}

/** Throws UnsupportedMediaType for an archive that is no workbook, and ValidationFailed. */
async function listSheets(archive: Archive): Promise<{ sheets: Listed[]; from1904: boolean }> {
  if (!archive.has(WORKBOOK)) {
    throw new UnsupportedMediaType(
      'The uploaded file is neither CSV text nor an Excel workbook: it is a ZIP archive of something else. In your ' +
        'program, save the sheet as "CSV UTF-8" or as .xlsx and send that.',
    );
  }
  const sheets: Listed[] = [];
  let from1904 = false;
  await readAll(archive.read(WORKBOOK), {
    open(name, attributes) {
      if (name === 'workbookPr') from1904 = /^(?:1|true)$/.test(attributes.date1904 ?? '');
      if (name !== 'sheet' || sheets.length >= MOST_LISTED) return;
      const id = Object.entries(attributes).find(([key]) => /:id$/.test(key))?.[1] ?? '';
      sheets.push({ id, name: nameOf(attributes.name), hidden: /hidden/i.test(attributes.state ?? '') });
    },
  });
  return { sheets, from1904 };
}

const nameOf = (written = ''): string => written.slice(0, NAME_LENGTH).replaceAll('\0', '').toWellFormed();

/** The parts of these sheets of cells, by their ids. */
async function readPlaces(archive: Archive, sheets: readonly Listed[]): Promise<Map<string, string>> {
  const ids = new Set(sheets.map(({ id }) => id));
  const places = new Map<string, string>();
  await readAll(archive.read('xl/_rels/workbook.xml.rels'), {
    open(name, { Id = '', Type = '', Target = '' }) {
      if (name !== 'Relationship' || !Type.endsWith('/worksheet') || !ids.has(Id)) return;
      const place = posix.resolve('/xl', Target).slice(1);
      if (archive.has(place)) places.set(Id, place);
    },
  });
  return places;
}

/** A sheet takes more room when it is unpacked than its file, but not without end. */
const UNPACKED = 4;

/** Whether a file that begins with these bytes may be a workbook: it is a ZIP archive. */
export const isArchive = (start: Buffer): boolean => start.toString('latin1', 0, 4) === 'PK\x03\x04';

/**
 * Opens an Excel workbook (.xlsx), whose sheets are read in constant memory but for the workbook's texts. What is unpacked of all
 * of them together has a limit. Throws UnsupportedMediaType for what is no workbook, PayloadTooLarge, and ValidationFailed.
 */
export async function openWorkbook(fd: number, limits: CsvLimits): Promise<Workbook> {
  const archive = await Archive.open(fd, limits.bytes * UNPACKED);
  const { sheets, from1904 } = await listSheets(archive);
  const places = await readPlaces(archive, sheets);
  const ofCells = sheets.filter(({ id }) => places.has(id));
  const visible = ofCells.filter(({ hidden }) => !hidden);
  const shown = visible.length > 0 ? visible : ofCells;
  if (shown.length === 0) throw damaged(new Error('no sheet'));
  const strings = await SharedStrings.read(archive.read('xl/sharedStrings.xml'), limits.fieldLength);
  const dateStyles = await readDateStyles(archive.read('xl/styles.xml'));
  const meanings = { strings, dateStyles, from1904 };
  const opened = shown.slice(0, MOST_SHEETS).map(({ id, name }) => ({
    name,
    text: () => bounded(sheetText(archive.read(places.get(id) ?? ''), meanings, limits), limits.bytes),
  }));
  return { sheets: opened, more: shown.length > MOST_SHEETS, hidden: shown.length < ofCells.length };
}

/** A text that many cells share stands in the file once, and in each of them here. */
async function* bounded(pieces: AsyncIterable<string>, most: number): AsyncGenerator<string, void> {
  let charactersLeft = most;
  for await (const text of pieces) {
    charactersLeft -= text.length;
    if (charactersLeft < 0) throw tooLarge();
    yield text;
  }
}
