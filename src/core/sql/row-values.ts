import { writeIso } from './iso-time.ts';
import type { Utf8 } from './utf8.ts';

/** Writes a value that stands in a row in PostgreSQL's binary format; for null, `end` is before `start`. */
export type WriteValue = (out: Utf8, row: Buffer, start: number, end: number) => void;

/** How Node writes a value: a column of SQL, and what becomes of it. */
export interface RowValue {
  /** Of the type that `write` reads. */
  readonly sql: string;
  readonly write: WriteValue;
}

/** What a value may become, in bytes for each of its own: `\u0000` for a byte, quotes around a text of none. */
export const MOST_PER_BYTE = 6;
export const MOST_BESIDE = 16;

const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const DASH = '-'.charCodeAt(0);
const COMMA = ','.charCodeAt(0);

/** Text as it is. */
export const plain: WriteValue = (out, row, start, end) => out.copy(row, start, end);

/** Text as JSON, which few have something to escape in. */
export const jsonString: WriteValue = (out, row, start, end) => {
  const began = out.length;
  const { bytes } = out;
  let at = began;
  bytes[at++] = QUOTE;
  for (let one = start; one < end; one++) {
    const byte = row[one] as number;
    if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) {
      out.text(JSON.stringify(row.toString('utf8', start, end)));
      return;
    }
    bytes[at++] = byte;
  }
  bytes[at++] = QUOTE;
  out.length = at;
};

const HEX = Buffer.from('0123456789abcdef');

/** The 16 bytes of an id. */
export const uuid: WriteValue = (out, row, start, end) => {
  const { bytes } = out;
  let at = out.length;
  for (let one = 0; one < end - start; one++) {
    if (one === 4 || one === 6 || one === 8 || one === 10) bytes[at++] = DASH;
    const byte = row[start + one] as number;
    bytes[at++] = HEX[byte >> 4] as number;
    bytes[at++] = HEX[byte & 15] as number;
  }
  out.length = at;
};

/** Of 1 January 2000, from which PostgreSQL counts, since 1970. */
const EPOCH_MS = 946_684_800_000;

/** Microseconds in 64 bits, as ISO 8601 UTC with milliseconds: what is less is cut off, as isoSql does. */
export const time: WriteValue = (out, row, start) => {
  const high = row.readInt32BE(start);
  const thousands = Math.floor(high / 1000);
  // Each of these is exact, though a number does not hold so many microseconds.
  const ms =
    thousands * 2 ** 32 + Math.floor(((high - thousands * 1000) * 2 ** 32 + row.readUInt32BE(start + 4)) / 1000);
  writeIso(out, EPOCH_MS + ms);
};

/** Before the elements of an array: its dimensions, flags and type; then of each dimension its size and first index. */
const ARRAY_HEADER = 12;
const DIMENSION = 8;

/** A list of texts as JSON. */
export const jsonStrings: WriteValue = (out, row, start, end) => {
  out.byte('['.charCodeAt(0));
  let at = start + ARRAY_HEADER + row.readInt32BE(start) * DIMENSION;
  for (let first = true; at < end; first = false) {
    if (!first) out.byte(COMMA);
    const from = at + 4;
    at = from + row.readInt32BE(at);
    jsonString(out, row, from, at);
  }
  out.byte(']'.charCodeAt(0));
};

/** The same between quotes. */
export const quoted =
  (write: WriteValue): WriteValue =>
  (out, row, start, end) => {
    out.byte(QUOTE);
    write(out, row, start, end);
    out.byte(QUOTE);
  };

/** What stands here for each of a few texts, and for all others. */
export function oneOf(texts: Readonly<Record<string, string>>, other: string): WriteValue {
  const choices = Object.entries(texts).map(([from, to]) => [Buffer.from(from), Buffer.from(to)] as const);
  const otherwise = Buffer.from(other);
  return (out, row, start, end) => {
    for (const [from, to] of choices) {
      if (isSame(from, row, start, end)) return out.copy(to, 0, to.length);
    }
    out.copy(otherwise, 0, otherwise.length);
  };
}

function isSame(text: Buffer, row: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let at = 0; at < text.length; at++) if (text[at] !== row[start + at]) return false;
  return true;
}

const NULL = Buffer.from('null');

export const orNull =
  (write: WriteValue, none = NULL): WriteValue =>
  (out, row, start, end) => {
    if (end < start) out.copy(none, 0, none.length);
    else write(out, row, start, end);
  };
