import { afterAll, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { activateContracts } from '../src/jobs/activate-contracts.ts';
import type { Tools } from '../src/jobs/job.ts';
import { publish } from '../src/jobs/publish-events.ts';
import { HighMobility } from '../src/manufacturers/high-mobility.ts';
import { manufacturersOf } from '../src/manufacturers/registry.ts';
import { startClearances } from './support/clearance.ts';
import type { Client, Json } from './support/client.ts';
import { contractFields, createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

/** Random operations; more by night: `ACTIVATION_OPERATIONS=20000 npx vitest run test/activation-model.test.ts`. */
const OPERATIONS = Number(process.env.ACTIVATION_OPERATIONS ?? 300);
const SEED = Number(process.env.ACTIVATION_SEED ?? 1);

/** A small generator of numbers from 0 to 1, the same for each seed (mulberry32). */
function randomOf(seed: number) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const random = randomOf(SEED);
const below = (count: number) => Math.floor(random() * count);
const oneOf = <T>(all: readonly T[]): T => all[below(all.length)] as T;

/** Two companies have the same vehicles; a VIN that ends with 7 is rejected. */
const vins = Array.from({ length: 8 }, (_, n) => `WBA000000000000${n}${n % 4 === 3 ? 7 : 0}`);
const isRejected = (vin: string) => vin.endsWith('7');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let aheadMs = 0;
const clock = () => Date.now() + aheadMs;
let faulty = true;
const clearances = await startClearances({
  clock,
  decide: (vin) => ({ status: isRejected(vin) ? 'rejected' : 'approved', afterMs: below(4) * 20 * MINUTE }),
  fault() {
    if (!faulty || random() > 0.25) return null;
    return oneOf([
      'CUT',
      [503],
      [429, {}, { 'retry-after': '0' }],
      [500, 'no JSON'],
      [422, { errors: [] }],
    ] as const) as never;
  },
});
afterAll(() => clearances.close());
const provider = new HighMobility({
  url: clearances.url,
  clientId: 'client',
  clientSecret: 'secret',
  brands: [],
  clock,
  breakAfter: 1_000_000,
});
const gateway = await startGateway({
  manufacturers: manufacturersOf([provider]),
  settings: { CONTRACTS_ACTIVATION: 'on', CONTRACTS_AUTH: 'required' },
});
const tools: Tools = {
  open: () => contextOf(gateway.services, 'job', null),
  onError: (error) => expect.fail(String(error)),
  withBackoff: (step) => step(),
};
const jobs = [publish(tools), activateContracts(tools)];
const going = new AbortController().signal;

function passTime(ms: number): void {
  aheadMs += ms;
  gateway.passTime(ms);
}

async function work(): Promise<void> {
  for (const job of jobs) await job.run(going);
}

const companies = ['first', 'second'];
const clients = new Map<string, Client>();
const fleets = new Map<string, string[]>();
for (const company of companies) {
  const client = await gateway.as(company);
  clients.set(company, client);
  fleets.set(company, [(await createFleet(client)).id, (await createFleet(client)).id]);
}

const time = (ms: number) => new Date(clock() + ms).toISOString();

async function vehiclesOf(client: Client): Promise<Json[]> {
  return (await client.get('/vehicles')).body;
}
const contractsOf = async (company: string): Promise<Json[]> =>
  (await clients.get(company)?.get(`/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}`))?.body;

/** One change by a company; refusals are no matter. */
const operations: ((company: string, client: Client) => Promise<unknown>)[] = [
  (company, client) =>
    client.post('/vehicles', { fleetId: oneOf(fleets.get(company) ?? []), vins: [oneOf(vins), oneOf(vins)] }),
  async (_company, client) => {
    const vehicle = oneOf(await vehiclesOf(client));
    const from = oneOf([-MINUTE, 0, 30 * MINUTE]);
    const period = { from: time(from), to: time(from + oneOf([MINUTE * 2, 90 * MINUTE, 2 * DAY])) };
    if (vehicle) await client.post('/contracts', contractFields(vehicle, { ...period, pack: oneOf(['a', 'b']) }));
  },
  async (_company, client) => {
    const [one] = await vehiclesOf(client);
    if (!one) return;
    const period = { from: time(-MINUTE), to: time(DAY) };
    const { vin: _, ...terms } = contractFields(one, { ...period, pack: 'c' });
    await client.post('/contracts/bulk', { ...terms, vins: vins.slice(below(4), 4 + below(4)) });
  },
  async (company, client) => {
    const contract = oneOf(await contractsOf(company));
    if (contract) await client.delete(`/contracts/${contract.id}`);
  },
  async (company, client) => {
    const contract = oneOf(await contractsOf(company));
    if (contract) await client.post(`/contracts/${contract.id}/activation/refresh`, undefined);
  },
  async (_company, client) => {
    const vehicle = oneOf(await vehiclesOf(client));
    if (vehicle && random() < 0.5) await client.delete(`/vehicles/${vehicle.id}`);
  },
  async (company, client) => {
    const vehicle = oneOf(await vehiclesOf(client));
    if (vehicle) await client.post('/vehicles/move', { fleetId: oneOf(fleets.get(company) ?? []), ids: [vehicle.id] });
  },
  async (company, client) => {
    if (random() > 0.1) return;
    const own = fleets.get(company) ?? [];
    await client.delete(`/fleets/${own[0]}`);
    fleets.set(company, [...own.slice(1), (await createFleet(client)).id]);
  },
  async () => passTime(oneOf([1000, MINUTE, 20 * MINUTE, 3 * 60 * MINUTE])),
  work,
  work,
];

test(`what the manufacturer has is what the contracts in force say, after ${OPERATIONS} operations`, async () => {
  for (let n = 0; n < OPERATIONS; n++) {
    const company = oneOf(companies);
    await oneOf(operations)(company, clients.get(company) as Client);
  }
  faulty = false;
  // Longer than the longest wait: six hours between looks, and a day until a pending clearance can be cancelled.
  for (let hours = 0; hours < 60; hours += 7) {
    await work();
    passTime(7 * 60 * MINUTE);
  }
  await work();
  const contracts = (await Promise.all(companies.map(contractsOf))).flat();
  const isInForce = ({ from, to }: Json) => Date.parse(from) <= clock() && clock() < Date.parse(to);
  const wanted = new Set(contracts.filter(isInForce).map(({ vin }: Json) => vin));
  for (const vin of vins) {
    const status = clearances.statusOf(vin);
    if (wanted.has(vin)) expect([vin, status]).toEqual([vin, isRejected(vin) ? 'rejected' : 'approved']);
    else expect([vin, ['approved', 'pending'].includes(status ?? '')]).toEqual([vin, false]);
  }
  for (const contract of contracts) {
    const ended = clock() >= Date.parse(contract.to);
    const state = ended
      ? 'ENDED'
      : isInForce(contract)
        ? isRejected(contract.vin)
          ? 'REJECTED'
          : 'ACTIVE'
        : 'SCHEDULED';
    expect([contract.id, contract.activation.state]).toEqual([contract.id, state]);
  }
  const left = await gateway.execute<{ vin: string }>('select distinct vin from activation');
  expect(left.map(({ vin }) => vin).filter((vin) => !wanted.has(vin))).toEqual([]);
});
