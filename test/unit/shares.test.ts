import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openFairness } from '../../src/fairness/places.ts';
import { type PlacePolicy, SharedPlaces } from '../../src/fairness/shares.ts';

const PLACES = { capacity: 160, reserve: 40 };
const sound: PlacePolicy = { leaves: 1, reserved: true };
const cautious: PlacePolicy = { leaves: 7, reserved: false };

/** Takes a place; the returned function releases it. */
function take(shares: SharedPlaces, holder: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  void shares.run(holder, () => promise);
  return resolve;
}

/** Takes all places that the holder may have. */
function fill(shares: SharedPlaces, holder: string, policy = sound): number {
  let taken = 0;
  for (let room = shares.room(holder, policy); room > 0; room = shares.room(holder, policy)) {
    for (let index = 0; index < room; index++) take(shares, holder);
    taken += room;
  }
  return taken;
}

test('a single holder gets half of the unreserved places, a cautious one fewer', () => {
  expect(fill(new SharedPlaces(PLACES), 'a')).toBe(60);
  expect(fill(new SharedPlaces(PLACES), 'a', cautious)).toBe(15);
});

test('a holder without a place always finds one', () => {
  const shares = new SharedPlaces(PLACES);
  const taken = Array.from({ length: 40 }, (_, index) => fill(shares, `${index}`));
  expect(Math.min(...taken)).toBe(1);
});

test('one company leaves two of the connections to companies without any', () => {
  const { places } = openFairness();
  const taken = (holder: string, count: number) =>
    Array.from({ length: count }, () => places.take(holder, Infinity)).filter(Boolean).length;
  expect([taken('a', 20), taken('b', 1), taken('c', 1), taken('d', 1)]).toEqual([6, 1, 1, 0]);
});

test('any number of cautious holders leave a quarter to others', () => {
  const shares = new SharedPlaces(PLACES);
  for (let index = 0; index < 1000; index++) fill(shares, `${index}`, cautious);
  expect(shares.free).toBe(40);
  for (let index = 0; index < 40; index++) expect(fill(shares, `sound ${index}`)).toBe(1);
});

test('the number of places is never exceeded, and all are returned', async () => {
  const step = fc.record({ holder: fc.nat(20), cautious: fc.boolean(), gives: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 300 }), async (steps) => {
      const shares = new SharedPlaces(PLACES);
      const ends: (() => void)[] = [];
      const returned = () => new Promise((resolve) => setImmediate(resolve));
      for (const { holder, cautious: careful, gives } of steps) {
        const name = `${holder}`;
        if (gives) {
          for (const end of ends.splice(0, 10)) end();
          await returned();
        }
        const held = shares.held(name);
        const room = shares.room(name, careful ? cautious : sound);
        expect(room).toBeLessThanOrEqual(shares.free);
        expect(room > 0 || careful || held > 0 || shares.free === 0).toBe(true);
        for (let index = 0; index < room; index++) ends.push(take(shares, name));
        expect(shares.held(name)).toBe(held + room);
      }
      for (const end of ends) end();
      await returned();
      expect(shares.free).toBe(PLACES.capacity);
    }),
  );
});

test('holders come in turn: the one with the fewest places first, then the one that was served longest ago', () => {
  const shares = new SharedPlaces(PLACES);
  const holders = ['a', 'b', 'c'];
  take(shares, 'a');
  take(shares, 'b');
  expect(shares.inTurn(holders, String)).toEqual(['c', 'a', 'b']);
  take(shares, 'a');
  expect(shares.inTurn(holders, String)).toEqual(['c', 'b', 'a']);
});

test('a holder with one place waits for its own work, and no other holder waits for it', async () => {
  const shares = new SharedPlaces({ most: 1 });
  const begun: string[] = [];
  const work = (name: string) => () => {
    begun.push(name);
    return Promise.withResolvers<void>().promise;
  };
  const leave = take(shares, 'a');
  void shares.run('a', work('a'));
  void shares.run('b', work('b'));
  await expect.poll(() => begun).toEqual(['b']);
  leave();
  await expect.poll(() => begun).toEqual(['b', 'a']);
});
