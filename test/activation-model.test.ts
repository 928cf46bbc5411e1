import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, startActivations } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { contractFields, createFleet } from './support/factories.ts';
import { hasDocuments, unlessMissing } from './support/published.ts';
import { randomOf } from './support/random.ts';
import {
  type Behaviour,
  carriedOut,
  carriedOutUnanswered,
  json,
  type Received,
  silence,
  text,
} from './support/upstream.ts';

/** Random operations; more by night: `ACTIVATION_OPERATIONS=20000 npx vitest run test/activation-model.test.ts`. */
const OPERATIONS = Number(process.env.ACTIVATION_OPERATIONS ?? 300);
const SEED = Number(process.env.ACTIVATION_SEED ?? 1);

const random = randomOf(SEED);
const below = (count: number) => Math.floor(random() * count);
const oneOf = <T>(all: readonly T[]): T => all[below(all.length)] as T;

/** Two companies have the same vehicles. High Mobility rejects a VIN that ends with 7. */
const cleared = Array.from({ length: 6 }, (_, n) => `WBA000000000000${n}${n % 4 === 3 ? 7 : 0}`);
const BLACKLISTED = 'W1K2130041A000004';
const NO_VIN_THERE = 'W1K2130041A00005X';
const served = [...[0, 1, 2].map((n) => `W1K2130041A00000${n}`), BLACKLISTED, NO_VIN_THERE];
const vins = [...cleared, ...served];
/** Services of Mercedes-Benz: what becomes of each. Another consent than the account's is needed for 1000. */
const services = {
  1001: 'ACTIVE',
  1002: 'ACTIVE',
  2001: 'REJECTED',
  2002: 'UNAVAILABLE',
  3001: 'FAILED',
  1000: 'FAILED',
};
type ServiceId = keyof typeof services;
const packs: Record<string, string[]> = {
  a: ['1001', '1002'],
  b: ['1002'],
  c: ['1001', '2001'],
  d: ['2002', '3001'],
  e: ['1000', '1001'],
};

let faulty = true;
// No answer within so many ms of the real clock is none.
const { gateway, upstream, clock, time, passTime, work, workFor } = await startActivations({
  packs,
  breakAfter: 1_000_000,
  timeoutMs: 500,
  patienceMs: 0,
});
upstream.endsAfterMs = MINUTE;
upstream.blacklist.add(BLACKLISTED);
upstream.expired.add('3001');
upstream.decide = (vin) => ({ status: vin.endsWith('7') ? 'rejected' : 'approved', afterMs: below(4) * 20 * MINUTE });
upstream.serves = (_, id) => {
  const outcome = services[Number(id) as ServiceId];
  if (outcome === 'UNAVAILABLE') return { status: 'NOT_AVAILABLE', afterMs: 0 };
  return { status: outcome === 'ACTIVE' ? 'ACTIVE' : 'ACTIVATION_FAILED', afterMs: below(4) * 20 * MINUTE };
};

const twice: Behaviour = async (response, received) => {
  await received.carryOut();
  await carriedOut(async () => {})(response, received);
};
/** Longer than a claim lasts. */
const late: Behaviour = (response, received) => {
  passTime(5 * MINUTE);
  return carriedOut(async () => {})(response, received);
};
/** An answer of another protocol, or of a server in between. */
const wrong: readonly Behaviour[] = [
  json(200, {}),
  json(200, [{ vin: cleared[0], status: 'unheard of' }]),
  json(202, { vehicles: [] }),
  json(400, { title: 'Bad request' }),
  json(401, {}),
  json(403, {}),
  json(422, { errors: [] }),
  text(404, '<h1>Not found</h1>'),
  text(200, '<h1>Welcome</h1>'),
];
const missing: readonly Behaviour[] = [
  carriedOutUnanswered,
  json(503, {}),
  json(429, {}, { 'retry-after': '0' }),
  json(429, {}, { 'retry-after': '600' }),
  json(429, {}),
  text(500, 'no JSON'),
];
upstream.behaves = ({ endpoint }: Received) => {
  if (!faulty || random() > (endpoint === 'token' ? 0.05 : 0.25)) return null;
  if (random() < 0.01) return silence;
  return oneOf([twice, late, oneOf(wrong), oneOf(missing), oneOf(missing)]);
};

const companies = ['first', 'second'];
const clients = new Map<string, Client>();
const fleets = new Map<string, string[]>();
for (const company of companies) {
  const client = await gateway.as(company);
  clients.set(company, client);
  fleets.set(company, [(await createFleet(client)).id, (await createFleet(client)).id]);
}

const vehiclesOf = async (client: Client): Promise<Json[]> => (await client.get('/vehicles')).body;
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
    if (vehicle) await client.post('/contracts', contractFields(vehicle, { ...period, pack: oneOf([...'abcdef']) }));
  },
  async (_company, client) => {
    const [one] = await vehiclesOf(client);
    if (!one) return;
    const period = { from: time(-MINUTE), to: time(DAY) };
    const { vin: _, ...terms } = contractFields(one, { ...period, pack: oneOf([...'abc']) });
    const first = below(vins.length - 4);
    await client.post('/contracts/bulk', { ...terms, vins: vins.slice(first, first + 4) });
  },
  async (company, client) => {
    const contract = oneOf(await contractsOf(company));
    if (contract) await client.delete(`/contracts/${contract.id}`);
  },
  async (company, client) => {
    const contract = oneOf(await contractsOf(company));
    if (contract) await client.post(`/contracts/${contract.id}/activation/refresh`, undefined);
  },
  async (company, client) => {
    const contract = oneOf(await contractsOf(company));
    const to = time(oneOf([MINUTE, 20 * MINUTE, 3 * HOUR, 2 * DAY]));
    if (contract) await client.patch(`/contracts/${contract.id}`, { to });
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
  // A manufacturer ends something by itself.
  async () => {
    if (random() > 0.2) return;
    const [vin, one] = [oneOf(served), upstream.clearanceOf(oneOf(cleared))];
    if (one?.status === 'approved') Object.assign(one, { status: 'revoked', next: null });
    if (!upstream.account.delete(vin)) return;
    for (const id of Object.keys(services)) upstream.services.delete(`${vin} ${id}`);
  },
  async () => passTime(oneOf([1000, MINUTE, 20 * MINUTE, 3 * HOUR])),
  work,
  work,
];

/** Programs that are active, or about to be, at the manufacturers. */
function programsThere(): string[] {
  const on = (status?: string) => ['approved', 'pending', 'ACTIVE', 'ACTIVATION_PENDING'].includes(status ?? '');
  return [
    ...cleared.filter((vin) => on(upstream.clearanceOf(vin)?.status)).map((vin) => `${vin} `),
    ...served
      .flatMap((vin) => Object.keys(services).map((id) => `${vin} ${id}`))
      .filter((program) => {
        const [vin = '', id = ''] = program.split(' ');
        return on(upstream.serviceOf(vin, id)?.status);
      }),
  ];
}

const isCleared = (vin: string) => cleared.includes(vin);
const programsOf = ({ vin, pack }: Json): string[] =>
  (isCleared(vin) ? [''] : (packs[pack] ?? [])).map((program) => `${vin} ${program}`);
/** The state to which a program comes that is wanted. */
function outcomeOf(program: string): string {
  const [vin = '', id] = program.split(' ');
  if (isCleared(vin)) return vin.endsWith('7') ? 'REJECTED' : 'ACTIVE';
  if (vin === BLACKLISTED) return 'REJECTED';
  if (vin === NO_VIN_THERE) return 'FAILED';
  const outcome = services[Number(id) as ServiceId];
  return outcome === 'UNAVAILABLE' ? 'REJECTED' : outcome;
}
const isInForce = ({ from, to }: Json) => Date.parse(from) <= clock() && clock() < Date.parse(to);

/** Programs that were seen to be active. */
const everActive = new Set<string>();

/** What must hold at any moment. */
async function check(): Promise<void> {
  const there = programsThere();
  for (const program of there) everActive.add(program);
  const rows = await gateway.execute<{ program: string }>(
    `select distinct vin || ' ' || program as program from activation`,
  );
  const known = new Set(rows.map(({ program }) => program));
  expect(
    there.filter((program) => !known.has(program)),
    'nothing is forgotten',
  ).toEqual([]);
  for (const contract of (await Promise.all(companies.map(contractsOf))).flat())
    if (contract.activation.state === 'ACTIVE')
      expect(
        programsOf(contract).filter((program) => !everActive.has(program)),
        'never active before it is',
      ).toEqual([]);
  if (hasDocuments) expect(upstream.faults).toEqual([]);
  upstream.received.length = 0;
}

test(
  `what manufacturers have is what the contracts in force say, after ${OPERATIONS} operations${unlessMissing}`,
  async () => {
    for (let n = 0; n < OPERATIONS; n++) {
      const company = oneOf(companies);
      await oneOf(operations)(company, clients.get(company) as Client);
      await check();
    }
    faulty = false;
    // Longer than the longest wait: six hours between looks, and a day until a pending clearance can be cancelled.
    await workFor(63 * HOUR, 7 * HOUR);
    await check();
    const contracts = (await Promise.all(companies.map(contractsOf))).flat();
    const wanted = new Set(contracts.filter(isInForce).flatMap(programsOf));
    const active = [...wanted].filter((program) => outcomeOf(program) === 'ACTIVE');
    expect(programsThere().toSorted()).toEqual(active.toSorted());
    for (const contract of contracts) {
      const states = programsOf(contract).map(outcomeOf);
      const worst = ['REJECTED', 'FAILED', 'ACTIVE'].find((state) => states.includes(state)) ?? 'UNSUPPORTED';
      const ended = clock() >= Date.parse(contract.to);
      const state = ended ? 'ENDED' : isInForce(contract) ? worst : 'SCHEDULED';
      expect([contract.id, contract.activation.state]).toEqual([contract.id, state]);
    }
    // What ended is looked at for a day, and forgotten then.
    const left = await gateway.execute<{ program: string }>(
      `select distinct vin || ' ' || program as program from activation
        where wanted or state <> 'ENDED' or due_at is null or looks > 3`,
    );
    expect(left.map(({ program }) => program).filter((program) => !wanted.has(program))).toEqual([]);
  },
  OPERATIONS * 200 + 120_000,
);
