import { posix } from 'node:path';
import { UnsupportedMediaType } from '../../errors.ts';
import { type CsvLimits, limitPieces } from '../csv/limits.ts';
import { type Archive, damagedWorkbookError, openArchive, readWholeXml, workbookTooLargeError } from './archive.ts';
import { readSharedStrings } from './shared-strings.ts';
import { readDateStyles, streamSheetText } from './sheet.ts';

const WORKBOOK = 'xl/workbook.xml';

/** Sheets that are read of a workbook's list, and characters of their names. */
const MOST_LISTED = 1000;
const NAME_LENGTH = 100;
/** Sheets in which VINs are looked for. */
const MOST_SHEETS = 100;

export type Workbook = Awaited<ReturnType<typeof openWorkbook>>;
export type Sheet = Workbook['sheets'][number];

/** Throws UnsupportedMediaType for an archive that is no workbook, and ValidationFailed. */
async function listSheets(archive: Archive) {
  if (!archive.has(WORKBOOK)) {
    throw new UnsupportedMediaType(
      'The uploaded file is neither CSV text nor an Excel workbook: it is a ZIP archive of something else. In your ' +
        'program, save the sheet as "CSV UTF-8" or as .xlsx and send that.',
    );
  }
  const sheets: { id: string; name: string; hidden: boolean }[] = [];
  let from1904 = false;
  await readWholeXml(archive.read(WORKBOOK), {
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

/** The names of the parts of sheets of cells, by the ids of these sheets. */
async function readParts(archive: Archive, ids: ReadonlySet<string>): Promise<Map<string, string>> {
  const parts = new Map<string, string>();
  await readWholeXml(archive.read('xl/_rels/workbook.xml.rels'), {
    open(name, { Id = '', Type = '', Target = '' }) {
      if (name !== 'Relationship' || !Type.endsWith('/worksheet') || !ids.has(Id)) return;
      const part = posix.resolve('/xl', Target).slice(1);
      if (archive.has(part)) parts.set(Id, part);
    },
  });
  return parts;
}

/** A sheet takes more room when it is unpacked than its file, but not without end. */
const UNPACKED = 4;

/** Whether a file that begins with these bytes is a ZIP archive, as workbooks are. */
export const isZipArchive = (start: Buffer): boolean => start.toString('latin1', 0, 4) === 'PK\x03\x04';

/** Opens an Excel workbook (.xlsx), whose sheets are read in constant memory but for the texts that they share. */
export async function openWorkbook(fd: number, limits: CsvLimits) {
  const archive = await openArchive(fd, limits.bytes * UNPACKED);
  const { sheets, from1904 } = await listSheets(archive);
  const parts = await readParts(archive, new Set(sheets.map(({ id }) => id)));
  const ofCells = sheets.filter(({ id }) => parts.has(id));
  const visible = ofCells.filter(({ hidden }) => !hidden);
  const shown = visible.length > 0 ? visible : ofCells;
  if (shown.length === 0) throw damagedWorkbookError(new Error('no sheet'));
  const strings = await readSharedStrings(archive.read('xl/sharedStrings.xml'), limits.fieldLength);
  const dateStyles = await readDateStyles(archive.read('xl/styles.xml'));
  const meanings = { strings, dateStyles, from1904 };
  const opened = shown.slice(0, MOST_SHEETS).map(({ id, name }) => ({
    name,
    /** The sheet as CSV text with commas, piece by piece: bounded, since a text that many cells share is in the file once. */
    text: () =>
      limitPieces(
        streamSheetText(archive.read(parts.get(id) ?? ''), meanings, limits),
        limits.bytes,
        workbookTooLargeError,
      ),
  }));
  return {
    /** The first sheets of cells, in the order of the workbook: those that are not hidden, or all if every one is. */
    sheets: opened,
    hasMore: shown.length > MOST_SHEETS,
    /** Whether it has hidden sheets beside them. */
    hides: shown.length < ofCells.length,
  };
}
