import { isAscii, isUtf8 } from 'node:buffer';
import { notTable, SAVE_AS_TABLE } from '../rejection.ts';
import { limitPieces } from './limits.ts';

const PIECE_BYTES = 64 * 1024;

const SEND_THE_LIST = 'Send the list itself as .xlsx or CSV.';
const UNPACK = 'Unpack it first.';

/** The beginnings of files that are not CSV, as Latin-1, what the error says they are, and what to do. */
const SIGNATURES: readonly (readonly [start: string, what: string, advice?: string])[] = [
  ['PK\x05\x06', 'an empty ZIP archive', SEND_THE_LIST],
  [
    '\xd0\xcf\x11\xe0',
    'an old Excel workbook, or one with a password',
    `${SAVE_AS_TABLE} A workbook with a password cannot be read.`,
  ],
  ['%PDF', 'a PDF document'],
  ['\x89PNG', 'a PNG image', SEND_THE_LIST],
  ['\xff\xd8\xff', 'a JPEG image', SEND_THE_LIST],
  ['GIF8', 'a GIF image', SEND_THE_LIST],
  ['\x1f\x8b', 'a gzip archive', UNPACK],
  ['\x28\xb5\x2f\xfd', 'a Zstandard archive', UNPACK],
  ['7z\xbc\xaf', 'a 7-Zip archive', UNPACK],
  ['{\\rtf', 'a rich text document'],
];

/** Texts that are not CSV, though some programs call them .xls or .csv. A CSV may begin with `ID;P` as SYLK does. */
const OTHER_TEXTS: readonly (readonly [beginning: RegExp, what: string])[] = [
  [/^\s*(?:<[!?a-z]|\{|\[\s*["{[\]])/i, 'HTML, XML or JSON, which some programs call .xls or .csv'],
  [/^ID;P[^;\r\n]*(?:;[NE])*[\r\n]+(?:[BCFOPW]|NN|NU);[A-Z]/, 'a spreadsheet in the format SYLK'],
  [/^TABLE\r?\n0,1\r?\n"/, 'a spreadsheet in the format DIF'],
  [/^MIME-Version:/i, 'a web page in a single file'],
];

/** Ctrl-Z, with which programs of DOS end or fill up a file. */
const END_OF_FILE = /(?<!\cZ)\cZ+$/;

const BINARY_DATA = 'binary data (it has NUL bytes)';
const MARK_UTF_16 = 'UTF-16 text needs a byte order mark; if it is such text, save it as "CSV UTF-8".';

/** The UTF-8, UTF-16 or Windows-1252 text of a file, with `\n` as its only line break, in pieces that depend on it alone. */
export async function* decodeText(input: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string, void> {
  let decode: Decode | undefined;
  let heldReturn = '';
  for await (const { bytes, last } of equalPieces(limitPieces(input, maxBytes))) {
    const first = decode === undefined;
    decode ??= openDecoder(bytes);
    const text = heldReturn + decode(bytes, last);
    if (text.includes('\0')) throw notCsv(BINARY_DATA, MARK_UTF_16);
    const other = first && OTHER_TEXTS.find(([beginning]) => beginning.test(text));
    if (other) throw notCsv(other[1]);
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
  if (other) throw notCsv(other[1], other[2]);
  const marked = MARKS.find(([mark]) => head.startsWith(mark));
  return marked ? asMarked(marked[1]) : asGuessed();
}

/** Joined files have byte order marks in the middle. */
function unified(text: string): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  return lines.includes('\ufeff') ? lines.replaceAll('\ufeff', '') : lines;
}

const notCsv = (what: string, advice = SAVE_AS_TABLE) =>
  notTable(`The uploaded file is not CSV text: it is ${what}. ${advice}`);
const notEncoded = (encoding: string) => notCsv(encoding, 'Save it as "CSV UTF-8".');

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
      throw notEncoded(`no valid ${encoding.toUpperCase()} text`);
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
    if (BINARY.test(whole.toString('latin1'))) throw notEncoded('neither UTF-8 nor Windows-1252');
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
