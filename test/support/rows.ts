import type { Rows } from '../../src/database/rows.ts';

const HEADER = 7;

/** Rows with these values as a server sends them: texts, or bytes of another type. */
export const rowsOf = (rows: readonly (readonly (string | Buffer | null)[])[]): Rows => [
  Buffer.concat(rows.map(rowOf)),
];

function rowOf(values: readonly (string | Buffer | null)[]): Buffer {
  const fields = values.flatMap((value) => {
    const bytes = value === null ? null : Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeInt32BE(bytes?.length ?? -1);
    return bytes ? [length, bytes] : [length];
  });
  const body = Buffer.concat(fields);
  const head = Buffer.alloc(HEADER);
  head.write('D');
  head.writeUInt32BE(HEADER - 1 + body.length, 1);
  head.writeInt16BE(values.length, HEADER - 2);
  return Buffer.concat([head, body]);
}
