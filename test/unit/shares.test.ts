import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Shares } from '../../src/jobs/shares.ts';

const SLOTS = 128;

/** Takes whatever there is room for. */
function fill(shares: Shares, party: string, cautious = false): number {
  let taken = 0;
  for (let room = shares.room(party, { cautious }); room > 0; room = shares.room(party, { cautious })) {
    for (let index = 0; index < room; index++) shares.take(party);
    taken += room;
  }
  return taken;
}

test('Who is alone gets half, a cautious one a little', () => {
  expect(fill(new Shares(SLOTS), 'a')).toBe(64);
  expect(fill(new Shares(SLOTS), 'a', true)).toBe(12);
});

test('Whoever comes finds something free, however many have taken all they may', () => {
  const shares = new Shares(SLOTS);
  const taken = Array.from({ length: 60 }, (_, index) => fill(shares, `${index}`));
  expect(Math.min(...taken)).toBeGreaterThan(0);
});

test('Cautious parties, however many, leave a quarter to the others', () => {
  const shares = new Shares(SLOTS);
  for (let index = 0; index < 1000; index++) fill(shares, `${index}`, true);
  expect(shares.free).toBe(32);
  expect(fill(shares, 'sound')).toBe(16);
});

test('No more are taken than there are, and all come back', () => {
  const step = fc.record({ party: fc.nat(20), cautious: fc.boolean(), gives: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const shares = new Shares(SLOTS);
      const held: string[] = [];
      for (const { party, cautious, gives } of steps) {
        const name = `${party}`;
        if (gives) for (const one of held.splice(0, 10)) shares.giveBack(one);
        const room = shares.room(name, { cautious });
        expect(room).toBeLessThanOrEqual(shares.free);
        expect(room > 0 || cautious || held.includes(name) || shares.free === 0).toBe(true);
        for (let index = 0; index < room; index++) shares.take(name);
        held.push(...Array(room).fill(name));
      }
      for (const one of held) shares.giveBack(one);
      expect(shares.free).toBe(SLOTS);
    }),
  );
});

test('Parties come in turn: who took some last comes last', () => {
  const shares = new Shares(SLOTS);
  const parties = ['a', 'b', 'c'];
  shares.take('a');
  shares.take('b');
  expect(shares.inTurn(parties, String)).toEqual(['c', 'a', 'b']);
  shares.take('a');
  expect(shares.inTurn(parties, String)).toEqual(['c', 'b', 'a']);
});
