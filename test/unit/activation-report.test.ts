import { expect, test } from 'vitest';
import { goneLines, startLines } from '../../src/core/activation/activation-report.ts';

type Report = Parameters<typeof startLines>[0];

const program = { provider: 'mercedes', wanted: true, due: 0 };
const plan = { programs: [], provider: null, manufacturer: 'bmw', pack: 'basic', ended: [], asked: [''] };
const needed = { provider: 'high-mobility' } as Report['plan'][number]['needed'];

const reportOf = (count: number): Report => ({
  plan: [{ ...plan, needed, contracts: count, vehicles: count }],
  programs: [
    { ...program, state: 'ACTIVE', programs: count },
    { ...program, state: 'PENDING', programs: 1 },
  ],
  left: [],
  gone: ['mercedes'],
});

test.each([
  { count: 1, contracts: '1 contract', active: '1 program ACTIVE' },
  { count: 2, contracts: '2 contracts', active: '2 programs ACTIVE' },
])('sentences of the start have the number of their nouns: $count', ({ count, contracts, active }) => {
  const report = reportOf(count);
  expect(startLines(report, true).info[0]).toBe(
    `CONTRACTS_ACTIVATION is on. Carried out at manufacturers now: ${contracts} in force.`,
  );
  expect(startLines(report, false).info[0]).toBe(
    `CONTRACTS_ACTIVATION is off: nothing is asked or ended. What stays: ${active} and 1 program PENDING.`,
  );
  expect(goneLines(report)).toEqual([
    `mercedes has no settings any more, and is told of nothing; it has ${active} and 1 program PENDING. Set it again, or end them on its page.`,
  ]);
});
