import { isAscii, isUtf8 } from 'node:buffer';

/** Decodes the pieces of one file in their order, `last` with the one that ends it. Throws NoText. */
export type Decode = (piece: Buffer, last: boolean) => string;

/** Bytes that are not text; the message says what they are, to follow "it is". */
export class NoText extends Error {}

/** Control characters that no text holds, and the bytes for which Windows-1252 has no character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const BINARY = /[\0-\x08\x0e-\x19\x1b-\x1f\x7f\x81\x8d\x8f\x90\x9d]/;
const MARKS: readonly (readonly [mark: string, encoding: string])[] = [
  ['\xef\xbb\xbf', 'utf-8'],
  ['\xff\xfe', 'utf-16le'],
  ['\xfe\xff', 'utf-16be'],
];

/** How a file is to be decoded that begins with these bytes: as its byte order mark says, or as its bytes turn out. */
export function decoderFor(start: Buffer): Decode {
  const head = start.toString('latin1', 0, 3);
  const marked = MARKS.find(([mark]) => head.startsWith(mark));
  return marked ? asMarked(marked[1]) : asFound();
}

function asMarked(encoding: string): Decode {
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (piece, last) => {
    try {
      return decoder.decode(piece, { stream: !last });
    } catch {
      throw new NoText(`no valid ${encoding.toUpperCase()} text. Save it as "CSV UTF-8"`);
    }
  };
}

/**
 * UTF-8 as long as the bytes are, and Windows-1252, which Excel writes as "CSV", from the piece on in which they first are
 * not. A long file that has shown itself to be UTF-8 before is so again behind such a piece.
 */
function asFound(): Decode {
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
    if (BINARY.test(whole.toString('latin1')))
      throw new NoText('neither UTF-8 nor Windows-1252. Save it as "CSV UTF-8"');
    return windows.decode(whole);
  };
}

/** How many of the bytes there are before a character of UTF-8 that goes on behind them. */
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
