import { parse } from 'fast-csv';
import type { RowErrorCode } from './limits.ts';

/** How far a text consists of whole records: `end` is the index after the last one. */
export interface Scan {
  end: number;
  records: number;
  /** What is wrong with the record that follows, if it can be told already. */
  fault: RowErrorCode | null;
}

const WITHIN = -1;
const MISPLACED = -2;
const SPACE = /[^\S\n]/;

/**
 * Finds whole records, by the same rules as fast-csv, which can then be given nothing else: on a record that arrives
 * in parts fast-csv begins anew with every part, so that an unclosed quote costs time in the square of the file.
 */
export function scanRecords(text: string, delimiters: string, rowLength: number, atMost = Infinity): Scan {
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

/** The cells of whole records, read by fast-csv: quotes, several columns, any delimiter. A blank line has no cells. */
export function parseRecords(text: string, delimiter: string): Promise<string[][]> {
  if (text === '') return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    const records: string[][] = [];
    const parser = parse<string[], string[]>({ delimiter });
    parser.on('data', (record: string[]) => records.push(record));
    parser.on('error', reject).on('end', () => resolve(records));
    parser.end(text);
  });
}

/** Whether a text has neither quotes nor delimiters: each line is then one cell, and needs no parser. */
export function isPlain(text: string, delimiter: string): boolean {
  return !text.includes('"') && !text.includes(delimiter);
}
