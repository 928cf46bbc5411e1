import { afterEach, expect, test, vi } from 'vitest';
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

const AT_ONCE = 2;
const MANY = 100;

const { gateway, upstream, passTime, time } = await startActivations({
  packs: { basic: ['1001'] },
  concurrency: AT_ONCE,
});
const tools = toolsOf(gateway);
const acme = await gateway.as('acme');

afterEach(() => {
  upstream.behaves = () => null;
  if (hasDocuments) expect(upstream.faults).toEqual([]);
});

const isOn = (vin: string) =>
  ['approved', 'ACTIVE'].includes(upstream.clearanceOf(vin)?.status ?? upstream.serviceOf(vin, '1001')?.status ?? '');

/** Vehicles whose contracts are active, and over in an hour. */
async function activeVehicles(...wmis: string[]): Promise<string[]> {
  const vins = wmis.flatMap((wmi) => newVins(MANY, 0, wmi));
  const [{ fleetId } = {}] = await addVehicles(acme, vins);
  const terms = { fleetId, name: 'n', description: 'd', pack: 'basic', from: time(-1000), to: time(HOUR) };
  expect((await acme.post('/contracts/bulk', { ...terms, vins })).body).toMatchObject({ rejected: [] });
  // A start carries out what is in force.
  await activateContracts(tools).run(new AbortController().signal);
  expect(vins.filter(isOn)).toEqual(vins);
  return vins;
}

/** The vehicles that a request has end. */
function endedBy({ endpoint, path, body }: Received): string[] {
  if (endpoint === 'clearance-end') return [path.split('/').at(-1) ?? ''];
  return endpoint === 'services' ? JSON.parse(body).map(({ vin }: { vin: string }) => vin) : [];
}

const isLook = ({ endpoint }: Received): boolean => /list|status/.test(endpoint);

/** What manufacturers say when they begin to end programs. */
const taken = ({ endpoint, path }: Received): Behaviour =>
  endpoint === 'services' ? json(202, undefined) : json(200, { vin: path.split('/').at(-1), status: 'revoking' });

/**
 * Has manufacturers end what is over, though they lose the first order of each end, and each answer moves the clock; `hear` hears of each
 * request, and of the vehicles that it ends. Gives up after five looks at each vehicle.
 */
async function endAll(vins: readonly string[], answerMs: number, hear: (ended: string[], received: Received) => void) {
  passTime(2 * HOUR);
  const going = new AbortController();
  const job = activateContracts(tools);
  const ordered = new Set<string>();
  let looks = 0;
  upstream.behaves = (received) => {
    const ended = endedBy(received);
    hear(ended, received);
    if (isLook(received)) looks += 1;
    if (looks > 5 * vins.length) going.abort();
    const isLost = ended.some((vin) => !ordered.has(vin));
    for (const vin of ended) ordered.add(vin);
    passTime(answerMs);
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
  return { looks };
}

test('at least half of what is asked for while many programs end are orders, though looks take long and first orders are lost', async () => {
  const vins = await activeVehicles('WBA', 'W1K');
  let orders = 0;
  // Two seconds for each answer, of two manufacturers that work at the same time.
  const { looks } = await endAll(vins, 2000 / AT_ONCE / 2, (ended) => {
    orders += ended.length;
  });
  expect(orders).toBeGreaterThanOrEqual(looks);
});

test('what a look finds on is ordered before the next look, though looks at all vehicles take longer than a claim', async () => {
  const vins = new Set(await activeVehicles('W1K'));
  const found = new Set<string>();
  const again: string[] = [];
  await endAll([...vins], 4000 / AT_ONCE, (ended, received) => {
    for (const vin of ended) found.delete(vin);
    const [vin = ''] = isLook(received) ? received.path.split('/').slice(-2) : [];
    if (!vins.has(vin) || !isOn(vin)) return;
    if (found.has(vin)) again.push(vin);
    found.add(vin);
  });
  expect(again).toEqual([]);
});
