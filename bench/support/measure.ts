import { readFileSync, writeFileSync } from 'node:fs';
import { childrenOf } from '../../test/support/postgres-server.ts';

const CLOCK_TICKS = 100;

/** The value that this part of all is not above; NaN of none. */
export const quantile = (numbers: readonly number[], part: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.min(Math.floor(numbers.length * part), numbers.length - 1)] ?? Number.NaN;

export const median = (numbers: readonly number[]): number => quantile(numbers, 0.5);

/** CPU time of a process so far, in microseconds (Linux). */
export function cpuMicroseconds(pid: number): number {
  const [user = 0, system = 0] =
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? [];
  return ((user + system) * 1_000_000) / CLOCK_TICKS;
}

/** CPU time of a PostgreSQL server so far, of all its processes that still run, in microseconds (Linux). */
export function serverMicroseconds(data: string): number {
  const pid = postmasterOf(data);
  return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + cpuOrZero(one), 0);
}

/** The process that all others of a server with this data directory come from. */
export const postmasterOf = (data: string): number =>
  Number(readFileSync(`${data}/postmaster.pid`, 'utf8').split('\n')[0]);

/** The same of one that may be gone. */
export function cpuOrZero(pid: number): number {
  try {
    return cpuMicroseconds(pid);
  } catch {
    return 0;
  }
}

/** Memory of a process in MB: the most it has held since it began, or what it holds now (Linux). */
export function megabytes(pid: number, which: 'VmHWM' | 'VmRSS'): number {
  const [, kilobytes] = new RegExp(`${which}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/** Has VmHWM begin again at what the process holds now. */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

/**
 * Measures each of several in turn, `rounds` times after once for warming up, forwards and backwards by turns, so that a
 * machine that slows down slows all alike. Gives the samples of each, by round.
 */
export async function inTurns<One, Sample>(
  ones: readonly One[],
  rounds: number,
  measure: (one: One, round: number) => Promise<Sample>,
): Promise<Map<One, Sample[]>> {
  const samples = new Map(ones.map((one) => [one, [] as Sample[]]));
  for (let round = 0; round <= rounds; round++) {
    for (const one of round % 2 === 0 ? ones : ones.toReversed()) {
      const sample = await measure(one, round);
      if (round > 0) samples.get(one)?.push(sample);
    }
  }
  return samples;
}

/** The median of the ratios within rounds. */
export const medianRatio = (numbers: readonly number[], base: readonly number[]): number =>
  median(numbers.map((number, round) => number / (base[round] ?? Number.NaN)));

/** A table for Markdown; the first column to the left, figures to the right. */
export function printTable(columns: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = columns.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, at) => `${'-'.repeat(width + 1)}${at === 0 ? '-' : ':'}`).join('|')}|`;
  console.log([line(columns), rule, ...rows.map(line)].join('\n'));
}

/** With so many significant digits as figures of a shared machine deserve: 12,345, 123, 12.3. */
export const figure = (number: number): string =>
  Number.isNaN(number) ? '' : number >= 100 ? Math.round(number).toLocaleString('en') : number.toFixed(1);
