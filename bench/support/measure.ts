import { readFileSync, writeFileSync } from 'node:fs';
import { childrenOf } from '../../test/support/postgres-server.ts';

const CLOCK_TICKS = 100;

/** The quantile `part` of the numbers; NaN if there are none. */
export const quantile = (numbers: readonly number[], part: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.min(Math.floor(numbers.length * part), numbers.length - 1)] ?? Number.NaN;

export const median = (numbers: readonly number[]): number => quantile(numbers, 0.5);

/** CPU time of a process in microseconds (Linux). */
export const cpuMicroseconds = (pid: number): number => ticksOf(pid, 11, 13);

/** CPU time of a PostgreSQL server in microseconds, with that of connections which have ended (Linux). */
export function serverMicroseconds(data: string): number {
  const pid = postmasterOf(data);
  return childrenOf(pid).reduce((sum, one) => sum + cpuOrZero(one), ticksOf(pid, 11, 15));
}

/** The sum of some fields of a process's `stat` behind its name: utime, stime, and those of children that have ended. */
function ticksOf(pid: number, from: number, to: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(from, to) ?? [];
  return (fields.reduce((sum, ticks) => sum + Number(ticks), 0) * 1_000_000) / CLOCK_TICKS;
}

/** The id of the main process of the PostgreSQL server with this data directory. */
export const postmasterOf = (data: string): number =>
  Number(readFileSync(`${data}/postmaster.pid`, 'utf8').split('\n')[0]);

/** CPU time of a process, or 0 if it has ended. */
export function cpuOrZero(pid: number): number {
  try {
    return cpuMicroseconds(pid);
  } catch {
    return 0;
  }
}

/** Memory of a process in MB: its peak (VmHWM) or present size (VmRSS) (Linux). */
export function megabytes(pid: number, which: 'VmHWM' | 'VmRSS'): number {
  const [, kilobytes] = new RegExp(`${which}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/** Resets VmHWM to the present size. */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

/**
 * Measures each of `ones` once for warming up and `rounds` times in turn, in alternating order, so that a machine that
 * slows down affects all alike. Returns the samples of each, by round.
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

/** Prints a Markdown table; the first column is left-aligned, the others are right-aligned. */
export function printTable(columns: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = columns.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, at) => `${'-'.repeat(width + 1)}${at === 0 ? '-' : ':'}`).join('|')}|`;
  console.log([line(columns), rule, ...rows.map(line)].join('\n'));
}

/** Formats a figure with the digits that are meaningful on a shared machine: 12,345, 123, 12.3. */
export const figure = (number: number): string =>
  Number.isNaN(number) ? '' : number >= 100 ? Math.round(number).toLocaleString('en') : number.toFixed(1);
