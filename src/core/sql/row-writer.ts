import type { Rows } from '../../database/rows.ts';
import type { Columns } from './list-statement.ts';
import type { Place } from './order.ts';
import { MOST_BESIDE, MOST_PER_BYTE, type RowValue, type WriteValue } from './row-values.ts';
import { isValue, type JsonTable, rowValueOf } from './selection.ts';
import { Utf8, Utf8Text } from './utf8.ts';

/** A page of a list as it is sent: nobody needs to take it apart. */
export interface TextPage {
  text: Utf8Text;
  /** Where the last item stands and the next page begins; null for an empty page. */
  last: Place | null;
  hasNext: boolean;
}

/** What is selected of a row, and how it becomes text. */
export interface RowWriter extends Columns {
  /** Bytes that a row may take beside those of its values. */
  most: number;
  write(out: Utf8, row: Row): void;
  /** The rows stand in a JSON array. */
  isArray: boolean;
}

/** A row in the bytes that it came in: where each of its values begins and ends. */
export class Row {
  bytes: Buffer = Buffer.alloc(0);
  readonly starts: number[] = [];
  readonly ends: number[] = [];

  /** Takes the row whose message begins there, and gives where the next one does. */
  read(bytes: Buffer, message: number): number {
    this.bytes = bytes;
    const count = bytes.readInt16BE(message + 5);
    let at = message + 7;
    for (let column = 0; column < count; column++) {
      const length = bytes.readInt32BE(at);
      at += 4;
      this.starts[column] = at;
      this.ends[column] = at + length;
      if (length > 0) at += length;
    }
    return at;
  }

  /** What a writer makes of one of its values; null for null. */
  text(column: number, write: WriteValue): string | null {
    const [start = 0, end = 0] = [this.starts[column], this.ends[column]];
    if (end < start) return null;
    const out = new Utf8();
    out.reserve((end - start) * MOST_PER_BYTE + MOST_BESIDE, 0);
    write(out, this.bytes, start, end);
    return out.written.toString();
  }
}

const [OPENING, COMMA, CLOSING] = Buffer.from('[,]') as unknown as [number, number, number];

/** Everything is written here, one after the other: nothing waits in between. */
const out = new Utf8();

export interface WrittenRows {
  text: Utf8Text;
  last: Row | null;
  more: boolean;
}

/** Has `writer` write at most `limit` rows; gives the last of them, and whether there was one more. */
export function writeRows(rows: Rows, writer: RowWriter, limit: number): WrittenRows {
  const { isArray } = writer;
  const total = rows.reduce((sum, { length }) => sum + length, 0);
  const row = new Row();
  let [count, read, more] = [0, 0, false];
  out.clear();
  if (isArray) out.byte(OPENING);
  for (const bytes of rows) {
    for (let at = 0; at < bytes.length && !more; ) {
      more = count === limit;
      if (more) break;
      const next = row.read(bytes, at);
      out.reserve(writer.most + (next - at) * MOST_PER_BYTE, read > 0 ? (out.length / read) * (total + LITTLE) : 0);
      if (isArray && count > 0) out.byte(COMMA);
      writer.write(out, row);
      count += 1;
      read += next - at;
      at = next;
    }
  }
  out.reserve(1, 0);
  if (isArray) out.byte(CLOSING);
  return { text: out.written, last: count > 0 ? row : null, more };
}

/** The values of rows that are all texts. */
export function textRows(rows: Rows): (Utf8Text | null)[][] {
  const row = new Row();
  const found: (Utf8Text | null)[][] = [];
  for (const bytes of rows) {
    for (let at = 0; at < bytes.length; ) {
      at = row.read(bytes, at);
      const { starts, ends } = row;
      found.push(
        starts.map((start, one) => {
          const end = ends[one] as number;
          return end < start ? null : new Utf8Text(bytes.toString('latin1', start, end));
        }),
      );
    }
  }
  return found;
}

/** The first of some rows, and those behind it. */
export function firstOf([bytes, ...others]: Rows): { row: Row; rest: Rows } | null {
  if (!bytes?.length) return null;
  const row = new Row();
  const behind = bytes.subarray(row.read(bytes, 0));
  return { row, rest: behind.length > 0 ? [behind, ...others] : others };
}

/** Rows are not all of one length. */
const LITTLE = 2048;

/** Writes rows as JSON objects with these members: in an array, or each with `behind` behind it. */
export function jsonWriter(table: JsonTable, selection: object, behind?: string): RowWriter {
  const pieces: Piece[] = [];
  let text = '';
  const add = (members: JsonTable, selected: object) => {
    text += '{';
    for (const [at, [name, wanted]] of Object.entries(selected).entries()) {
      const member = members[name];
      if (!member) throw new Error(`nothing is called ${name} here`);
      text += `${at > 0 ? ',' : ''}"${name}":`;
      if (!isValue(member)) add(member, wanted === true ? member : wanted);
      else {
        pieces.push([text, rowValueOf(member)]);
        text = '';
      }
    }
    text += '}';
  };
  add(table, selection);
  return { ...pieceWriter(pieces, text + (behind ?? '')), isArray: behind === undefined };
}

/** A value, and what stands before it. */
export type Piece = readonly [before: string, value: RowValue];

/** Writes the pieces of each row. */
export function pieceWriter(pieces: readonly Piece[], end: string): Omit<RowWriter, 'isArray'> {
  // Some stand in two places.
  const columns = [...new Set(pieces.map(([, { sql }]) => sql))];
  const values = pieces.map(([before, { sql, write }]) => ({
    before: Buffer.from(before),
    column: columns.indexOf(sql),
    write,
  }));
  const last = Buffer.from(end);
  const texts = values.reduce((sum, { before }) => sum + before.length, last.length);
  return {
    columns,
    select: columns.join(', '),
    most: texts + values.length * MOST_BESIDE,
    write(out, { bytes, starts, ends }) {
      for (const { before, column, write } of values) {
        out.copy(before, 0, before.length);
        write(out, bytes, starts[column] as number, ends[column] as number);
      }
      out.copy(last, 0, last.length);
    },
  };
}
