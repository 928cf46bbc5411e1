import { expect, test, vi } from 'vitest';
import { cleared, outcomeOf, served, startWorld } from './support/activation-world.ts';
import { DAY, HOUR, MINUTE } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { contractFields, createFleet } from './support/factories.ts';
import { hasDocuments, unlessMissing } from './support/published.ts';
import { renewals } from './support/renewals.ts';
import { Told } from './support/told.ts';
import type { Fault, Term } from './support/wishes.ts';

/** Time passes by the world's clock. What only waits (orders have a pace, events are gathered) waits no longer than it must. */
vi.mock('node:timers/promises', async (original) => {
  const timers = await original<typeof import('node:timers/promises')>();
  const setTimeout = (ms?: number, ...rest: []) =>
    timers.setTimeout(rest.length > 0 ? ms : Math.min(ms ?? 1, 1), ...rest);
  return { ...timers, setTimeout };
});

/** Random operations; more by night: `ACTIVATION_OPERATIONS=20000 ACTIVATION_SEED=2 npx vitest run test/activation-model.test.ts`. */
const OPERATIONS = Number(process.env.ACTIVATION_OPERATIONS ?? 300);
const SEED = Number(process.env.ACTIVATION_SEED ?? 1);
/** Vehicles whose contracts are renewed at one instant. */
const MANY = Number(process.env.ACTIVATION_VEHICLES ?? (OPERATIONS > 5000 ? 1000 : 60));
/** Operations between a renewal and its end. */
const EVERY = Math.max(30, MANY / 2);
/** Work that comes due sooner than this is done together. */
const LEAST_MS = 20_000;

const { upstream, manufacturers, wishes, clock, random, below, oneOf, passTime, ...world } = await startWorld(SEED);
const { programsOf, isGone } = world;
const told = new Told({ wishes, programsOf, outcomeOf, isGone });
const vins = [...cleared, ...served];
const companies = ['first', 'second'];
/** Companies whose many contracts begin and end at the same time. */
const large = ['third', 'fourth'];
const all = [...companies, ...large];
const time = (ms: number) => new Date(clock() + ms).toISOString();

const fleets = new Map<string, string[]>();
for (const company of companies) {
  const client = await world.one().as(company);
  fleets.set(company, [(await createFleet(client)).id, (await createFleet(client)).id]);
}

const vehiclesOf = async (client: Client): Promise<Json[]> => (await client.get('/vehicles')).body;
async function contractsOf(company: string): Promise<Json[]> {
  const client = await world.one().as(company);
  return (await client.get(`/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}`)).body;
}
const ofCompany = (company: string) => [...wishes.terms.values()].filter((one) => one.company === company);

type Doing = (company: string, client: Client) => Promise<unknown>;
/** Does something about one of the company's contracts, if it has any. */
const aboutContract =
  (name: string, act: (client: Client, one: Term) => Promise<unknown>): Doing =>
  async (company, client) => {
    const one = oneOf(ofCompany(company).filter(({ to }) => to > clock() - 3 * HOUR));
    if (!one) return;
    wishes.note(one.vin, `${company}: ${name} of ${one.id}`);
    await act(client, one);
  };

const renewMany = renewals({ ...world, wishes, clock, oneOf, companies: large, count: MANY });
const operations: Doing[] = [
  (company, client) =>
    client.post('/vehicles', { fleetId: oneOf(fleets.get(company) ?? []), vins: [oneOf(vins), oneOf(vins)] }),
  ...Array.from(
    { length: 3 },
    (): Doing => async (company, client) => {
      const vehicle = oneOf(await vehiclesOf(client));
      if (!vehicle) return;
      const from = oneOf([-MINUTE, 0, 30 * MINUTE, 90 * MINUTE]);
      const period = { from: time(from), to: time(from + oneOf([MINUTE * 2, 90 * MINUTE, 2 * DAY])) };
      wishes.touch(vehicle.vin, `${company}: a new contract`);
      await client.post('/contracts', contractFields(vehicle, { ...period, pack: oneOf([...'abcdef']) }));
    },
  ),
  // A contract that goes on after another one, with a gap or without.
  ...Array.from({ length: 3 }, () =>
    aboutContract('a successor', async (client, { vin, pack, to }) => {
      const vehicle = (await vehiclesOf(client)).find((one) => one.vin === vin);
      const from = to + oneOf([0, 1000, 50 * MINUTE, 70 * MINUTE]);
      const period = { from: new Date(from).toISOString(), to: new Date(from + 3 * HOUR).toISOString() };
      wishes.touch(vin, 'a successor');
      if (vehicle) await client.post('/contracts', contractFields(vehicle, { ...period, pack }));
    }),
  ),
  aboutContract('deletion', (client, { id }) => client.delete(`/contracts/${id}`)),
  aboutContract('the end now', (client, { id }) => client.post(`/contracts/${id}/end`)),
  // What the end did may come after what the new contract asked for.
  ...Array.from({ length: 2 }, () =>
    aboutContract('the end now, and a new contract', async (client, { id, vin, pack }) => {
      const vehicle = (await vehiclesOf(client)).find((one) => one.vin === vin);
      await client.post(`/contracts/${id}/end`);
      await world.one().work();
      wishes.touch(vin, 'a new contract after the end');
      const period = { from: time(0), to: time(2 * DAY) };
      if (vehicle) await client.post('/contracts', contractFields(vehicle, { ...period, pack }));
    }),
  ),
  aboutContract('a refresh', (client, { id, vin }) => {
    wishes.touch(vin, 'asked again');
    return client.post(`/contracts/${id}/activation/refresh`);
  }),
  aboutContract('another end', (client, { id }) =>
    client.patch(`/contracts/${id}`, { to: time(oneOf([MINUTE, 20 * MINUTE, 3 * HOUR, 2 * DAY])) }),
  ),
  async (company, client) => {
    const vehicle = oneOf(await vehiclesOf(client));
    if (!vehicle || random() < 0.5) return;
    wishes.note(vehicle.vin, `${company}: deletion of the vehicle`);
    await client.delete(`/vehicles/${vehicle.id}`);
  },
  async (company, client) => {
    const vehicle = oneOf(await vehiclesOf(client));
    if (vehicle) await client.post('/vehicles/move', { fleetId: oneOf(fleets.get(company) ?? []), ids: [vehicle.id] });
  },
  async (company, client) => {
    if (random() > 0.1) return;
    const own = fleets.get(company) ?? [];
    for (const vin of vins) wishes.note(vin, `${company}: deletion of a fleet`);
    await client.delete(`/fleets/${own[0]}`);
    fleets.set(company, [...own.slice(1), (await createFleet(client)).id]);
  },
  async () => {
    if (random() < 0.5) return;
    const program = oneOf([...wishes.programs.keys()].filter((one) => vins.includes(one.slice(0, 17))));
    if (program) manufacturers.revoke(program);
  },
  async () => random() < 0.2 && manufacturers.forget(oneOf(served)),
  async () => {
    const vin = oneOf(cleared);
    wishes.note(vin, 'a webhook');
    for (let n = below(3); n >= 0; n--) await world.deliverWebhook(vin, `${below(20)}`);
  },
  async () => random() < 0.2 && world.changeSettings(),
];

const cursors = new Map<string, string>();
const TYPES = ['activated', 'rejected', 'failed', 'deactivated'].map((type) => `contract.${type}`).join();

let step = 0;
/** When the work of the step began. */
let started = clock();

/** What was ordered to end was not needed before, and is not now. */
function checkEnds(before: Iterable<Term>): void {
  const kept = [...before].filter(({ id, to }) => wishes.terms.get(id)?.to === to);
  const byVin = Map.groupBy(kept, ({ vin }) => vin);
  for (const { program, at } of manufacturers.takeEnds())
    if (wishes.needs(program, started + HOUR, at, byVin.get(program.slice(0, 17)) ?? []))
      manufacturers.wrongOrders.push(wishes.faultOf(program, 'was ordered to end, and a contract needs it'));
}

/** Reads the contracts of companies after they may have changed them. */
async function readContracts(of: readonly string[]): Promise<Json[]> {
  const contracts = (await Promise.all(of.map(contractsOf))).flat();
  const before = wishes.terms;
  const term = ({ id, company, vin, pack, from, to }: Json): Term => ({
    ...{ id, company, vin, pack, from: Date.parse(from), to: Date.parse(to) },
  });
  wishes.set(of, contracts.map(term));
  checkEnds(before.values());
  wishes.tick();
  return contracts;
}

/** Reads what people are told of contracts; `at`: all that was due by then has been done. */
async function readTold(of: readonly string[], at: number): Promise<void> {
  const contracts = await readContracts(of);
  for (const company of of) {
    const client = await world.one().as(company);
    for (let isMore = true; isMore; ) {
      const after = cursors.get(company);
      const { body } = await client.get(`/events?type=${TYPES}&limit=250${after ? `&after=${after}` : ''}`);
      for (const event of body) told.event(event);
      if (body.length > 0) cursors.set(company, body.at(-1).id);
      isMore = body.length === 250;
    }
  }
  for (const one of contracts) told.state(one, clock(), at);
}

/** What must hold at any moment; `at`: all that was due by then has been done. */
async function check(at: number): Promise<void> {
  const faults = [...wishes.faults(at), ...told.faults, ...manufacturers.wrongOrders];
  const excess = wishes.excess();
  if (faults.length + excess.length === 0) return;
  const rows = await world.base.execute<{ vin: string; program: string }>('select * from activation');
  const known = new Set(rows.map(({ vin, program }) => `${vin} ${program}`));
  for (const program of excess) if (!known.has(program)) faults.push(wishes.faultOf(program, 'is known to no row'));
  if (faults.length === 0) return;
  const [{ program, text }] = faults as [Fault];
  const own = rows.filter(({ vin }) => program.startsWith(vin)).map((row) => JSON.stringify(row));
  expect.fail(
    `seed ${SEED}, step ${step}, ${OPERATIONS} operations: ${text}\n${[...own, wishes.historyOf(program)].join('\n')}`,
  );
}

/** Lets time pass, and does what comes due when it does, or soon after. */
async function pass(ms: number): Promise<void> {
  const end = clock() + ms;
  const least = Math.max(LEAST_MS, ms / 20);
  for (let due = clock(); ; ) {
    const now = clock();
    const next = Math.max(Math.min(due, manufacturers.nextChange(), wishes.nextChange(now)), now + least);
    passTime(Math.max(0, Math.min(next, end) - now) + 1);
    await manufacturers.carryOut();
    wishes.tick();
    started = clock();
    due = await world.one().work();
    checkEnds(wishes.terms.values());
    wishes.tick();
    await check(started - 2 * least);
    if (clock() >= end) break;
  }
  const at = started - 2 * least;
  await readTold(step % 10 === 0 ? all : companies, at);
  if (step % 10 === 0) told.ends(at);
  await check(at);
}

/** Deletes contracts that have been over for long. */
async function tidy(company: string): Promise<void> {
  const ids = ofCompany(company).flatMap(({ id, to }) => (to < clock() - 2 * DAY ? id : []));
  if (ids.length === 0) return;
  await (await world.one().as(company)).delete('/contracts', { ids });
  await readContracts([company]);
}

test(
  `manufacturers have what contracts in force need at every step of ${OPERATIONS} operations${unlessMissing}`,
  async () => {
    for (let n = 0; n < OPERATIONS; ) {
      step = world.nextStep();
      if (random() < 0.1) manufacturers.isStormy = random() < 0.4;
      for (let left = Math.min(1 + below(4), OPERATIONS - n); left > 0; left--, n++) {
        const company = oneOf(companies);
        const doing = oneOf(operations);
        const act = async () => (n % EVERY === 20 ? renewMany() : doing(company, await world.one().as(company)));
        started = clock();
        // Two processes work while the company does something, or nobody does.
        if (random() < 0.2) await Promise.all([act(), world.one().work(), world.one().work()]);
        else await act();
        await readContracts(n % EVERY === 20 ? all : [company]);
        if (n % 50 === 0) await tidy(company);
      }
      await pass(oneOf([0, 1000, 10_000, MINUTE, MINUTE, 5 * MINUTE, 20 * MINUTE, 2 * HOUR, 7 * HOUR]));
      if (hasDocuments) expect(upstream.faults).toEqual([]);
      upstream.received.length = 0;
    }
    manufacturers.isStormy = false;
    for (let n = 0; n < 10; n++) await pass(7 * HOUR);
  },
  OPERATIONS * 2000 + 120_000,
);
