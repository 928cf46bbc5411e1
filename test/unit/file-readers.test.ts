import { expect, test } from 'vitest';
import { FileReaders, type FileReadOptions } from '../../src/core/imports/file-readers.ts';
import type { CsvRowBatch } from '../../src/core/imports/row-batch.ts';
import { until } from '../support/until.ts';
import { workbookOf } from '../support/zip.ts';

const VIN = 'WVWZZZ1KZAW000001';
const settings = { LIMIT_FILE_BYTES: 100_000_000, LIMIT_FILE_SECONDS: 60 };
const readers = new FileReaders(settings, ['volkswagen']);

const all = (company: string, batches: CsvRowBatch[] = []): FileReadOptions => ({
  company,
  signal: new AbortController().signal,
  async onLayout() {},
  onBatch: async (batch) => void batches.push(batch),
});

async function* pieces(...texts: (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

/** A file that stops after its beginning, and a function that ends it. */
function silent() {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  async function* file() {
    yield Buffer.from(`${VIN}\n`);
    yield await promise;
  }
  return { file: file(), end: () => reject(new Error('cut off')) };
}

/** A small file that takes long to read: rows without cells. */
const endless = workbookOf(
  `<row><c t="inlineStr"><is><t>${VIN}</t></is></c></row>${'<row><c/></row>'.repeat(1_000_000)}`,
);

test('the rows of a file come in batches, ready to be stored', async () => {
  const batches: CsvRowBatch[] = [];
  const layouts: unknown[] = [];
  const reading = { ...all('a', batches), onLayout: async (layout: unknown) => void layouts.push(layout) };
  await readers.read(pieces('vin;plate\n', `${VIN};x\nSHORT;y\n`, `5YJZZZ1KZAW000002;"a""b"\n`), reading);
  expect(layouts).toEqual([{ columns: ['vin', 'plate'], column: 'vin', delimiter: ';', sheet: null }]);
  expect(batches).toEqual([
    {
      received: 3,
      good: {
        firstRow: 2,
        rows: '{2,4}',
        vins: `{${VIN},5YJZZZ1KZAW000002}`,
        manufacturers: '{volkswagen,tesla}',
        supported: '{t,f}',
        warnings: '{null,VIN_CHECK_DIGIT}',
        cells: JSON.stringify([
          [VIN, 'x'],
          ['5YJZZZ1KZAW000002', 'a"b'],
        ]),
      },
      rejected: [
        {
          row: 3,
          value: 'SHORT',
          code: 'VIN_INVALID_LENGTH',
          message: expect.stringContaining('17'),
          cells: ['SHORT', 'y'],
        },
      ],
    },
  ]);
});

test('errors of a file, of its stream and of storing reject the reading', async () => {
  await expect(readers.read(pieces(`${VIN}\n"`), all('a'))).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ code: 'QUOTE_NOT_CLOSED' }],
    details: { row: 2 },
  });
  await expect(readers.read(pieces('%PDF'), all('a'))).rejects.toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' });
  const small = new FileReaders({ ...settings, LIMIT_FILE_BYTES: 10 }, []);
  await expect(small.read(pieces(VIN), all('a'))).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  const { file, end } = silent();
  const reading = readers.read(file, all('a'));
  end();
  await expect(reading).rejects.toThrow('cut off');
  const onBatch = () => Promise.reject(new Error('not stored'));
  await expect(readers.read(pieces(VIN), { ...all('a'), onBatch })).rejects.toThrow('not stored');
});

test('the processor time of a file is limited by its size', async () => {
  const strict = new FileReaders({ ...settings, LIMIT_FILE_SECONDS: 1 }, []);
  await expect(strict.read(pieces(endless), all('a'))).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    message: expect.stringContaining('processor time'),
  });
});

test('reading ends with its request, and the next file is read', async () => {
  const client = new AbortController();
  const reading = readers.read(pieces(endless), { ...all('a'), signal: client.signal });
  const began = process.cpuUsage();
  // The thread is reading by then.
  await until(() => process.cpuUsage(began).user > 500_000);
  client.abort();
  const left = process.cpuUsage();
  await expect(reading).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  expect(process.cpuUsage(left).user / 1e6).toBeLessThan(1);
  await expect(readers.read(pieces(VIN), { ...all('a'), signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  await readers.read(pieces(VIN), all('a'));
});

test('the event loop does little of the work', async () => {
  const rows = Array.from({ length: 200_000 }, (_, at) => `WVWZZZ1KZAW${String(at).padStart(6, '0')},a,"b"\n`).join('');
  const file = Buffer.from(rows);
  const parts = Array.from({ length: Math.ceil(file.length / 65_536) }, (_, at) =>
    file.subarray(at * 65_536, (at + 1) * 65_536),
  );
  const [before, ownBefore] = [process.cpuUsage(), process.threadCpuUsage()];
  await readers.read(pieces(...parts), all('a'));
  const [whole, own] = [process.cpuUsage(before), process.threadCpuUsage(ownBefore)];
  expect(own.user / whole.user).toBeLessThan(0.25);
});

test('files that arrive slowly hold up neither their company nor others', async () => {
  const slow = ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c'].map((company) => {
    const { file, end } = silent();
    return { end, reading: readers.read(file, all(company)).catch(() => {}) };
  });
  for (const company of ['a', 'd']) await readers.read(pieces(VIN), all(company));
  for (const { end, reading } of slow) {
    end();
    await reading;
  }
});

test('reading waits for storing', async () => {
  const stored = Promise.withResolvers<void>();
  let sent = 0;
  async function* file() {
    for (; sent < 100; sent++) yield Buffer.from(`${VIN}\n`.repeat(4_000));
  }
  const reading = readers.read(file(), { ...all('a'), onBatch: () => stored.promise });
  // Other files are read meanwhile.
  for (let at = 0; at < 20; at++) await readers.read(pieces(VIN), all('b'));
  expect(sent).toBeLessThan(6);
  stored.resolve();
  await reading;
  expect(sent).toBe(100);
});
