// Manufacturers that take 1 to 20 s, and a broken brand. Takes over five minutes.
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import type { Client, Json } from '../support/client.ts';
import { databaseEnv } from '../support/database.ts';
import { addVehicles, createFleet, newVin, newVins, uploadForm } from '../support/factories.ts';
import { askingAt, spawnGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { type Behaviour, eligible, json, slow, UpstreamServer, vinOf } from '../support/upstream.ts';

/** On a server several processes share the work; the embedded database has one process. */
const shared = inject('database').kind === 'postgresql';
const issuer = await testIssuer();
const spare = await Promise.all(Array.from({ length: 22 }, databaseEnv));

interface World {
  upstream: UpstreamServer;
  as(company: string): Client;
}

/** Starts gateways with their own database and upstream. */
async function start(processes: number, settings: NodeJS.ProcessEnv, answer: Behaviour): Promise<World> {
  const env = spare.pop();
  if (!env) throw new Error('more databases are needed');
  const upstream = await UpstreamServer.start();
  onTestFinished(() => upstream.close());
  upstream.always('eligibility', answer);
  const gateways = await Promise.all(
    Array.from({ length: processes }, () => spawnGateway({ ...env, ...askingAt(upstream), ...settings }, { issuer })),
  );
  return {
    upstream,
    as: (company) => gateways[0]?.as(company) as Client,
  };
}

const asked = ({ upstream }: World) =>
  upstream.received.filter(({ endpoint }) => endpoint === 'eligibility').map((one) => vinOf(one));

/** The number of vehicles of acme's fleet with this status. */
async function countOf(world: World, fleetId: string, status: string): Promise<number> {
  const query = `{ fleet(id: "${fleetId}") { eligibilitySummary { ${status} } } }`;
  // Each request has a new token: one would expire during the longest tests.
  return (await world.as('acme').post('/graphql', { query })).body.data.fleet.eligibilitySummary[status];
}

/** The number of attempts that the vehicles of acme's fleet report. */
async function attemptsOf(world: World, fleetId: string): Promise<number> {
  const query = `{ fleet(id: "${fleetId}") { vehicles(first: 1000) { nodes { eligibility { attempts } } } } }`;
  const { nodes } = (await world.as('acme').post('/graphql', { query })).body.data.fleet.vehicles;
  return nodes.reduce((sum: number, { eligibility }: Json) => sum + eligibility.attempts, 0);
}

/** Adds 700 vehicles; returns the rate of calls as a share of the provider's ceiling. */
async function shareOfCeiling(latency: number, concurrency: number, processes: number, timeout: number) {
  const settings = { PROVIDER_CONCURRENCY: String(concurrency), PROVIDER_TIMEOUT_SECONDS: String(timeout) };
  const times: number[] = [];
  const world = await start(processes, settings, (response, received) => {
    times.push(performance.now());
    return slow(latency * 1000, eligible())(response, received);
  });
  const client = world.as('acme');
  const { id } = await createFleet(client);
  const vins = newVins(700);
  const ideal = (vins.length * latency) / (concurrency * processes);
  await client.post('/vehicles', { fleetId: id, vins });
  await until(
    async () => ((await countOf(world, id, 'eligible')) === vins.length ? true : null),
    ideal * 2_000 + 20_000,
  );
  const requests = asked(world);
  expect(new Set(requests).size).toBe(vins.length);
  // Under load a call may time out. Every other answer was stored: no claim ended before its call.
  expect(requests.length).toBe(await attemptsOf(world, id));
  expect(requests.length).toBeLessThan(vins.length * 1.05);
  return ideal / (((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000 + latency);
}

/** A twentieth of 1, 3, 6 and 20 s; time-outs and claims are shorter, too: 12 s instead of 120. */
const latencies = [0.05, 0.15, 0.3, 1];

describe('a slow provider: 700 vehicles are answered once each, at 80 % of the ceiling', () => {
  for (const processes of shared ? [1, 3] : [1]) {
    for (const concurrency of [2, 16]) {
      // Many concurrent calls get a longer latency, so that the run is long enough to measure.
      const times = concurrency * processes > 16 ? 3 : 1;
      const scaled = latencies.map((latency) => Math.round(latency * times * 100) / 100);
      const name = `${scaled.join(', ')} s, ${concurrency} at a time, ${processes} process(es)`;
      test(name, { timeout: 900_000 }, async () => {
        const shares = await Promise.all(
          scaled.map((latency) => shareOfCeiling(latency, concurrency, processes, 3 * times)),
        );
        // Many parallel runs are slow themselves: runs of a few seconds are not measured.
        const measured = shares.filter((_, at) => (700 * (scaled[at] ?? 0)) / (concurrency * processes) > 30);
        expect(measured).not.toEqual([]);
        expect(Math.min(...measured), `shares of the ceiling: ${shares}`).toBeGreaterThan(0.8);
      });
    }
  }

  test('6 s, 16 at a time, one process, with claims of normal length', { timeout: 900_000 }, async () => {
    expect(await shareOfCeiling(6, 16, 1, 30)).toBeGreaterThan(0.8);
  });
});

test('one broken brand: other brands of its provider are answered at 95 % of their rate', {
  timeout: 300_000,
}, async () => {
  const isBroken = (vin: string) => vin.startsWith('VF1');
  /** Seconds between the first and the last call about another brand. */
  const world = async (others: string[]) => {
    const times: number[] = [];
    const answer: Behaviour = (response, received) => {
      if (isBroken(vinOf(received))) return json(500, {})(response, received);
      times.push(performance.now());
      return eligible()(response, received);
    };
    const world = await start(1, {}, slow(150, answer));
    const client = world.as('acme');
    const { id } = await createFleet(client);
    const vins = newVins(2_000);
    await client.post('/vehicles', { fleetId: id, vins: [...others, ...vins] });
    await until(async () => ((await countOf(world, id, 'eligible')) === vins.length ? true : null), 200_000);
    return { seconds: ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000, asked: asked(world) };
  };
  // Both run in parallel, so that other load affects both alike. Vehicles of the broken brand come due first.
  const [alone, beside] = await Promise.all([world([]), world(Array.from({ length: 3_000 }, () => newVin(0, 'VF1')))]);
  expect(alone.seconds / beside.seconds).toBeGreaterThan(0.95);
  expect(beside.asked.filter(isBroken).length).toBeLessThan(40);
});

describe('another company’s single vehicle is answered soon', () => {
  /** Seconds from adding a vehicle to its answer. */
  const secondsOf = async (client: Client): Promise<number> => {
    const vin = newVin();
    const { id } = await createFleet(client);
    const begin = performance.now();
    await addVehicles(client, [vin], { id });
    await until(async () => {
      const { status } = await client.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=30' });
      return status === 200 ? true : null;
    });
    return (performance.now() - begin) / 1000;
  };
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
  const fiveOf = async (world: World, name: string) => {
    const seconds: number[] = [];
    for (let at = 0; at < 5; at++) seconds.push(await secondsOf(world.as(`${name}-${at}`)));
    return seconds;
  };

  test('beside 150,000 due vehicles of a brand that is held back: in twice its time alone, on average', {
    timeout: 200_000,
  }, async () => {
    const isBroken = (vin: string) => vin.startsWith('VF1');
    const world = await start(1, {}, (response, received) =>
      (isBroken(vinOf(received)) ? json(500, {}) : slow(100, eligible()))(response, received),
    );
    const alone = median(await fiveOf(world, 'before'));
    const client = world.as('acme');
    const { id } = await createFleet(client);
    const file = uploadForm(id, newVins(150_000, 0, 'VF1').join('\n'));
    expect((await client.send('POST', '/vehicles/file', file)).status).toBe(201);
    const beside: number[] = [];
    for (let at = 0; at < 4; at++) beside.push(...(await fiveOf(world, `beside-${at}`)));
    expect(beside.reduce((sum, seconds) => sum + seconds) / beside.length).toBeLessThan(2 * alone);
  });

  test.each([
    ['all alike', 2, 500, 500],
    ['all alike', 16, 500, 500],
    ['its own are much slower', 16, 10_000, 300],
  ])(
    'beside 5,000 due vehicles within three times its time alone: %s, %i at a time, its own take %i ms, the other %i ms',
    { timeout: 200_000 },
    async (_name, concurrency, slowMs, ms) => {
      const answer: Behaviour = (response, received) =>
        slow(vinOf(received).endsWith('8') ? slowMs : ms, eligible())(response, received);
      const world = await start(1, { PROVIDER_CONCURRENCY: String(concurrency) }, answer);
      const alone = median(await fiveOf(world, 'before'));
      const client = world.as('acme');
      const { id } = await createFleet(client);
      await client.post('/vehicles', { fleetId: id, vins: newVins(5_000, 8) });
      await until(() => (asked(world).filter((vin) => vin.endsWith('8')).length >= concurrency * 0.9 ? true : null));
      expect(Math.max(...(await fiveOf(world, 'beside')))).toBeLessThan(3 * alone);
      expect(await countOf(world, id, 'pending')).toBeGreaterThan(1_000);
    },
  );
});
