import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { plain } from '../../src/core/sql/row-values.ts';
import { firstOf, jsonWriter, textRows, writeRows } from '../../src/core/sql/row-writer.ts';
import { json } from '../../src/core/sql/selection.ts';
import { passRows, RowsQuery } from '../../src/database/rows.ts';
import { rowsOf } from '../support/rows.ts';

function messageOf([kind, body]: readonly [string, Uint8Array]): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** What becomes of messages that arrive in such pieces: what a query is given, and what is left to pg. */
function received(query: unknown, bytes: Buffer, cuts: readonly number[]) {
  const toPg: Buffer[] = [];
  const stream = new EventEmitter();
  const connection = {
    attachListeners: (from: EventEmitter) => void from.on('data', (run: Buffer) => toPg.push(Buffer.from(run))),
  };
  passRows({ connection, _getActiveQuery: () => query } as unknown as pg.Client);
  connection.attachListeners(stream);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  for (const [at, from] of [0, ...places].entries()) stream.emit('data', bytes.subarray(from, places[at]));
  return Buffer.concat(toPg);
}

test('rows come whole to who wants them, and all else to pg, however the messages are cut', () => {
  const message = fc.tuple(fc.constantFrom('D', 'D', 'D', 'T', 'C', 'Z', '2'), fc.uint8Array({ maxLength: 40 }));
  const cuts = fc.array(fc.nat(), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(message), cuts, (parts, places) => {
      const query = new RowsQuery('select', [], undefined, () => {});
      const messages = parts.map(messageOf);
      const ofKind = (isRow: boolean) => Buffer.concat(messages.filter((one) => (one[0] === 0x44) === isRow));
      expect(received(query, Buffer.concat(messages), places)).toEqual(ofKind(false));
      expect(Buffer.concat(query.found)).toEqual(ofKind(true));
      for (const run of query.found) {
        let at = 0;
        while (at < run.length) at += 1 + run.readUInt32BE(at + 1);
        expect(at).toBe(run.length);
      }
      expect(received({}, Buffer.concat(messages), places)).toEqual(Buffer.concat(messages));
    }),
    { numRuns: 500 },
  );
});

/** A text array as PostgreSQL sends it. */
function arrayOf(texts: readonly string[]): Buffer {
  const int = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return bytes;
  };
  const elements = texts.map((text) => Buffer.concat([int(Buffer.byteLength(text)), Buffer.from(text)]));
  if (texts.length === 0) return Buffer.concat([int(0), int(0), int(25)]);
  return Buffer.concat([int(1), int(0), int(25), int(texts.length), int(1), ...elements]);
}

test('rows are written as JSON.stringify writes them', () => {
  const table = {
    id: json.id('t.id'),
    text: json.orNull(json.text('t.text')),
    inner: { code: json.code('t.code'), number: json.number('t.number') },
    texts: json.texts('t.texts'),
    again: json.oneOf('t.code', { A: 'true', AB: 'false' }, 'null'),
  };
  const text = fc.string({ unit: 'binary' }).filter((one) => one.isWellFormed());
  const row = fc.record({
    id: fc.uuid(),
    text: fc.option(text),
    code: fc.constantFrom('A', 'AB', 'B', ''),
    number: fc.integer(),
    texts: fc.array(text, { maxLength: 4 }),
  });
  const writer = jsonWriter(table, { id: true, text: true, inner: true, texts: true, again: true });
  expect(writer.columns).toEqual(['t.id', 't.text::text', 't.code::text', 't.number::text', 't.texts']);
  fc.assert(
    fc.property(fc.array(row, { maxLength: 30 }), fc.integer({ min: 1, max: 30 }), (rows, limit) => {
      const sent = rows.map(({ id, text, code, number, texts }) => [
        Buffer.from(id.replaceAll('-', ''), 'hex'),
        text,
        code,
        String(number),
        arrayOf(texts),
      ]);
      const written = writeRows(rows.length > 0 ? rowsOf(sent) : [], writer, limit);
      const expected = rows.slice(0, limit).map(({ id, text, code, number, texts }) => {
        const again = code === 'A' ? true : code === 'AB' ? false : null;
        return { id, text, inner: { code, number }, texts, again };
      });
      expect(written.text.toString()).toBe(JSON.stringify(expected));
      expect(written.more).toBe(rows.length > limit);
    }),
    { numRuns: 300 },
  );
});

test('rows are the same one after the other, and as texts, wherever the pieces end that they came in', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), fc.constant(null));
  const runs = fc.array(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 3 }), { maxLength: 5 });
  fc.assert(
    fc.property(runs, (given) => {
      const received = given.flatMap((run) => rowsOf(run));
      const found: (string | null)[][] = [];
      for (let left = firstOf(received); left; left = firstOf(left.rest))
        found.push([0, 1].map((column) => left?.row.text(column, plain) ?? null));
      expect(found).toEqual(given.flat());
      const texts = textRows(received).map((row) => row.map((one) => one?.toString() ?? null));
      expect(texts).toEqual(given.flat());
    }),
    { numRuns: 300 },
  );
});
