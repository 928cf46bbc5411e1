import { isAscii, isUtf8 } from 'node:buffer';
import { UnsupportedMediaType } from '../../errors.ts';
import { limitPieces } from './limits.ts';

const PIECE_BYTES = 64 * 1024;

/** The beginnings of files that are not CSV, as Latin-1, and what the error says they are. */
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

/** Ctrl-Z, with which programs of DOS end or fill up a file. */
const END_OF_FILE = /(?<!\cZ)\cZ+$/;

const BINARY_DATA =
  'binary data (it has NUL bytes). UTF-16 text needs a byte order mark; if it is such text, save it as "CSV UTF-8"';
const MARKED_UP =
  'HTML, XML or JSON, which some programs call .xls or .csv. Open it in a spreadsheet program, save it as .xlsx or ' +
  '"CSV UTF-8", and send that';

/** The UTF-8, UTF-16 or Windows-1252 text of a file, with `\n` as its only line break, in pieces that depend on it alone. */
export async function* decodeText(input: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string, void> {
  let decode: Decode | undefined;
  let heldReturn = '';
  for await (const { bytes, last } of equalPieces(limitPieces(input, maxBytes))) {
    const first = decode === undefined;
    decode ??= openDecoder(bytes);
    const text = heldReturn + decode(bytes, last);
    if (text.includes('\0')) throw notCsv(BINARY_DATA);
    if (first && MARKUP.test(text)) throw notCsv(MARKED_UP);
    // A return at the end of a piece may be the first half of a line break.
    heldReturn = text.endsWith('\r') && !last ? '\r' : '';
    yield unified(heldReturn ? text.slice(0, -1) : last ? text.replace(END_OF_FILE, '') : text);
  }
}

/** Pieces of one size whatever the size of the chunks; the buffer is used again, so a piece is to be read at once. */
async function* equalPieces(input: AsyncIterable<Buffer>) {
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
  const other = SIGNATURES.find(([signature]) => head.startsWith(signature));
  if (other) throw notCsv(other[1]);
  const marked = MARKS.find(([mark]) => head.startsWith(mark));
  return marked ? asMarked(marked[1]) : asGuessed();
}

/** Joined files have byte order marks in the middle. */
function unified(text: string): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  return lines.includes('\ufeff') ? lines.replaceAll('\ufeff', '') : lines;
}

const notCsv = (what: string) => new UnsupportedMediaType(`The uploaded file is not CSV text: it is ${what}.`);

type Decode = (piece: Buffer, last: boolean) => string;

/** Control characters that no text holds (separators of data are in those of scanners), and the bytes for which Windows-1252 has no character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const BINARY = /[\0-\x08\x0e-\x19\x1b\x7f\x81\x8d\x8f\x90\x9d]/;
const MARKS: readonly (readonly [mark: string, encoding: string])[] = [
  ['\xef\xbb\xbf', 'utf-8'],
  ['\xff\xfe', 'utf-16le'],
  ['\xfe\xff', 'utf-16be'],
];

function asMarked(encoding: string): Decode {
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (piece, last) => {
    try {
      return decoder.decode(piece, { stream: !last });
    } catch {
      throw notCsv(`no valid ${encoding.toUpperCase()} text. Save it as "CSV UTF-8"`);
    }
  };
}

/** UTF-8, and Windows-1252 for a piece that is not; a file that was UTF-8 before such a piece is so again behind it. */
function asGuessed(): Decode {
  const windows = new TextDecoder('windows-1252');
  let known: 'utf-8' | 'windows-1252' | undefined;
  let torn: Buffer = Buffer.alloc(0);
  return (piece, last) => {
    const bytes = torn.length > 0 ? Buffer.concat([torn, piece]) : piece;
    const end = last ? bytes.length : wholeCharacters(bytes);
    const whole = bytes.subarray(0, end);
    // A copy, since the buffer of the piece is used again.
    torn = Buffer.from(bytes.subarray(end));
    const valid = known !== 'windows-1252' && isUtf8(whole);
    if (!isAscii(whole)) known ??= valid ? 'utf-8' : 'windows-1252';
    if (valid) return whole.toString();
    if (BINARY.test(whole.toString('latin1'))) throw notCsv('neither UTF-8 nor Windows-1252. Save it as "CSV UTF-8"');
    return windows.decode(whole);
  };
}

function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
