import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../core/context.ts';
import { noRoom } from '../core/database-errors.ts';
import { admitUpload } from '../core/imports/begin.ts';
import { bounded } from '../core/imports/csv/csv.ts';

const PIECE_BYTES = 64 * 1024;
/** Of the largest file, what all files that wait in a process take at most. */
const MOST_FILES = 2;

/** What waits on the disk of this process: bytes of all, and files of each company. */
let bytesKept = 0;
const waiting = new Map<string, number>();

/** A file that waits until it is known whose it is. */
export interface SpooledFile {
  content(): AsyncGenerator<Buffer>;
  /** Frees its room. */
  discard(): Promise<void>;
}

/**
 * Writes a part to a temporary file, which nobody else can open: it has no name any more, and is gone when it is closed or
 * this process ends, however it does. Throws Forbidden and RateLimited before a byte is kept; PayloadTooLarge for a file
 * over LIMIT_FILE_BYTES, and Unavailable where all that wait are too much.
 */
export async function spool(ctx: Context, part: AsyncIterable<Buffer>): Promise<SpooledFile> {
  const leave = await enter(ctx);
  const { LIMIT_FILE_BYTES } = ctx.services.config;
  let bytes = 0;
  const free = () => {
    bytesKept -= bytes;
    bytes = 0;
  };
  async function* counted() {
    for await (const piece of bounded(part, LIMIT_FILE_BYTES)) {
      if (bytesKept + piece.length > MOST_FILES * LIMIT_FILE_BYTES) {
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
      content: () => contentOf(file),
      async discard() {
        free();
        await file.close();
      },
    };
  } catch (error) {
    free();
    throw error;
  } finally {
    // From here on it is an upload like any other.
    leave();
  }
}

/** Takes one of the company's places; gives how to leave it. */
async function enter(ctx: Context): Promise<() => void> {
  const company = ctx.caller?.company ?? '';
  const before = waiting.get(company) ?? 0;
  // Taken before it is known whether there is one: whoever comes meanwhile counts it.
  waiting.set(company, before + 1);
  const leave = () => {
    const left = (waiting.get(company) ?? 1) - 1;
    if (left > 0) waiting.set(company, left);
    else waiting.delete(company);
  };
  try {
    await admitUpload(ctx, { waiting: before });
    return leave;
  } catch (error) {
    leave();
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
