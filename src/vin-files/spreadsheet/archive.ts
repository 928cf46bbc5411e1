import { fstat, read } from 'node:fs';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import sax from 'sax';
import yauzl, { type Entry } from 'yauzl';
import { FileRejection, fileTooLarge } from '../rejection.ts';

/** A workbook has some dozens of parts. */
const MOST_PARTS = 10_000;

export type Archive = Awaited<ReturnType<typeof openArchive>>;

/** Opens a ZIP archive, of which at most so many bytes are unpacked. Throws FileRejection. */
export async function openArchive(fd: number, mostBytes: number) {
  const { zip, parts } = await openZip(fd).catch(failed);
  let bytesLeft = mostBytes;
  return {
    has: (name: string): boolean => parts.has(keyOf(name)),
    /** The bytes of a part; nothing where there is none. */
    async *read(name: string): AsyncGenerator<Buffer, void> {
      const part = parts.get(keyOf(name));
      if (!part) return;
      try {
        for await (const piece of await zip.openReadStreamPromise(part)) {
          bytesLeft -= piece.length;
          if (bytesLeft < 0) throw workbookTooLargeError();
          yield piece;
        }
      } catch (error) {
        failed(error);
      }
    },
  };
}

/** The bytes of a file, which yauzl would take to its end. */
class FileBytes extends yauzl.RandomAccessReader {
  readonly #fd: number;

  constructor(fd: number) {
    super();
    this.#fd = fd;
  }

  override read(buffer: Buffer, offset: number, length: number, position: number, callback: ReadCallback): void {
    read(this.#fd, buffer, offset, length, position, callback);
  }

  /** Not fs.createReadStream, which closes the file at an early end. */
  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(piecesOf(this.#fd, start, end));
  }
}

type ReadCallback = (error: Error | null, bytes?: number) => void;
const readAt = promisify(read);

async function* piecesOf(fd: number, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; ) {
    const length = Math.min(PIECE_BYTES, end - at);
    const { bytesRead, buffer } = await readAt(fd, Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

const PIECE_BYTES = 64 * 1024;
const END_OF_DIRECTORY = Buffer.from('PK\x05\x06', 'latin1');
const END_BYTES = 22;
const LONGEST_COMMENT = 0xffff;

/** Where the archive in a file ends by its last record: mail programs and forms may have left bytes behind it. */
async function endOfArchive(fd: number): Promise<number> {
  const { size } = await promisify(fstat)(fd);
  const tail = Buffer.alloc(Math.min(size, END_BYTES + LONGEST_COMMENT));
  const start = size - tail.length;
  await readAt(fd, tail, 0, tail.length, start);
  for (let at = tail.length - END_BYTES; at >= 0; at--) {
    at = tail.lastIndexOf(END_OF_DIRECTORY, at);
    if (at === -1) break;
    const end = at + END_BYTES + tail.readUInt16LE(at + 20);
    // The last record is behind the directory that it names, unless the numbers are too large for it (ZIP64).
    const directory = tail.readUInt32LE(at + 12) + tail.readUInt32LE(at + 16);
    if (end <= tail.length && (directory <= start + at || directory >= 0xffffffff)) return start + end;
  }
  return size;
}

async function openZip(fd: number) {
  const end = await endOfArchive(fd);
  // Its sizes are compared with what is unpacked, so that the sizes which entries name are true.
  const options = { autoClose: false, lazyEntries: true, decodeStrings: false };
  const zip = await yauzl.fromRandomAccessReaderPromise(new FileBytes(fd), end, options);
  const parts = new Map<string, Entry>();
  let entries = 0;
  for await (const entry of zip.eachEntry()) {
    parts.set(keyOf(String(entry.fileNameRaw)), entry);
    entries += 1;
    if (entries > MOST_PARTS) throw tooManyParts();
  }
  return { zip, parts };
}

/** Names are the same in any case; some programs write them as absolute paths, with backslashes, or as parts of an address. */
const keyOf = (name: string): string => posix.resolve('/', plainAddress(name).replaceAll('\\', '/')).toLowerCase();

function plainAddress(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function failed(error: unknown): never {
  throw isTooLarge(error) ? error : damagedWorkbookError(error);
}

const isTooLarge = (error: unknown) => error instanceof FileRejection && error.code === 'FILE_TOO_LARGE';

export const workbookTooLargeError = () =>
  fileTooLarge('The workbook is too large when it is unpacked. Save its sheet as "CSV UTF-8" and send that.');

const tooManyParts = () =>
  fileTooLarge(
    `The workbook has more than ${MOST_PARTS.toLocaleString('en')} parts. Save the sheet with the VINs as "CSV UTF-8" and send that.`,
  );

export const damagedWorkbookError = (cause: unknown) => {
  const message =
    'The workbook is damaged. Open it, save it as a new file and send that, or save its sheet as "CSV UTF-8".';
  return new FileRejection('WORKBOOK_DAMAGED', message, {}, cause);
};

/** Names of elements come without their namespace prefix, those of attributes with it. */
export interface XmlHandler {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** Deeper than any part of a workbook, and wider. */
const MOST_LEVELS = 40;
const MOST_ATTRIBUTES = 60;

/** Reads an XML document, and comes back after each piece. Throws FileRejection, and what the handler throws. */
export async function* readXml(pieces: AsyncIterable<Buffer>, handler: XmlHandler): AsyncGenerator<void, void> {
  const parser = sax.parser(true);
  const decoder = new StringDecoder();
  let levels = 0;
  let attributes = 0;
  const check = (fits: boolean, what: string) => {
    if (!fits) throw damagedWorkbookError(new Error(what));
  };
  parser.onerror = (error) => {
    throw damagedWorkbookError(error);
  };
  parser.onattribute = () => check(++attributes <= MOST_ATTRIBUTES, 'too many attributes');
  parser.onopentag = ({ name, attributes: given }) => {
    check(++levels <= MOST_LEVELS, 'too many levels');
    attributes = 0;
    handler.open(bare(name), given as Record<string, string>);
  };
  parser.onclosetag = (name) => {
    levels--;
    handler.close?.(bare(name));
  };
  parser.ontext = (text) => handler.text?.(text);
  parser.oncdata = (text) => handler.text?.(text);
  for await (const piece of pieces) {
    parser.write(decoder.write(piece));
    yield;
  }
  parser.close();
}

/** Some programs write `x:row` where others write `row`. */
const bare = (name: string): string => name.slice(name.indexOf(':') + 1);

/** What a part, or the whole package, is related to: the parts that are there, with the last word of their type. */
export async function readRelationships(archive: Archive, part = '') {
  const { dir, base } = posix.parse(part);
  const related: { id: string; type: string; part: string }[] = [];
  await readWholeXml(archive.read(posix.join(dir, '_rels', `${base}.rels`)), {
    open(name, { Id: id = '', Type = '', Target = '' }) {
      const to = posix.resolve('/', dir, Target.replaceAll('\\', '/'));
      if (name !== 'Relationship' || !archive.has(to) || related.length >= MOST_PARTS) return;
      related.push({ id, type: Type.slice(Type.lastIndexOf('/') + 1), part: to });
    },
  });
  return related;
}

export async function readWholeXml(pieces: AsyncIterable<Buffer>, handler: XmlHandler): Promise<void> {
  for await (const _ of readXml(pieces, handler));
}
