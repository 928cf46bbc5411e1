import { StringDecoder } from 'node:string_decoder';
import sax from 'sax';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { PayloadTooLarge } from '../../errors.ts';
import { unreadableFile } from '../csv/limits.ts';

/** A workbook has some dozens of parts; nobody looks for one among millions. */
const MOST_PARTS = 10_000;

/** The parts of a ZIP archive, by their names. What is unpacked of all of them together has a limit. */
export class Archive {
  readonly #zip: ZipFile;
  readonly #parts: ReadonlyMap<string, Entry>;
  #bytesLeft: number;

  private constructor(zip: ZipFile, parts: ReadonlyMap<string, Entry>, mostBytes: number) {
    this.#zip = zip;
    this.#parts = parts;
    this.#bytesLeft = mostBytes;
  }

  /** Opens the archive in an open file; throws ValidationFailed for a damaged one. */
  static async open(fd: number, mostBytes: number): Promise<Archive> {
    try {
      // Its sizes are compared with what is unpacked, so that what an entry claims is true.
      const zip = await yauzl.fromFdPromise(fd, { autoClose: false, lazyEntries: true });
      const parts = new Map<string, Entry>();
      let entries = 0;
      for await (const entry of zip.eachEntry()) {
        parts.set(entry.fileName, entry);
        entries += 1;
        if (entries > MOST_PARTS) throw tooManyParts();
      }
      return new Archive(zip, parts, mostBytes);
    } catch (error) {
      throw error instanceof PayloadTooLarge ? error : damaged(error);
    }
  }

  has = (name: string): boolean => this.#parts.has(name);

  /** The bytes of a part; nothing where there is none. Throws PayloadTooLarge, and ValidationFailed for a damaged one. */
  async *read(name: string): AsyncGenerator<Buffer, void> {
    const part = this.#parts.get(name);
    if (!part) return;
    let pieces: AsyncIterable<Buffer>;
    try {
      pieces = await this.#zip.openReadStreamPromise(part);
      for await (const piece of pieces) {
        this.#bytesLeft -= piece.length;
        if (this.#bytesLeft < 0) throw tooLarge();
        yield piece;
      }
    } catch (error) {
      throw error instanceof PayloadTooLarge ? error : damaged(error);
    }
  }
}

export const tooLarge = () =>
  new PayloadTooLarge('The workbook is too large when it is unpacked. Save its sheet as "CSV UTF-8" and send that.');

const tooManyParts = () =>
  new PayloadTooLarge(
    `The workbook has more than ${MOST_PARTS.toLocaleString('en')} parts. Save the sheet with the VINs as "CSV UTF-8" and send that.`,
  );

export const damaged = (cause: unknown) => {
  const message =
    'The workbook is damaged. Open it, save it as a new file and send that, or save its sheet as "CSV UTF-8".';
  return Object.assign(unreadableFile('WORKBOOK_DAMAGED', message), { cause });
};

/** Element names come without their namespace prefix; names of attributes keep theirs. */
export interface Handler {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** Deeper than any part of a workbook, and wider. */
const MOST_LEVELS = 40;
const MOST_ATTRIBUTES = 60;

/**
 * Reads a document piece by piece, and comes back after each; declarations of entities are not looked at.
 * Throws ValidationFailed for what is no such document, and what the handler throws.
 */
export async function* readXml(pieces: AsyncIterable<Buffer>, handler: Handler): AsyncGenerator<void, void> {
  const parser = sax.parser(true);
  const decoder = new StringDecoder();
  let levels = 0;
  let attributes = 0;
  const check = (fits: boolean, what: string) => {
    if (!fits) throw damaged(new Error(what));
  };
  parser.onerror = (error) => {
    throw damaged(error);
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

export async function readAll(pieces: AsyncIterable<Buffer>, handler: Handler): Promise<void> {
  for await (const _ of readXml(pieces, handler));
}
