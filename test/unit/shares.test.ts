import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Shares } from '../../src/jobs/shares.ts';

const SLOTS = 160;

/** Takes whatever there is room for. */
function fill(shares: Shares, party: string, cautious = false): number {
  let taken = 0;
  for (let room = shares.room(party, { cautious }); room > 0; room = shares.room(party, { cautious })) {
    for (let index = 0; index < room; index++) shares.take(party);
    taken += room;
  }
  return taken;
}

test('Who is alone gets half of what is not kept, a cautious one less', () => {
  expect(fill(new Shares(SLOTS), 'a')).toBe(60);
  expect(fill(new Shares(SLOTS), 'a', true)).toBe(15);
});

test('Whoever comes finds something free, however much the ones before have taken and keep', () => {
  const shares = new Shares(SLOTS);
  const taken = Array.from({ length: 40 }, (_, index) => fill(shares, `${index}`));
  expect(Math.min(...taken)).toBe(1);
});

test('Cautious parties, however many, leave a quarter to the others', () => {
  const shares = new Shares(SLOTS);
  for (let index = 0; index < 1000; index++) fill(shares, `${index}`, true);
  expect(shares.free).toBe(40);
  for (let index = 0; index < 40; index++) expect(fill(shares, `sound ${index}`)).toBe(1);
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
