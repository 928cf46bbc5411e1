import { posix } from 'node:path';
import { readCsvStart } from '../csv/layout.ts';
import { type CsvLimits, limitPieces } from '../csv/limits.ts';
import { doubts } from '../csv/signs.ts';
import { cutText } from '../cut-text.ts';
import {
  FileRejection,
  fileTooLarge,
  isOfColumn,
  notTable,
  quotedList,
  SAVE_AS_TABLE,
  unreadableFileError,
  vinColumnMissingError,
} from '../rejection.ts';
import {
  type Archive,
  damagedWorkbookError,
  openArchive,
  readRelationships,
  readWholeXml,
  workbookTooLargeError,
} from './archive.ts';
import { readDateStyles, streamSheetText } from './sheet.ts';

/** Where programs put a workbook that nothing leads to. */
const USUAL = '/xl/workbook.xml';

/** Sheets that are read of a workbook's list, and characters of their names. */
const MOST_LISTED = 1000;
const NAME_LENGTH = 100;
/** Sheets in which VINs are looked for. */
const MOST_SHEETS = 100;

/** Memory for the texts of a workbook, of which V8 takes up to two bytes a character, and some more for each text. */
const MOST_TEXT_BYTES = 128 * 1024 * 1024;
const BYTES_OF_CHARACTER = 2;
const BYTES_BESIDE = 32;

type Workbook = Awaited<ReturnType<typeof openWorkbook>>;
type Sheet = Workbook['sheets'][number];

/** Throws FileRejection, also for an archive that is no workbook. */
async function listSheets(archive: Archive) {
  const document = (await readRelationships(archive)).find(({ type }) => type === 'officeDocument');
  const workbook = document?.part ?? USUAL;
  if (!archive.has(workbook) || /\.bin$/i.test(workbook)) throw noWorkbook();
  let isWorkbook = false;
  const sheets: { id: string; name: string; hidden: boolean }[] = [];
  let from1904 = false;
  await readWholeXml(archive.read(workbook), {
    open(name, attributes) {
      isWorkbook ||= name === 'workbook';
      if (name === 'workbookPr') from1904 = /^(?:1|true)$/.test(attributes.date1904 ?? '');
      if (name !== 'sheet' || sheets.length >= MOST_LISTED) return;
      const id = Object.entries(attributes).find(([key]) => /:id$/.test(key))?.[1] ?? '';
      sheets.push({ id, name: nameOf(attributes.name), hidden: /hidden/i.test(attributes.state ?? '') });
    },
  });
  if (!isWorkbook && sheets.length === 0) throw noWorkbook();
  return { workbook, sheets, from1904 };
}

const noWorkbook = () =>
  notTable(
    `The uploaded file is neither CSV text nor an Excel workbook: it is a ZIP archive of something else. ${SAVE_AS_TABLE}`,
  );

const nameOf = (written = ''): string => cutText(written, NAME_LENGTH).replaceAll('\0', '').toWellFormed();

/** Reads the part with the texts that cells refer to; of each, `longest` characters and one more. Throws FileRejection. */
async function readSharedStrings(pieces: AsyncIterable<Buffer>, longest: number): Promise<string[]> {
  const strings: string[] = [];
  let bytes = 0;
  let text = '';
  let within = '';
  await readWholeXml(pieces, {
    open(name) {
      if (name === 'si') text = '';
      if (name === 't' || name === 'rPh') within = within === 'rPh' ? within : name;
    },
    text(more) {
      // The pronunciation of a text is no part of it.
      if (within === 't' && text.length <= longest) text += more;
    },
    close(name) {
      if (name === within) within = '';
      if (name !== 'si') return;
      // A copy, since the parser's texts are parts of larger ones, which they would keep in memory.
      const copy = Buffer.from(text.slice(0, longest + 1)).toString();
      bytes += copy.length * BYTES_OF_CHARACTER + BYTES_BESIDE;
      if (bytes > MOST_TEXT_BYTES) throw tooManyTexts();
      strings.push(copy);
    },
  });
  return strings;
}

const tooManyTexts = () =>
  fileTooLarge('The workbook has too many different texts. Save its sheet as "CSV UTF-8" and send that.');

/** A sheet takes more room when it is unpacked than its file, but not without end. */
const UNPACKED = 4;

/** Opens an Excel workbook (.xlsx), whose sheets are read in constant memory but for the texts that they share. */
async function openWorkbook(fd: number, limits: CsvLimits) {
  const archive = await openArchive(fd, limits.bytes * UNPACKED);
  const { workbook, sheets, from1904 } = await listSheets(archive);
  const related = await readRelationships(archive, workbook);
  const parts = new Map(related.flatMap(({ id, type, part }) => (type === 'worksheet' ? [[id, part]] : [])));
  const read = (wanted: string, usual: string) =>
    archive.read(related.find(({ type }) => type === wanted)?.part ?? posix.resolve(workbook, '..', usual));
  const ofCells = sheets.filter(({ id }) => parts.has(id));
  const visible = ofCells.filter(({ hidden }) => !hidden);
  const shown = visible.length > 0 ? visible : ofCells;
  if (shown.length === 0) throw damagedWorkbookError(new Error('no sheet'));
  const strings = await readSharedStrings(read('sharedStrings', 'sharedStrings.xml'), limits.fieldLength);
  const dateStyles = await readDateStyles(read('styles', 'styles.xml'));
  const meanings = { strings, dateStyles, from1904 };
  const opened = shown.slice(0, MOST_SHEETS).map(({ id, name }) => ({
    name,
    /** The sheet as CSV text with commas, piece by piece: bounded, since a text that many cells share is in the file once. */
    text: () => {
      const text = streamSheetText(archive.read(parts.get(id) ?? ''), meanings, limits);
      return limitPieces(text, limits.bytes, workbookTooLargeError);
    },
  }));
  return {
    /** The first sheets of cells, in the order of the workbook: those that are not hidden, or all if every one is. */
    sheets: opened,
    hasMore: shown.length > MOST_SHEETS,
    /** Whether it has hidden sheets beside them. */
    hides: shown.length < ofCells.length,
  };
}

/** Finds the first sheet with a column of VINs, else the one that looks most like a list of wrong ones. */
export async function openVinSheet(fd: number, limits: CsvLimits) {
  const workbook = await openWorkbook(fd, limits);
  const failures: FileRejection[] = [];
  let likeliest: { sheet: Sheet; doubt: number } | undefined;
  const errorOf = workbook.sheets.length > 1 ? inSheet : (_: string, error: unknown) => error;
  for (const sheet of workbook.sheets) {
    const opened = await open(sheet, limits, errorOf);
    if (opened instanceof FileRejection) failures.push(opened);
    else if (opened.start.doubt === doubts.NONE.weight) return opened;
    else {
      // Each open sheet takes memory: the likeliest one is opened again at the end.
      await opened.text.return();
      if (!likeliest || opened.start.doubt < likeliest.doubt) likeliest = { sheet, doubt: opened.start.doubt };
    }
  }
  const alone = failures.every(isEmpty) && failures.length === workbook.sheets.length - 1;
  if (likeliest && (likeliest.doubt < doubts.DIGITS.weight || alone)) {
    const opened = await open(likeliest.sheet, limits, errorOf);
    if (!(opened instanceof FileRejection)) return opened;
  }
  throw failures.find((one) => one.code === 'COLUMN_NOT_FOUND') ?? noVinSheet(workbook, failures);
}

/** Reads a sheet's beginning; gives the error of one without rows, or without VINs. `errorOf` names the sheet in errors. */
async function open({ name, text: read }: Sheet, limits: CsvLimits, errorOf: typeof inSheet) {
  const text = read();
  try {
    const start = await readCsvStart(text, limits, ',');
    return { name, text, errorOf: (error: unknown) => errorOf(name, error), start };
  } catch (error) {
    await text.return();
    if (isEmpty(error) || isOfColumn(error)) return error;
    throw errorOf(name, error);
  }
}

function inSheet(sheet: string, error: unknown): unknown {
  const isOfFile = !(error instanceof FileRejection) || error.code === 'FILE_TOO_LARGE' || error.code === 'NOT_A_TABLE';
  if (isOfFile) return error;
  return new FileRejection(error.code, `Sheet "${sheet}": ${error.message}`, { ...error.details, sheet });
}

const isEmpty = (error: unknown): error is FileRejection => error instanceof FileRejection && error.code === 'NO_ROWS';

function noVinSheet({ sheets, hasMore, hides }: Workbook, failures: readonly FileRejection[]): Error {
  const [first] = failures;
  if (first && sheets.length === 1 && !hides) return first;
  const names = sheets.map(({ name }) => name);
  const shown = quotedList(names);
  if (failures.length === sheets.length && failures.every(isEmpty)) {
    return unreadableFileError('NO_ROWS', `The sheets of the workbook hold no rows: ${shown}.`, { sheets: names });
  }
  const sentences = [
    `${hasMore ? `None of the first ${names.length} sheets` : 'No sheet of the workbook'} has a column of VINs: ${shown}.`,
    ...(hasMore ? ['Move the sheet that has one to the front.'] : []),
    ...(hides ? ['Hidden sheets are not read.'] : []),
  ];
  return vinColumnMissingError(sentences.join(' '), { sheets: names });
}
