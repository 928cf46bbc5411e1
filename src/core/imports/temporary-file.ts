import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noRoom } from '../database-errors.ts';
import { bounded } from './csv/limits.ts';

const PIECE_BYTES = 64 * 1024;
/** Of the largest file, what all files that wait in a process take at most. */
const MOST_FILES = 2;

/** Bytes of all files that wait on the disk of this process. */
let bytesKept = 0;

/** A file that nobody else can open: it has no name any more, and is gone when this process ends, however it does. */
export interface TemporaryFile {
  /** Its descriptor, good until it is discarded. */
  fd: number;
  bytes: number;
  content(): AsyncGenerator<Buffer>;
  /** Frees its room. */
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
