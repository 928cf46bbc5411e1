import { posix } from 'node:path';
import { PayloadTooLarge, UnsupportedMediaType } from '../../errors.ts';
import type { CsvLimits } from '../csv/limits.ts';
import { Archive, damaged, readAll, tooLarge } from './archive.ts';
import { readDateStyles, sheetText } from './sheet.ts';

const WORKBOOK = 'xl/workbook.xml';

/** Sheets that a workbook may have; the first ones count. */
const MOST_SHEETS = 1000;

interface Workbook {
  /** The first sheet of cells that is not hidden. */
  sheet: string;
  from1904: boolean;
}

/** Finds a workbook's first sheet. Throws UnsupportedMediaType for an archive that is no workbook, and ValidationFailed. */
async function readWorkbook(archive: Archive): Promise<Workbook> {
  if (!archive.has(WORKBOOK)) {
    throw new UnsupportedMediaType(
      'The uploaded file is neither CSV text nor an Excel workbook: it is a ZIP archive of something else. In your ' +
        'program, save the sheet as "CSV UTF-8" or as .xlsx and send that.',
    );
  }
  const sheets: { id: string; hidden: boolean }[] = [];
  let from1904 = false;
  await readAll(archive.read(WORKBOOK), {
    open(name, attributes) {
      if (name === 'workbookPr') from1904 = /^(?:1|true)$/.test(attributes.date1904 ?? '');
      if (name !== 'sheet' || sheets.length >= MOST_SHEETS) return;
      const id = Object.entries(attributes).find(([key]) => /:id$/.test(key))?.[1] ?? '';
      sheets.push({ id, hidden: /hidden/i.test(attributes.state ?? '') });
    },
  });
  const places = await readPlaces(archive);
  const first = sheets.find(({ id, hidden }) => !hidden && places.has(id)) ?? sheets.find(({ id }) => places.has(id));
  const sheet = first && places.get(first.id);
  if (!sheet || !archive.has(sheet)) throw damaged(new Error('no sheet'));
  return { sheet, from1904 };
}

/** The parts of sheets of cells, by the ids by which the workbook names them. */
async function readPlaces(archive: Archive): Promise<Map<string, string>> {
  const places = new Map<string, string>();
  let relationships = 0;
  await readAll(archive.read('xl/_rels/workbook.xml.rels'), {
    open(name, { Id = '', Type = '', Target = '' }) {
      if (name !== 'Relationship' || !Type.endsWith('/worksheet') || relationships++ >= MOST_SHEETS) return;
      places.set(Id, posix.resolve('/xl', Target).slice(1));
    },
  });
  return places;
}

/** A sheet takes more room when it is unpacked than its file, but not without end. */
const UNPACKED = 4;

/** Whether a file that begins with these bytes may be a workbook: it is a ZIP archive. */
export const isArchive = (start: Buffer): boolean => start.toString('latin1', 0, 4) === 'PK\x03\x04';

/**
 * The first sheet of an Excel workbook (.xlsx) as CSV text with commas, piece by piece, in constant memory but for the
 * workbook's texts. Throws UnsupportedMediaType for what is no workbook, PayloadTooLarge, and ValidationFailed.
 */
export async function* firstSheet(fd: number, limits: CsvLimits): AsyncGenerator<string, void> {
  const archive = await Archive.open(fd, limits.bytes * UNPACKED);
  const { sheet, from1904 } = await readWorkbook(archive);
  const strings = await SharedStrings.read(archive.read('xl/sharedStrings.xml'), limits.fieldLength);
  const dateStyles = await readDateStyles(archive.read('xl/styles.xml'));
  // A text that many cells share stands in the file once, and in each of them here.
  let charactersLeft = limits.bytes;
  for await (const text of sheetText(archive.read(sheet), { strings, dateStyles, from1904 }, limits)) {
    charactersLeft -= text.length;
    if (charactersLeft < 0) throw tooLarge();
    yield text;
  }
}

const BLOCK_BYTES = 1024 * 1024;
/** Memory for the texts of a workbook, with four bytes for the place of each. */
const MOST_BYTES = 48 * 1024 * 1024;
const PLACE_BYTES = 4;
const LENGTH_BYTES = 2;

/** The texts that cells refer to by number, as bytes: a million strings would take three times as much. */
class SharedStrings {
  readonly #longest: number;
  readonly #blocks: Buffer[] = [];
  #places = new Uint32Array(1024);
  #count = 0;
  /** In the last block. */
  #used = BLOCK_BYTES;

  private constructor(longest: number) {
    this.#longest = longest;
  }

  /** Reads the part that has them; of each, `longest` characters and one more. Throws PayloadTooLarge. */
  static async read(pieces: AsyncIterable<Buffer>, longest: number): Promise<SharedStrings> {
    const strings = new SharedStrings(longest);
    let text = '';
    let within = '';
    await readAll(pieces, {
      open(name) {
        if (name === 'si') text = '';
        if (name === 't' || name === 'rPh') within = within === 'rPh' ? within : name;
      },
      text(more) {
        // How a text is to be pronounced is no part of it.
        if (within === 't' && text.length <= longest) text += more;
      },
      close(name) {
        if (name === within) within = '';
        if (name === 'si') strings.#add(text);
      },
    });
    return strings;
  }

  /** The text with this number, from 0; undefined where there is none. */
  at(index: number): string | undefined {
    if (!(Number.isInteger(index) && index >= 0 && index < this.#count)) return undefined;
    const place = this.#places[index] as number;
    const block = this.#blocks[Math.floor(place / BLOCK_BYTES)] as Buffer;
    const start = (place % BLOCK_BYTES) + LENGTH_BYTES;
    return block.toString('utf8', start, start + block.readUInt16LE(start - LENGTH_BYTES));
  }

  #add(text: string): void {
    const kept = text.slice(0, this.#longest + 1);
    const length = Buffer.byteLength(kept);
    if (this.#used + LENGTH_BYTES + length > BLOCK_BYTES) this.#addBlock();
    const block = this.#blocks.at(-1) as Buffer;
    this.#remember((this.#blocks.length - 1) * BLOCK_BYTES + this.#used);
    block.writeUInt16LE(length, this.#used);
    block.write(kept, this.#used + LENGTH_BYTES);
    this.#used += LENGTH_BYTES + length;
  }

  #addBlock(): void {
    if ((this.#blocks.length + 1) * BLOCK_BYTES + this.#count * PLACE_BYTES > MOST_BYTES) throw tooManyTexts();
    this.#blocks.push(Buffer.allocUnsafe(BLOCK_BYTES));
    this.#used = 0;
  }

  #remember(place: number): void {
    if (this.#count === this.#places.length) {
      const more = new Uint32Array(this.#count * 2);
      more.set(this.#places);
      this.#places = more;
    }
    this.#places[this.#count++] = place;
  }
}

const tooManyTexts = () =>
  new PayloadTooLarge('The workbook has too many different texts. Save its sheet as "CSV UTF-8" and send that.');
