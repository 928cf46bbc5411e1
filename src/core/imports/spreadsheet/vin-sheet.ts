import { DomainError, ValidationFailed } from '../../errors.ts';
import { readCsvStart } from '../csv/layout.ts';
import { type CsvLimits, quotedList, unreadableFileError, vinColumnMissingError } from '../csv/limits.ts';
import { openWorkbook, type Sheet, type Workbook } from './workbook.ts';

/** Finds the first sheet with a column of VINs, else the one that looks most like a list of wrong ones. */
export async function openVinSheet(fd: number, limits: CsvLimits) {
  const workbook = await openWorkbook(fd, limits);
  const failures: DomainError[] = [];
  let likeliest: { sheet: Sheet; doubt: number } | undefined;
  const errorOf = workbook.sheets.length > 1 ? inSheet : (_: string, error: unknown) => error;
  for (const sheet of workbook.sheets) {
    const opened = await open(sheet, limits, errorOf);
    if (opened instanceof DomainError) failures.push(opened);
    else if (opened.start.doubt === 0) return opened;
    else {
      // Opened again below: what is open takes memory.
      await opened.text.return();
      if (!likeliest || opened.start.doubt < likeliest.doubt) likeliest = { sheet, doubt: opened.start.doubt };
    }
  }
  const alone = failures.every(isEmpty) && failures.length === workbook.sheets.length - 1;
  if (likeliest && (likeliest.doubt === 1 || alone)) {
    const opened = await open(likeliest.sheet, limits, errorOf);
    if (!(opened instanceof DomainError)) return opened;
  }
  throw noVinSheet(workbook, failures);
}

/** Reads a sheet's beginning; gives the error of one without rows, or without VINs. `errorOf` names the sheet in errors. */
async function open({ name, text: read }: Sheet, limits: CsvLimits, errorOf: typeof inSheet) {
  const text = read();
  try {
    return {
      name,
      text,
      errorOf: (error: unknown) => errorOf(name, error),
      start: await readCsvStart(text, limits, ','),
    };
  } catch (error) {
    await text.return();
    if (isEmpty(error) || codeOf(error) === 'VIN_COLUMN_MISSING') return error as DomainError;
    throw errorOf(name, error);
  }
}

function inSheet(sheet: string, error: unknown): unknown {
  if (!(error instanceof ValidationFailed)) return error;
  const named = (message: string) => `Sheet "${sheet}": ${message}`;
  const errors = error.errors.map((one) => ({ ...one, message: named(one.message) }));
  return new ValidationFailed(errors, named(error.message), { ...error.details, sheet });
}

const codeOf = (error: unknown) => (error instanceof DomainError ? error.errors?.[0]?.code : undefined);
const isEmpty = (error: unknown): boolean => codeOf(error) === 'NO_ROWS';

function noVinSheet({ sheets, hasMore, hides }: Workbook, failures: readonly DomainError[]): Error {
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
