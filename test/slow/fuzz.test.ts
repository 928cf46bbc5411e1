// 5,000 random requests.
import { expect, test } from 'vitest';
import { fuzz } from '../fuzz/fuzz.ts';
import { startGateway } from '../support/gateway.ts';

/** A fixed seed repeats the requests, so that a harmless change passes; `npm run fuzz` tries others. */
const { FUZZ_CASES = '5000', FUZZ_SEED = '1' } = process.env;
const MS_PER_CASE = 100;

const gateway = await startGateway({ settings: { CONTRACTS_AUTH: 'required' } });

test(`random requests get documented errors, and change no other company: ${FUZZ_CASES} with seed ${FUZZ_SEED}`, {
  timeout: Number(FUZZ_CASES) * MS_PER_CASE,
  retry: 0,
}, async () => {
  const { tried, statuses, failures } = await fuzz(gateway, { cases: Number(FUZZ_CASES), seed: Number(FUZZ_SEED) });
  console.log(`${tried} requests, seed ${FUZZ_SEED}, by status: ${JSON.stringify(statuses)}`);
  expect(failures).toEqual([]);
  expect(tried).toBeGreaterThanOrEqual(Number(FUZZ_CASES));
});
