import type { Utf8 } from './utf8.ts';

const DAY_MS = 86_400_000;
const [ZERO, COLON, POINT, Z] = ['0', ':', '.', 'Z'].map((one) => one.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
];

let lastDay = Number.NaN;
let lastDate = Buffer.alloc(0);

/**
 * Writes milliseconds since 1970 as ISO 8601 UTC. Lists have thousands of times, most of them of a few days: this takes a
 * tenth of what Date takes.
 */
export function writeIso(out: Utf8, ms: number): void {
  const day = Math.floor(ms / DAY_MS);
  if (day !== lastDay) {
    lastDay = day;
    lastDate = Buffer.from(new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length));
  }
  out.copy(lastDate, 0, lastDate.length);
  // Small enough for the engine's quick division.
  const time = (ms - day * DAY_MS) | 0;
  const seconds = (time / 1000) | 0;
  const minutes = (seconds / 60) | 0;
  const rest = time % 1000;
  const { bytes } = out;
  let at = out.length;
  at = two(bytes, at, (minutes / 60) | 0, COLON);
  at = two(bytes, at, minutes % 60, COLON);
  at = two(bytes, at, seconds % 60, POINT);
  bytes[at++] = ZERO + ((rest / 100) | 0);
  out.length = two(bytes, at, rest % 100, Z);
}

function two(bytes: Buffer, at: number, number: number, behind: number): number {
  const tens = (number / 10) | 0;
  bytes[at] = ZERO + tens;
  bytes[at + 1] = ZERO + number - tens * 10;
  bytes[at + 2] = behind;
  return at + 3;
}
