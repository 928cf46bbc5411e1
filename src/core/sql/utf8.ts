const FIRST_BYTES = 2048;

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

  get written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}
