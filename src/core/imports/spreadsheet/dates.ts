import { readAll } from './xml.ts';

/** Numbers of formats that every spreadsheet knows as those of a date or time (ECMA-376, 18.8.30). */
const BUILT_IN = /^(?:1[4-9]|2[0-2]|2[7-9]|3[0-6]|4[5-7]|5[0-8])$/;
/** Texts, colours, conditions and characters after a backslash; one that is not closed reaches to the end of the code. */
const QUOTED = /"[^"]*(?:"|$)|\[(?!h+\]|m+\]|s+\])[^\]]*(?:\]|$)|\\./gi;
/** Formats that are looked at, and cell styles. */
const MOST_FORMATS = 65_536;

/** Which of a workbook's cell styles show a number as a date or time. */
export async function readDateStyles(pieces: AsyncIterable<Buffer>): Promise<ReadonlySet<number>> {
  const codes = new Map<string, boolean>();
  const dates = new Set<number>();
  let cells = false;
  let formats = 0;
  let style = 0;
  await readAll(pieces, {
    open(name, { numFmtId = '', formatCode = '' }) {
      if (name === 'numFmt' && formats++ < MOST_FORMATS) codes.set(numFmtId, isDateFormat(formatCode));
      if (name === 'cellXfs') cells = true;
      if (name !== 'xf' || !cells || style >= MOST_FORMATS) return;
      if (codes.get(numFmtId) ?? BUILT_IN.test(numFmtId)) dates.add(style);
      style++;
    },
    close(name) {
      if (name === 'cellXfs') cells = false;
    },
  });
  return dates;
}

const isDateFormat = (code: string): boolean => /[ymdhs]/i.test(code.slice(0, 1000).replace(QUOTED, ''));

const DAY_MS = 86_400_000;
/** 30 December 1899, from which spreadsheets count days; those of old Macs from 1 January 1904. */
const EPOCH = Date.UTC(1899, 11, 30);
const DAYS_TO_1904 = 1462;
/** The last day of the year 9999. */
const LAST_DAY = 2_958_465;

/** A number of days as a date, a time or both: `2026-11-22`, `08:30:00`, `2026-11-22 08:30:00`; null for none of the calendar. */
export function dateText(days: number, from1904: boolean): string | null {
  if (!(days >= 0 && days < LAST_DAY + 1)) return null;
  const since1899 = from1904 ? days + DAYS_TO_1904 : days;
  // Their calendar has a 29 February 1900, so that the days before it have a number less.
  const real = since1899 < 60 && !from1904 ? since1899 + 1 : since1899;
  const [date = '', time = ''] = new Date(EPOCH + Math.round((real * DAY_MS) / 1000) * 1000)
    .toISOString()
    .split(/[T.]/);
  if (days < 1) return time;
  return Number.isInteger(days) ? date : `${date} ${time}`;
}
