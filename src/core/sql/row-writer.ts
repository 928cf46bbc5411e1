import type { Row } from '../../database/database.ts';
import type { Columns } from './list-statement.ts';
import type { Place } from './order.ts';
import { isValue, type JsonTable, type RowValue } from './selection.ts';

export type { Row };

/** A page of a list as it is sent. */
export interface TextPage {
  text: string;
  /** The place of the last item, behind which the next page begins; null for an empty page. */
  last: Place | null;
  hasNext: boolean;
}

/** Columns to select, and how a row of them becomes text. */
export interface RowWriter extends Columns {
  write(row: Row): string;
  /** The texts of rows stand in a JSON array. */
  isArray: boolean;
}

export interface WrittenRows {
  text: string;
  last: Row | null;
  more: boolean;
}

/** Writes at most `limit` rows; gives the last of them, and whether there was one more. */
export function writeRows(rows: readonly Row[], { write, isArray }: RowWriter, limit: number): WrittenRows {
  const count = Math.min(rows.length, limit);
  let text = '';
  for (let at = 0; at < count; at++) {
    if (isArray && at > 0) text += ',';
    text += write(rows[at] as Row);
  }
  return { text: isArray ? `[${text}]` : text, last: rows[count - 1] ?? null, more: rows.length > limit };
}

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
        const { sql, row = { sql }, bare } = member;
        const quote = bare && !row.write ? '"' : '';
        pieces.push([text + quote, row]);
        text = quote;
      }
    }
    text += '}';
  };
  add(table, selection);
  return { ...pieceWriter(pieces, text + (behind ?? '')), isArray: behind === undefined };
}

/** A value, and the text before it. */
export type Piece = readonly [before: string, value: RowValue];

/** Writes the pieces of each row. */
export function pieceWriter(pieces: readonly Piece[], end: string): Omit<RowWriter, 'isArray'> {
  // Several values can be made of one column.
  const columns = [...new Set(pieces.map(([, { sql }]) => sql))];
  const values = pieces.map(([before, { sql, write }]) => ({ before, column: columns.indexOf(sql), write }));
  return {
    columns,
    select: columns.join(', '),
    write(row) {
      let text = '';
      for (const { before, column, write } of values) {
        const value = row[column] ?? null;
        text += before;
        text += write ? write(value) : value;
      }
      return text + end;
    },
  };
}
