import { once } from 'node:events';
import { parse } from 'fast-csv';
import { type RowErrorCode, SAVE_AS_TABLE, unreadableRowError } from '../rejection.ts';
import type { CsvLimits } from './limits.ts';

/** The whole records at the beginning of a text: `end` is the index after the last one. */
interface Scan {
  end: number;
  records: number;
  fault: RowErrorCode | null;
}

const WITHIN = -1;
const MISPLACED = -2;
const SPACE = /[^\S\n]/;

/** Finds whole records by the rules of fast-csv, which reads a record that comes in parts anew with every part. */
export function scanCsvRecords(text: string, delimiters: string, rowLength: number, atMost = Infinity): Scan {
  let end = 0;
  let records = 0;
  let quote = text.indexOf('"');
  while (records < atMost) {
    if (quote !== -1 && quote < end) quote = text.indexOf('"', end);
    const lineEnd = text.indexOf('\n', end);
    const quoted = quote !== -1 && (lineEnd === -1 || quote < lineEnd);
    const recordEnd = quoted ? quotedRecordEnd(text, end, delimiters) : lineEnd;
    if (recordEnd === MISPLACED) return { end, records, fault: 'QUOTE_MISPLACED' };
    const length = (recordEnd === WITHIN ? text.length : recordEnd) - end;
    if (length > rowLength) return { end, records, fault: 'ROW_TOO_LONG' };
    if (recordEnd === WITHIN) return { end, records, fault: null };
    end = recordEnd + 1;
    records++;
  }
  return { end, records, fault: null };
}

/** Index of the line break that ends the record, WITHIN when the text ends before it, MISPLACED for text after a quote. */
function quotedRecordEnd(text: string, start: number, delimiters: string): number {
  const ends = (at: number) => text[at] === '\n' || delimiters.includes(text.charAt(at));
  for (let at = start; ; at++) {
    at = afterSpaces(text, at, delimiters);
    if (text[at] === '"') {
      at = closingQuote(text, at + 1);
      if (at === WITHIN) return WITHIN;
      at = afterSpaces(text, at + 1, delimiters);
      if (at < text.length && !ends(at)) return MISPLACED;
    } else {
      while (at < text.length && !ends(at)) at++;
    }
    if (at >= text.length) return WITHIN;
    if (text[at] === '\n') return at;
  }
}

function afterSpaces(text: string, start: number, delimiters: string): number {
  let at = start;
  while (at < text.length && SPACE.test(text.charAt(at)) && !delimiters.includes(text.charAt(at))) at++;
  return at;
}

function closingQuote(text: string, start: number): number {
  for (let at = start; ; at += 2) {
    at = text.indexOf('"', at);
    if (at === -1 || text[at + 1] !== '"') return at;
  }
}

/** The cells of whole records, read by fast-csv. A blank line has no cells. */
export async function parseCsvRecords(text: string, delimiter: string): Promise<string[][]> {
  if (text === '') return [];
  const records: string[][] = [];
  const parser = parse<string[], string[]>({ delimiter });
  parser.on('data', (record: string[]) => records.push(record));
  const ended = once(parser, 'end');
  parser.end(text);
  await ended;
  return records;
}

export const isPlainCsv = (text: string, delimiter: string): boolean =>
  !text.includes('"') && !text.includes(delimiter);

export type CsvDelimiter = ',' | ';' | '\t' | '|';

/** One of the first rows, read with each delimiter that fits, and its place in the text that was read ahead. */
export interface CsvHeadLine {
  row: number;
  from: number;
  to: number;
  readings: CsvLineReading[];
}

export interface CsvLineReading {
  cells: string[];
  delimiter: CsvDelimiter;
}

const DELIMITERS: readonly CsvDelimiter[] = [',', ';', '\t', '|'];
const ANY_DELIMITER = DELIMITERS.join('');
const BLANK_LINES = /^[\s,;|]*\n/;
const BLANK_ROW = /^[\s,;|"]*$/;
/** Excel names the delimiter in a line before all others, which is no row. */
const SEPARATOR_LINE = /^"?sep=([,;\t|])"?\n$/i;

export type CsvHead = ReturnType<typeof openCsvHead>;

/**
 * The first rows of a file one by one, from the first that is not blank; their text is kept. With `known`, a separator line of
 * the file does not count.
 */
export function openCsvHead(pieces: AsyncIterator<string, void>, { rowLength }: CsvLimits, known?: CsvDelimiter) {
  let delimiters: readonly CsvDelimiter[] = known ? [known] : DELIMITERS;
  let text = '';
  /** Index in the text of the next row, and its number. */
  let next = 0;
  let row = 1;
  let ended = false;

  function skipBlankLines(): void {
    const [blank = ''] = BLANK_LINES.exec(text) ?? [];
    row += blank.split('\n').length - 1;
    text = text.slice(blank.length);
  }

  async function readOn(): Promise<void> {
    const { done, value } = await pieces.next();
    ended = done === true;
    // A last line may have no line break.
    text += value ?? '\n';
  }

  /** Undefined for what is dropped: a separator line, and what is blank before all other rows. */
  async function take(length: number): Promise<CsvHeadLine | undefined> {
    const line = { row, from: next, to: next + length };
    const record = text.slice(line.from, line.to);
    const separator = row === 1 && !known ? SEPARATOR_LINE.exec(record)?.[1] : undefined;
    if (separator) delimiters = DELIMITERS.filter((delimiter) => delimiter === separator);
    else row++;
    if (separator || (next === 0 && BLANK_ROW.test(record))) {
      text = text.slice(line.to);
      return undefined;
    }
    next = line.to;
    return { ...line, readings: await readingsOf(record, delimiters, line.row) };
  }

  return {
    /** The next row; undefined at the end of the file. Throws FileRejection for one that cannot be read. */
    async next(): Promise<CsvHeadLine | undefined> {
      for (;;) {
        if (next === 0) skipBlankLines();
        const { end, fault } = scanCsvRecords(text.slice(next), known ?? ANY_DELIMITER, rowLength, 1);
        if (fault) throw unreadableRowError(row, fault, rowLength);
        if (end > 0) {
          const line = await take(end);
          if (line) return line;
        } else if (!ended) await readOn();
        else if (next === text.length) return undefined;
        else throw unreadableRowError(row, 'QUOTE_NOT_CLOSED');
      }
    },
    /** The text from this row on, and after it. */
    from: (line: CsvHeadLine) => ({ text: text.slice(line.from), row: line.row }),
    after: (line: CsvHeadLine) => ({ text: text.slice(line.to), row: line.row + 1 }),
  };
}

async function readingsOf(record: string, delimiters: readonly CsvDelimiter[], row: number): Promise<CsvLineReading[]> {
  const readings: CsvLineReading[] = [];
  for (const delimiter of delimiters) {
    if (scanCsvRecords(record, delimiter, record.length).end !== record.length) continue;
    const [cells = []] = await parseCsvRecords(record, delimiter);
    readings.push({ cells, delimiter });
  }
  if (readings.length === 0) throw unreadableRowError(row, 'QUOTE_MISPLACED');
  return readings;
}

/** Labels under which CSV text and workbooks arrive; spreadsheets call CSV application/vnd.ms-excel, scripts say nothing. */
const LABELS =
  /^(?:text\/(?!html$|xml$)[^/]+|application\/(?:(?:x-)?csv|(?:x-)?(?:ms)?excel|vnd\.ms-excel(?:\.sheet\.macroenabled\.12)?|vnd\.openxmlformats-officedocument\.spreadsheetml\.(?:sheet|template)|zip|x-zip-compressed|octet-stream))?$/;

/** Whether a file part of this media type is worth reading (else a 415); openVinTable judges its content. */
export const mayBeTableFile = (mimeType: string): boolean =>
  LABELS.test(mimeType.replace(/;.*$/s, '').trim().toLowerCase());

export const notTableMessage = (mimeType: string): string =>
  `The file is labelled ${mimeType}, which is neither CSV text nor a workbook. ${SAVE_AS_TABLE}`;
