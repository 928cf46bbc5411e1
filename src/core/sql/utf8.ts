const FIRST_BYTES = 2048;
const MOST_KEPT = 4 * 1024 * 1024;

/**
 * Text in UTF-8, in a string that has a character for each byte. The engine collects strings with its other young objects,
 * but Buffers only with everything that is old: of answers of some 100 kB that took as long as to make them.
 */
export class Utf8Text {
  readonly latin1: string;

  constructor(latin1: string) {
    this.latin1 = latin1;
  }

  static of(text: string): Utf8Text {
    const isAscii = Buffer.byteLength(text) === text.length;
    return new Utf8Text(isAscii ? text : Buffer.from(text).toString('latin1'));
  }

  toString(): string {
    return Buffer.from(this.latin1, 'latin1').toString();
  }
}

/** Text in UTF-8 that is being written. Whoever writes has made room before. */
export class Utf8 {
  bytes: Buffer = Buffer.allocUnsafe(FIRST_BYTES);
  length = 0;

  /** Makes room for `more` bytes; where there was none, for as many as are expected in all. */
  reserve(more: number, expected: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.length + more, expected, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  byte(code: number): void {
    this.bytes[this.length++] = code;
  }

  /** Byte by byte, which for some dozens takes less than asking for a copy. */
  copy(from: Buffer, start: number, end: number): void {
    const { bytes } = this;
    let at = this.length;
    for (let one = start; one < end; one++) bytes[at++] = from[one] as number;
    this.length = at;
  }

  text(text: string): void {
    this.length += this.bytes.write(text, this.length);
  }

  get written(): Utf8Text {
    return new Utf8Text(this.bytes.toString('latin1', 0, this.length));
  }

  /** Begins again in the same memory, unless that has become large. */
  clear(): void {
    this.length = 0;
    if (this.bytes.length > MOST_KEPT) this.bytes = Buffer.allocUnsafe(FIRST_BYTES);
  }
}
