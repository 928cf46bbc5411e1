import { expect, test, vi } from 'vitest';
import { activateContracts } from '../src/jobs/activate-contracts.ts';
import { HOUR, MINUTE, startActivations, toolsOf } from './support/activations.ts';
import { addVehicles, newVins } from './support/factories.ts';
import { hasDocuments } from './support/published.ts';
import { type Behaviour, carriedOut, json, type Received } from './support/upstream.ts';

// Many programs that end at once, at manufacturers that take long for each answer.

/** Orders have a pace. */
vi.mock('node:timers/promises', async (original) =>
  (await import('./support/short-waits.ts')).shortWaits(await original()),
);

/** Two seconds for each answer, two questions at a time: looks at all vehicles take most of the time of a claim. */
const AT_ONCE = 2;
const MANY = 100;
/** By which an answer moves the clock of two manufacturers that work at the same time. */
const ANSWER_MS = 2000 / AT_ONCE / 2;

const { gateway, upstream, passTime, time } = await startActivations({
  packs: { basic: ['1001'] },
  concurrency: AT_ONCE,
});
const tools = toolsOf(gateway);
const job = activateContracts(tools);
const acme = await gateway.as('acme');

/** The vehicles that a request has end. */
function endedBy({ endpoint, path, body }: Received): string[] {
  if (endpoint === 'clearance-end') return [path.split('/').at(-1) ?? ''];
  return endpoint === 'services' ? JSON.parse(body).map(({ vin }: { vin: string }) => vin) : [];
}

/** What manufacturers say when they begin to end programs. */
const taken = ({ endpoint, path }: Received): Behaviour =>
  endpoint === 'services' ? json(202, undefined) : json(200, { vin: path.split('/').at(-1), status: 'revoking' });

test('at least half of what is asked for while many programs end are orders, though looks take long and first orders are lost', async () => {
  const vins = ['WBA', 'W1K'].flatMap((wmi) => newVins(MANY, 0, wmi));
  const [{ fleetId } = {}] = await addVehicles(acme, vins);
  const terms = { fleetId, name: 'n', description: 'd', pack: 'basic', from: time(-1000), to: time(HOUR) };
  expect((await acme.post('/contracts/bulk', { ...terms, vins })).body).toMatchObject({ rejected: [] });
  const isOn = (vin: string) =>
    ['approved', 'ACTIVE'].includes(upstream.clearanceOf(vin)?.status ?? upstream.serviceOf(vin, '1001')?.status ?? '');
  const going = new AbortController();
  await job.run(going.signal);
  expect(vins.filter(isOn)).toEqual(vins);

  passTime(2 * HOUR);
  const ordered = new Set<string>();
  let [orders, looks] = [0, 0];
  upstream.behaves = (received) => {
    const ended = endedBy(received);
    orders += ended.length;
    if (/list|status/.test(received.endpoint)) looks += 1;
    if (looks > 5 * vins.length) going.abort();
    const isLost = ended.some((vin) => !ordered.has(vin));
    for (const vin of ended) ordered.add(vin);
    passTime(ANSWER_MS);
    return async (...answering) => {
      // Else its claims would end after 20 seconds.
      await tools.claims.run();
      await (isLost ? taken(received) : carriedOut(async () => {}))(...answering);
    };
  };
  while (vins.some(isOn) && !going.signal.aborted) {
    await job.run(going.signal);
    passTime(MINUTE);
  }
  expect(vins.filter(isOn)).toEqual([]);
  expect(orders).toBeGreaterThanOrEqual(looks);
  if (hasDocuments) expect(upstream.faults).toEqual([]);
});
