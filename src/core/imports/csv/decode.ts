import { UnsupportedMediaType } from '../../errors.ts';
import { type Decode, decoderFor, NoText } from './encoding.ts';
import { bounded } from './limits.ts';

const PIECE_BYTES = 64 * 1024;

/** How files that are not CSV begin, seen as Latin-1, and what to tell those who sent one under the name of CSV. */
const SIGNATURES: readonly (readonly [start: string, what: string])[] = [
  ['PK\x05\x06', 'an empty ZIP archive'],
  [
    '\xd0\xcf\x11\xe0',
    'an old Excel workbook, or one with a password. In Excel, save it as .xlsx without one, or as "CSV UTF-8", and send that',
  ],
  ['%PDF', 'a PDF document'],
  ['\x89PNG', 'a PNG image'],
  ['\xff\xd8\xff', 'a JPEG image'],
  ['GIF8', 'a GIF image'],
  ['\x1f\x8b', 'a gzip archive. Unpack it first'],
  ['\x28\xb5\x2f\xfd', 'a Zstandard archive. Unpack it first'],
  ['7z\xbc\xaf', 'a 7-Zip archive. Unpack it first'],
  ['{\\rtf', 'a rich text document'],
];

/** HTML, XML and JSON are text as well; some "Excel exports" are HTML tables in disguise. */
const MARKUP = /^\s*(?:<[!?a-z]|\{|\[\s*["{[\]])/i;

/**
 * The text of a CSV file, piece by piece, with `\n` as its only line break and without byte order marks.
 * UTF-8, UTF-16 with a byte order mark, or Windows-1252; whatever is not such text is an UnsupportedMediaType.
 * How the bytes were cut on their way here leaves no trace: the pieces are the same.
 */
export async function* textOf(input: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string, void> {
  let decode: Decode | undefined;
  let heldReturn = '';
  for await (const { bytes, last } of equalPieces(bounded(input, maxBytes))) {
    const first = decode === undefined;
    decode ??= openDecoder(bytes);
    const text = heldReturn + decoded(decode, bytes, last);
    if (first && MARKUP.test(text)) throw notCsv('HTML, XML or JSON');
    // A return at the end of a piece may be the first half of a line break.
    heldReturn = text.endsWith('\r') && !last ? '\r' : '';
    yield unified(heldReturn ? text.slice(0, -1) : text);
  }
}

interface Piece {
  bytes: Buffer;
  last: boolean;
}

/** Pieces of one size whatever the size of the chunks; the buffer is used again, so a piece is to be read at once. */
async function* equalPieces(input: AsyncIterable<Buffer>): AsyncGenerator<Piece, void> {
  const bytes = Buffer.allocUnsafe(PIECE_BYTES);
  let filled = 0;
  for await (const chunk of input) {
    for (let at = 0; at < chunk.length; ) {
      // Only what comes behind a full one shows that it is not the last.
      if (filled === PIECE_BYTES) {
        yield { bytes, last: false };
        filled = 0;
      }
      const copied = chunk.copy(bytes, filled, at);
      at += copied;
      filled += copied;
    }
  }
  if (filled > 0) yield { bytes: bytes.subarray(0, filled), last: true };
}

function openDecoder(start: Buffer): Decode {
  const head = start.toString('latin1', 0, 16);
  const found = SIGNATURES.find(([signature]) => head.startsWith(signature));
  if (found) throw notCsv(found[1]);
  return decoderFor(start);
}

function decoded(decode: Decode, bytes: Buffer, last: boolean): string {
  try {
    const text = decode(bytes, last);
    if (!text.includes('\0')) return text;
  } catch (error) {
    throw error instanceof NoText ? notCsv(error.message) : error;
  }
  throw notCsv('binary data (it has NUL bytes). UTF-16 text needs a byte order mark');
}

/** Byte order marks also stand in mid-file, where files were joined. */
function unified(text: string): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  return lines.includes('\ufeff') ? lines.replaceAll('\ufeff', '') : lines;
}

function notCsv(what: string): UnsupportedMediaType {
  return new UnsupportedMediaType(`The uploaded file is not CSV text: it is ${what}.`);
}
