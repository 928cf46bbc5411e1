import { randomUUID } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { limitPieces, WORKBOOK_START } from '../../vin-files/index.ts';
import { RateLimited } from '../errors.ts';
import { asDomainError } from './rejected-file.ts';

const PIECE_BYTES = 64 * 1024;
/** The room for all waiting files of a process, in files of the largest size. */
const MOST_FILES = 8;
const RETRY_SECONDS = 30;

/** A file without a name: no other process can open it, and it ends with this process, however that ends. */
export type TemporaryFile = Awaited<ReturnType<TemporaryDisk['keep']>>;

/** The room for files that wait, which companies share. */
export class TemporaryDisk {
  readonly #largest: number;
  readonly #bytesByCompany = new Map<string, number>();
  #total = 0;

  constructor(largestBytes: number) {
    this.#largest = largestBytes;
  }

  /** Writes the input to a temporary file. Throws PayloadTooLarge, and RateLimited without room for the company. */
  async keep(input: AsyncIterable<Buffer>, company: string) {
    const path = join(tmpdir(), `fleet-gateway-upload-${randomUUID()}`);
    const file = await open(path, 'wx+', 0o600);
    let bytes = 0;
    const take = (more: number) => {
      if (!this.#hasRoom(company, more)) throw new RateLimited(RETRY_SECONDS, TOO_MUCH);
      this.#add(company, more);
      bytes += more;
    };
    async function* counted() {
      for await (const piece of input) {
        take(piece.length);
        yield piece;
      }
    }
    const discard = async () => {
      // Before the file is closed: until then the next pieces of all others would be refused, too.
      this.#add(company, -bytes);
      bytes = 0;
      await file.close();
    };
    try {
      await unlink(path);
      await file.writeFile(limitPieces(counted(), this.#largest));
    } catch (error) {
      await discard();
      throw asDomainError(error);
    }
    /** The descriptor is good until the file is discarded. */
    return { fd: file.fd, bytes, content: () => contentOf(file), discard };
  }

  #hasRoom(company: string, more: number): boolean {
    const room = MOST_FILES * this.#largest;
    const total = this.#total + more;
    // Half of the room is for companies that have no more than one file.
    return total <= room / 2 || (total <= room && (this.#bytesByCompany.get(company) ?? 0) + more <= this.#largest);
  }

  #add(company: string, bytes: number): void {
    const left = (this.#bytesByCompany.get(company) ?? 0) + bytes;
    if (left > 0) this.#bytesByCompany.set(company, left);
    else this.#bytesByCompany.delete(company);
    this.#total += bytes;
  }
}

const TOO_MUCH = 'The files that wait to be read are too large together. Try again when one has been stored.';

/** Not as a stream, which would open and close by itself, and fail without a listener. */
async function* contentOf(file: Awaited<ReturnType<typeof open>>): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), { position });
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** A file to be read: text as it arrives, or a workbook, which has arrived. */
export type FileSource = { text: AsyncGenerator<Buffer> } | { workbook: TemporaryFile };

/** Keeps a workbook on disk: its table of contents is at its end. Text is read as it arrives. Throws PayloadTooLarge and RateLimited. */
export async function openFileSource(
  input: AsyncIterable<Buffer>,
  disk: TemporaryDisk,
  company: string,
): Promise<FileSource> {
  const pieces = input[Symbol.asyncIterator]();
  let start: Buffer = Buffer.alloc(0);
  while (start.length < WORKBOOK_START.length) {
    const { done, value } = await pieces.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  const text = joined(start, pieces);
  const isWorkbook = start.toString('latin1', 0, WORKBOOK_START.length) === WORKBOOK_START;
  return isWorkbook ? { workbook: await disk.keep(text, company) } : { text };
}

async function* joined(start: Buffer, pieces: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield start;
    yield* { [Symbol.asyncIterator]: () => pieces };
  } finally {
    await pieces.return?.();
  }
}
