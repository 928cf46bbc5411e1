import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noRoom } from '../database-errors.ts';
import { bounded } from './csv/limits.ts';
import { isArchive } from './spreadsheet/workbook.ts';

const PIECE_BYTES = 64 * 1024;
/** All files that wait in a process take at most as much as so many of the largest. */
const MOST_FILES = 2;

let bytesKept = 0;

/** A file that nobody else can open: it has no name any more, and is gone when this process ends, however it does. */
export interface TemporaryFile {
  /** Its descriptor, good until it is discarded. */
  fd: number;
  bytes: number;
  content(): AsyncGenerator<Buffer>;
  discard(): Promise<void>;
}

/**
 * Writes what arrives to a temporary file. Throws PayloadTooLarge for more than `largest` bytes, and Unavailable where all
 * files that wait are too much.
 */
export async function keepOnDisk(input: AsyncIterable<Buffer>, largest: number): Promise<TemporaryFile> {
  let bytes = 0;
  const free = () => {
    bytesKept -= bytes;
    bytes = 0;
  };
  async function* counted() {
    for await (const piece of bounded(input, largest)) {
      if (bytesKept + piece.length > MOST_FILES * largest) {
        // At once, or all others would be rejected with it.
        free();
        throw noRoom();
      }
      bytes += piece.length;
      bytesKept += piece.length;
      yield piece;
    }
  }
  try {
    const file = await written(counted());
    return {
      fd: file.fd,
      bytes,
      content: () => contentOf(file),
      async discard() {
        free();
        await file.close();
      },
    };
  } catch (error) {
    free();
    throw error;
  }
}

async function written(pieces: AsyncIterable<Buffer>): Promise<FileHandle> {
  const path = join(tmpdir(), `fleet-gateway-upload-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    await unlink(path);
    await file.writeFile(pieces);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Not as a stream, which would open and close in times of its own, and fail when nobody listens. */
async function* contentOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), { position });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

const SIGNATURE_BYTES = 4;

/** A file to be read: text as it arrives, or a workbook, which has arrived. */
export type Source = { text: AsyncGenerator<Buffer> } | { workbook: TemporaryFile };

/**
 * Tells by its content whether a file is a workbook; if so, writes it to disk, since its table of contents is at its end.
 * Throws PayloadTooLarge and Unavailable for a workbook for which there is no room.
 */
export async function openSource(input: AsyncIterable<Buffer>, mostBytes: number): Promise<Source> {
  const { start, all } = await startOf(input);
  return isArchive(start) ? { workbook: await keepOnDisk(all, mostBytes) } : { text: all };
}

async function startOf(input: AsyncIterable<Buffer>): Promise<{ start: Buffer; all: AsyncGenerator<Buffer> }> {
  const pieces = input[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  let start: Buffer = Buffer.alloc(0);
  while (start.length < SIGNATURE_BYTES) {
    const { done, value } = await pieces.next();
    if (done) break;
    read.push(value);
    start = read.length === 1 ? value : Buffer.concat(read);
  }
  async function* all() {
    try {
      yield* read;
      yield* { [Symbol.asyncIterator]: () => pieces };
    } finally {
      await pieces.return?.();
    }
  }
  return { start, all: all() };
}
