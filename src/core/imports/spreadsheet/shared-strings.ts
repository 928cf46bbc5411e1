import { PayloadTooLarge } from '../../errors.ts';
import { readWholeXml } from './archive.ts';

const BLOCK_BYTES = 1024 * 1024;
/** Memory for the texts of a workbook, with four bytes for the place of each. */
const MOST_BYTES = 48 * 1024 * 1024;
const PLACE_BYTES = 4;
const LENGTH_BYTES = 2;

/** Reads the part with the texts that cells refer to; of each, `longest` characters and one more. Throws PayloadTooLarge. */
export async function readSharedStrings(pieces: AsyncIterable<Buffer>, longest: number): Promise<SharedStrings> {
  const strings = new SharedStrings();
  let text = '';
  let within = '';
  await readWholeXml(pieces, {
    open(name) {
      if (name === 'si') text = '';
      if (name === 't' || name === 'rPh') within = within === 'rPh' ? within : name;
    },
    text(more) {
      // The pronunciation of a text is no part of it.
      if (within === 't' && text.length <= longest) text += more;
    },
    close(name) {
      if (name === within) within = '';
      if (name === 'si') strings.add(text.slice(0, longest + 1));
    },
  });
  return strings;
}

/** Texts by their number, as bytes: a million strings would take three times as much. */
class SharedStrings {
  readonly #blocks: Buffer[] = [];
  #places = new Uint32Array(1024);
  #count = 0;
  /** In the last block. */
  #used = BLOCK_BYTES;

  /** The text with this number, from 0; undefined where there is none. */
  at(index: number): string | undefined {
    if (!(Number.isInteger(index) && index >= 0 && index < this.#count)) return undefined;
    const place = this.#places[index] as number;
    const block = this.#blocks[Math.floor(place / BLOCK_BYTES)] as Buffer;
    const start = (place % BLOCK_BYTES) + LENGTH_BYTES;
    return block.toString('utf8', start, start + block.readUInt16LE(start - LENGTH_BYTES));
  }

  add(text: string): void {
    const length = Buffer.byteLength(text);
    if (this.#used + LENGTH_BYTES + length > BLOCK_BYTES) {
      if ((this.#blocks.length + 1) * BLOCK_BYTES + this.#count * PLACE_BYTES > MOST_BYTES) throw tooManyTexts();
      this.#blocks.push(Buffer.allocUnsafe(BLOCK_BYTES));
      this.#used = 0;
    }
    const block = this.#blocks.at(-1) as Buffer;
    if (this.#count === this.#places.length)
      this.#places = new Uint32Array(this.#places.buffer.transfer(this.#count * PLACE_BYTES * 2));
    this.#places[this.#count++] = (this.#blocks.length - 1) * BLOCK_BYTES + this.#used;
    block.writeUInt16LE(length, this.#used);
    block.write(text, this.#used + LENGTH_BYTES);
    this.#used += LENGTH_BYTES + length;
  }
}

const tooManyTexts = () =>
  new PayloadTooLarge('The workbook has too many different texts. Save its sheet as "CSV UTF-8" and send that.');
