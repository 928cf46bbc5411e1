import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RateLimited } from '../errors.ts';
import { bounded } from './csv/limits.ts';
import { isArchive } from './spreadsheet/workbook.ts';

const PIECE_BYTES = 64 * 1024;
/** All waiting files of a process take at most as much room as this many of the largest. */
const MOST_FILES = 8;
const RETRY_SECONDS = 30;

/** A file without a name: no other process can open it, and it ends with this process, however that ends. */
export interface TemporaryFile {
  /** Its descriptor, good until it is discarded. */
  fd: number;
  bytes: number;
  content(): AsyncGenerator<Buffer>;
  discard(): Promise<void>;
}

/** The room for files that wait, which companies share. */
export class Disk {
  readonly #largest: number;
  readonly #kept = new Map<string, number>();
  #total = 0;

  /** `largest`: bytes of the largest file. */
  constructor(largest: number) {
    this.#largest = largest;
  }

  /**
   * Writes what arrives to a temporary file. Throws PayloadTooLarge for too large a file, and RateLimited where there is no room
   * for more of the company's files.
   */
  async keep(input: AsyncIterable<Buffer>, company: string): Promise<TemporaryFile> {
    let bytes = 0;
    const free = () => {
      this.#add(company, -bytes);
      bytes = 0;
    };
    const take = (more: number) => {
      if (!this.#hasRoom(company, more)) {
        // At once, before the file is closed: until then the next pieces of all others would be refused, too.
        free();
        throw new RateLimited(RETRY_SECONDS, TOO_MUCH);
      }
      this.#add(company, more);
      bytes += more;
    };
    async function* counted() {
      for await (const piece of input) {
        take(piece.length);
        yield piece;
      }
    }
    try {
      const file = await written(bounded(counted(), this.#largest));
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

  #hasRoom(company: string, more: number): boolean {
    const room = MOST_FILES * this.#largest;
    const total = this.#total + more;
    // Half of the room is for companies that have no more than one file.
    return total <= room / 2 || (total <= room && (this.#kept.get(company) ?? 0) + more <= this.#largest);
  }

  #add(company: string, bytes: number): void {
    const left = (this.#kept.get(company) ?? 0) + bytes;
    if (left > 0) this.#kept.set(company, left);
    else this.#kept.delete(company);
    this.#total += bytes;
  }
}

const TOO_MUCH = 'The files that wait to be read are too large together. Try again when one has been stored.';

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
 * Throws what `Disk.keep` throws.
 */
export async function openSource(input: AsyncIterable<Buffer>, disk: Disk, company: string): Promise<Source> {
  const { start, all } = await startOf(input);
  return isArchive(start) ? { workbook: await disk.keep(all, company) } : { text: all };
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
