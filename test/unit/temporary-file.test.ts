import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { openFileSource, TemporaryDisk, type TemporaryFile } from '../../src/core/imports/temporary-file.ts';

const LARGEST = 100;
const file = (bytes: number) =>
  (async function* () {
    for (let at = 0; at < bytes; at += 10) yield Buffer.alloc(Math.min(10, bytes - at));
  })();

test('a company always has room for one file, and for more while half of the room is free', async () => {
  const disk = new TemporaryDisk(LARGEST);
  const kept: TemporaryFile[] = [];
  for (let at = 0; at < 4; at++) kept.push(await disk.keep(file(100), 'loud'));
  await expect(disk.keep(file(1), 'loud')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  for (const quiet of ['a', 'b', 'c', 'd']) {
    kept.push(await disk.keep(file(100), quiet));
    await expect(disk.keep(file(1), quiet)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  }
  await expect(disk.keep(file(1), 'e')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await kept.shift()?.discard();
  kept.push(await disk.keep(file(100), 'e'));
  for (const one of kept) await one.discard();
});

test('a file that is refused half way frees its room and is removed', async () => {
  const disk = new TemporaryDisk(LARGEST);
  for (let again = 0; again < 5; again++) {
    await expect(disk.keep(file(101), 'acme')).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  }
  const kept = await disk.keep(file(100), 'acme');
  expect(kept.bytes).toBe(100);
  let bytes = 0;
  for await (const piece of kept.content()) bytes += piece.length;
  expect(bytes).toBe(100);
  await kept.discard();
});

test('of files that grow together, as many are kept as fit', async () => {
  const disk = new TemporaryDisk(LARGEST);
  // All files have equal chunks at the same time; together they exceed the room by a half.
  const all = await Promise.allSettled(Array.from({ length: 12 }, (_, at) => disk.keep(file(100), `company-${at}`)));
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
  for (const one of all) if (one.status === 'fulfilled') await one.value.discard();
});

test.each([1, 2, 3, 7, 4096])('a workbook that comes in pieces of %i bytes is kept as it is', async (size) => {
  const whole = await readFile('test/fixtures/exceljs.xlsx');
  const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
    whole.subarray(at * size, (at + 1) * size),
  );
  const source = await openFileSource(Readable.from(pieces), new TemporaryDisk(1_000_000), 'acme');
  if (!('workbook' in source)) throw new Error('no workbook');
  const kept = await Array.fromAsync(source.workbook.content());
  await source.workbook.discard();
  expect(Buffer.concat(kept)).toEqual(whole);
});
