import { expect, test } from 'vitest';
import { Breaker, openBreakers } from '../../../src/manufacturers/breaker.ts';
import { ProviderError } from '../../../src/manufacturers/provider.ts';

test('the pause of a breaker doubles with every failed probe, up to a minute, and is reset by an answer', () => {
  let now = 1_000_000;
  const breaker = new Breaker({ breakAfter: 3, probeAfterMs: 7_000, clock: () => now });
  const fail = () => breaker.failed('TIMEOUT', breaker.enter());
  /** How long the breaker stays open after a failed call. */
  const pause = () => {
    const from = now;
    const { until } = breaker.hold() ?? { until: from };
    now = until - 1;
    expect(breaker.hold()).not.toBeNull();
    now = until;
    expect(breaker.hold()).toBeNull();
    return until - from;
  };
  for (let round = 0; round < 2; round++) {
    for (let errors = 0; errors < 2; errors++) {
      fail();
      expect(breaker.hold()).toBeNull();
    }
    const pauses = Array.from({ length: 6 }, () => {
      fail();
      return pause();
    });
    expect(pauses).toEqual([7_000, 14_000, 28_000, 56_000, 60_000, 60_000]);
    breaker.enter();
    breaker.answered();
  }
});

test('a probe without a result neither doubles the pause nor closes the breaker', () => {
  let now = 1_000_000;
  const breaker = new Breaker({ breakAfter: 1, probeAfterMs: 7_000, clock: () => now });
  breaker.failed('TIMEOUT', breaker.enter());
  now += 7_000;
  breaker.inconclusive(breaker.enter());
  expect([breaker.hold(), breaker.state.breaker]).toEqual([null, 'OPEN']);
  const probe = breaker.enter();
  // Other calls wait as long as after a failed probe.
  expect(breaker.hold()).toMatchObject({ until: now + 7_000 });
  breaker.failed('TIMEOUT', probe);
  expect(breaker.hold()).toMatchObject({ until: now + 14_000 });
});

test('a clock that is set back does not lengthen a break', () => {
  let now = 1_000_000_000;
  const breaker = new Breaker({ breakAfter: 1, probeAfterMs: 7_000, clock: () => now });
  breaker.failed('TIMEOUT', breaker.enter());
  expect(breaker.hold()).not.toBeNull();
  now -= 3_600_000;
  expect([breaker.hold(), breaker.state.probeAt]).toEqual([null, null]);
  breaker.failed('TIMEOUT', breaker.enter());
  expect(breaker.hold()).toMatchObject({ until: now + 14_000 });
});

test('while a probe is under way, others wait for a minute at most, however long a break was named', () => {
  let now = 1_000_000;
  const breaker = new Breaker({ breakAfter: 3, probeAfterMs: 2_000, clock: () => now });
  breaker.failed('BUSY', breaker.enter(), 3_600);
  now += 3_600_000;
  breaker.enter();
  expect(breaker.hold()).toMatchObject({ until: now + 60_000 });
});

test('a break that an answer names for a brand is none of its provider, whose probe it was', async () => {
  let now = 1_000_000;
  const { hold, watch } = openBreakers({ breakAfter: 1, probeAfterMs: 2_000, clock: () => now });
  const fail = (error: ProviderError) => watch('bmw', () => Promise.reject(error)).catch(() => {});
  await fail(new ProviderError('TIMEOUT', { concerns: 'PROVIDER' }));
  now += 2_000;
  await fail(new ProviderError('BUSY', { concerns: 'BRAND', retryAfter: 3_600 }));
  expect(hold('audi')?.seconds).toBe(4);
});
