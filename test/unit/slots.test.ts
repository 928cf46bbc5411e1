import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Slots } from '../../src/fairness/slots.ts';

/** Starts calls and ends them by position, in the order in which they started. */
function calls(slots: Slots) {
  const underWay: { company: string; end: () => void }[] = [];
  return {
    underWay,
    ask(company: string, times = 1): void {
      for (let time = 0; time < times; time++) {
        const { promise, resolve } = Promise.withResolvers<void>();
        void slots.run(company, () => {
          underWay.push({ company, end: resolve });
          return promise;
        });
      }
    },
    async end(at = 0): Promise<void> {
      underWay.splice(at, 1)[0]?.end();
      await new Promise((resolve) => setImmediate(resolve));
    },
    of: (company: string) => underWay.filter((one) => one.company === company).length,
    settle: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

describe('places for calls', () => {
  test('are limited; a company gets all but one in sixteen, and another company its first at once', async () => {
    const slots = new Slots(16);
    const { ask, of, settle, underWay } = calls(slots);
    ask('acme', 3000);
    await settle();
    expect(of('acme')).toBe(15);
    ask('globex');
    await settle();
    expect([of('acme'), of('globex')]).toEqual([15, 1]);
    ask('initech');
    await settle();
    expect(underWay).toHaveLength(16);
  });

  test('if there are few, none is reserved; the next free place goes to a company without one', async () => {
    const slots = new Slots(2);
    const { ask, end, of, settle } = calls(slots);
    ask('acme', 5000);
    await settle();
    expect(of('acme')).toBe(2);
    ask('globex');
    await end();
    expect([of('acme'), of('globex')]).toEqual([1, 1]);
  });

  test('are shared evenly between waiting companies, and every call gets one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.nat(1000)),
        async (capacity, wanted, choices) => {
          const slots = new Slots(capacity);
          const { ask, end, of, settle, underWay } = calls(slots);
          const names = wanted.map((_, at) => `company-${at}`);
          const left = new Map(names.map((name, at) => [name, wanted[at] ?? 0]));
          for (const [at, name] of names.entries()) ask(name, wanted[at]);
          await settle();
          while (underWay.length > 0) {
            expect(underWay.length).toBeLessThanOrEqual(capacity);
            const at = (choices.next().value ?? 0) % underWay.length;
            const name = underWay[at]?.company ?? '';
            left.set(name, (left.get(name) ?? 0) - 1);
            const before = underWay.length;
            await end(at);
            const started = underWay.length === before ? underWay.at(-1)?.company : undefined;
            // The company that just started a call had at most as many calls as every waiting company.
            for (const other of started ? names : []) {
              if ((left.get(other) ?? 0) > of(other)) expect(of(other)).toBeGreaterThanOrEqual(of(started ?? '') - 1);
            }
          }
          expect([...left.values()].every((count) => count === 0)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('calls that start within a moment are queued: more if calls are quick, none if they are slow', async () => {
    const slow = new Slots(16);
    slow.took(6_000);
    expect(slow.room('acme')).toBe(15);
    const quick = new Slots(16);
    quick.took(20);
    expect(quick.room('acme')).toBe(15 + 200);
    const { ask, settle } = calls(quick);
    ask('acme', 215);
    await settle();
    expect([quick.room('acme'), quick.room('globex')]).toEqual([0, 1]);
    expect(quick.canTakeMore).toBe(false);
  });
});
