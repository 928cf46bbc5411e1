// The event log agrees with the rows, beside concurrent requests to two processes.
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import type { Answer, Json } from '../support/client.ts';
import {
  addVehicles,
  contractFields,
  createContract,
  createFleet,
  newVin,
  newVins,
  uploadForm,
} from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { scheduleAll } from '../support/schedule.ts';
import { stagger, until } from '../support/until.ts';

const { kind } = inject('database');
const settings = { LIMIT_UPLOADS: '100' };
const one = await startGateway({ workers: true, settings });
const two = await startGateway({ workers: true, settings, on: one });
const clients = [await one.as('acme'), await two.as('acme')] as const;
const [acme] = clients;

// Slows statements down, so that other statements run in between. The embedded database has a single connection.
if (kind === 'postgresql') {
  await one.execute(`create function dawdle() returns trigger language plpgsql as $$
    begin perform pg_sleep(random() * random() * 0.03); return null; end $$`);
  const moments = ['before insert on event', 'after delete on contract', 'after update on contract'];
  for (const [index, moment] of [...moments, 'before insert on contract', 'after update on import'].entries()) {
    await one.execute(`create trigger dawdle_${index} ${moment} for each statement execute function dawdle()`);
  }
}

/** A fleet of three vehicles, of which the first two have a contract. */
interface World {
  fleet: Json;
  vehicles: Json[];
  contracts: Json[];
}

/** Acts on a world; `which` selects a vehicle, 0 to 2, or its contract. */
const acts = {
  deleteFleet: ({ fleet }, client) => client.delete(`/fleets/${fleet.id}`),
  deleteVehicle: ({ vehicles }, client, which) => client.delete(`/vehicles/${vehicles[which].id}`),
  deleteVehicles: ({ fleet, vehicles }, client) =>
    client.post('/vehicles/delete', { fleetId: fleet.id, vins: vehicles.map(({ vin }) => vin) }),
  deleteContract: ({ contracts }, client, which) => client.delete(`/contracts/${contracts[which % 2].id}`),
  createContract: ({ vehicles }, client, which) =>
    client.post('/contracts', contractFields(vehicles[which], { pack: `pack-${Math.random()}` })),
  addVehicles: ({ fleet }, client) => client.post('/vehicles', { fleetId: fleet.id, vins: newVins(2) }),
  addAgain: ({ fleet, vehicles }, client, which) =>
    client.post('/vehicles', { fleetId: fleet.id, vins: [newVin(), vehicles[which].vin] }),
  upload: ({ fleet }, client) => client.post('/vehicles/file', uploadForm(fleet.id, newVins(2).join('\n'))),
  uploadAgain: ({ fleet, vehicles }, client, which) =>
    client.post('/vehicles/file', uploadForm(fleet.id, vehicles[which].vin)),
  uploadNone: ({ fleet }, client) => client.post('/vehicles/file', uploadForm(fleet.id, 'vin\nwrong')),
  rename: ({ fleet }, client) => client.patch(`/fleets/${fleet.id}`, { name: `Name ${Math.random()}` }),
  /** Makes contracts start and end now. */
  pass: async ({ fleet }) => {
    await one.execute(`update contract set starts_at = now() - interval '2 h', ends_at = now() - interval '1 h',
      due_at = now() - interval '2 h' where fleet_id = '${fleet.id}' and due_at = starts_at;
      ${scheduleAll}`);
    one.database.notify('due', 'event');
    return null;
  },
} satisfies Record<string, (world: World, client: typeof acme, which: number) => Promise<Answer | null>>;
type Act = keyof typeof acts;

/** Acts beside which an act may be refused, by the error code. */
const refusals: Record<string, readonly Act[]> = {
  FLEET_NOT_FOUND: ['deleteFleet'],
  VEHICLE_NOT_FOUND: ['deleteVehicle', 'deleteVehicles'],
  CONTRACT_NOT_FOUND: ['deleteFleet', 'deleteVehicle', 'deleteVehicles', 'deleteContract'],
};

const step = fc.record({
  act: fc.constantFrom(...(Object.keys(acts) as Act[])),
  which: fc.nat(2),
  client: fc.nat(1),
  after: fc.nat(12),
});
const scenario = fc.array(step, { minLength: 2, maxLength: 4 });
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

async function makeWorld(): Promise<World> {
  const fleet = await createFleet(acme);
  const vehicles = await addVehicles(acme, newVins(3), fleet);
  const contracts = await Promise.all(vehicles.slice(0, 2).map((vehicle) => createContract(acme, vehicle)));
  return { fleet, vehicles, contracts };
}

/** Runs all steps at once; returns the world and the responses. */
async function play(steps: readonly Step[]) {
  const world = await makeWorld();
  const answers = await Promise.all(
    steps.map(async ({ act, which, client, after }) => {
      await stagger(after);
      return { act, answer: await acts[act](world, clients[client] ?? acme, which) };
    }),
  );
  return { steps, world, answers };
}

/** Waits until all events are published, all contracts' times have passed and all vehicles are verified. */
const settled = () =>
  until(async () => {
    const [row] = await one.execute<{ open: boolean }>(`select exists (select id from event where position is null)
      or exists (select id from contract where due_at <= now()) or exists (select id from vehicle where status = 'PENDING') as open`);
    return row?.open ? null : true;
  });

/** First and last event types by kind of entity; each type of `once` occurs at most once, in this order. */
const lives = {
  fleet: { first: 'fleet.created', last: 'fleet.deleted', once: ['fleet.created', 'fleet.deleted'] },
  vehicle: { first: 'vehicle.added', last: 'vehicle.removed', once: ['vehicle.added', 'vehicle.removed'] },
  contract: {
    first: 'contract.created',
    last: 'contract.deleted',
    once: ['contract.created', 'contract.started', 'contract.ended', 'contract.deleted'],
  },
};

/** The fault in the events of an entity, in the order of the log; or null. */
function faultIn(kind: keyof typeof lives, id: string, events: readonly Json[]): string | null {
  const { first, last, once } = lives[kind];
  const types = events.map(({ type }) => type);
  const told = types.filter((type) => once.includes(type));
  const inOrder = once.filter((type) => told.includes(type));
  const whole = types[0] === first && (!types.includes(last) || types.at(-1) === last) && `${told}` === `${inOrder}`;
  return whole && (!told.includes('contract.ended') || told.includes('contract.started'))
    ? null
    : `${kind} ${id}: ${types}`;
}

const idsOf = (rows: Json[]) => rows.map(({ id }) => id).toSorted();

/** Compares the log with the stored entities; returns the differences. */
async function inputErrorsOf({ world, answers }: Awaited<ReturnType<typeof play>>): Promise<string[]> {
  const { id } = world.fleet;
  const { body: log }: { body: Json[] } = await acme.get(`/events?fleetId=${id}&limit=1000`);
  const faults: (string | null)[] = [];
  const check = (fits: boolean, what: string) => faults.push(fits ? null : what);

  faults.push(faultIn('fleet', id, log));
  const byVehicle = Map.groupBy(
    log.flatMap((event) => event.vehicles.map((vehicle: Json) => ({ ...event, vehicle: vehicle.id }))),
    ({ vehicle }) => vehicle,
  );
  for (const [vehicle, events] of byVehicle) faults.push(faultIn('vehicle', vehicle, events));
  const ofContracts = Map.groupBy(
    log.filter(({ contractId }) => contractId),
    ({ contractId }) => contractId,
  );
  for (const [contract, events] of ofContracts) faults.push(faultIn('contract', contract, events));

  // The log agrees with the entities that are left.
  const left = (await acme.get(`/fleets/${id}`)).status === 200;
  const has = (events: Json[], type: string) => events.some((event) => event.type === type);
  check(left !== has(log, 'fleet.deleted'), `the fleet is ${left ? 'there' : 'gone'}`);
  const vehiclesLeft = left ? idsOf((await acme.get(`/fleets/${id}/vehicles`)).body) : [];
  const vehiclesTold = [...byVehicle].flatMap(([vehicle, events]) => (has(events, 'vehicle.removed') ? [] : [vehicle]));
  check(
    `${vehiclesLeft}` === `${vehiclesTold.toSorted()}`,
    `vehicles ${vehiclesLeft} are left, ${vehiclesTold} told of`,
  );
  const { body: all }: { body: Json[] } = await acme.get(`/contracts?conditions={"company":"acme"}`);
  const contractsLeft = all.filter(({ fleetId }) => fleetId === id);
  const told = [...ofContracts].flatMap(([contract, events]) => (has(events, 'contract.deleted') ? [] : [contract]));
  check(`${idsOf(contractsLeft)}` === `${told.toSorted()}`, `contracts ${idsOf(contractsLeft)} left, ${told} told of`);
  for (const { id: contract, status } of contractsLeft) {
    check((status === 'ENDED') === has(ofContracts.get(contract) ?? [], 'contract.ended'), `${contract} is ${status}`);
  }
  const deleted = log.find(({ type }) => type === 'fleet.deleted');
  if (deleted) {
    const gone = log.filter(({ type, requestId }) => type === 'vehicle.removed' && requestId === deleted.requestId);
    const count = gone.reduce((sum, { vehicleCount }) => sum + vehicleCount, 0);
    check(count === deleted.data.vehicleCount, `${count} removed with a fleet of ${deleted.data.vehicleCount}`);
  }
  const completed = log.filter(({ type }) => type === 'import.completed').map(({ data }) => data.importId);
  for (const { act, answer } of answers) {
    if (!answer) continue;
    const { status, body } = answer;
    const allowed = status < 300 || refusals[body?.code]?.some((other) => answers.some((each) => each.act === other));
    check(allowed || (act === 'uploadNone' && status === 400), `${act}: ${status} ${JSON.stringify(body)}`);
    if (act.startsWith('upload')) check(completed.includes(body?.importId) === (status === 201), `import: ${status}`);
  }
  return faults.filter((fault) => fault !== null);
}

test('Concurrent acts record each fact once, nothing after an entity’s end, and match the final state', async () => {
  const worlds = fc.array(scenario, { minLength: 8, maxLength: 8 });
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  const rounds = fc.sample(worlds, { seed, numRuns: Number(process.env.ROUNDS ?? (kind === 'postgresql' ? 12 : 4)) });
  for (const round of rounds) {
    const played = await Promise.all(round.map(play));
    await settled();
    const wrong = await Promise.all(
      played.map(async (each) => {
        const faults = await inputErrorsOf(each);
        return faults.length > 0 ? [each.steps.map(({ act, which }) => `${act} ${which}`).join(), ...faults] : [];
      }),
    );
    expect(wrong.flat(), `SEED=${seed}`).toEqual([]);
  }
});

describe('Prefer: wait answers 404 at once when its vehicle is deleted', async () => {
  const idle = await startGateway({ settings: { RATE_LIMIT_PER_MINUTE: '0' } });
  const globex = await idle.as('globex');
  const ways: Record<string, (vehicle: Json, all: Json[]) => Promise<Answer>> = {
    alone: ({ id }) => globex.delete(`/vehicles/${id}`),
    'among others': ({ fleetId, vin }) => globex.post('/vehicles/delete', { fleetId, vins: [vin, newVin()] }),
    'among many': ({ fleetId }, all) =>
      globex.post('/vehicles/delete', { fleetId, vins: all.map((vehicle) => vehicle.vin) }),
    'with its fleet': ({ fleetId }) => globex.delete(`/fleets/${fleetId}`),
    'through GraphQL': ({ id }) =>
      globex.post('/graphql', { query: `mutation { deleteVehicle(input: { id: "${id}" }) { vehicle { id } } }` }),
  };
  // The wait is longer than the time-out of a test.
  const waitFor = (vin: string) => globex.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=30' });

  test.each(Object.entries(ways))('%s', async (_, remove) => {
    const all = await addVehicles(globex, newVins(100));
    const [vehicle] = all;
    const waiting = waitFor(vehicle.vin);
    await until(() => (idle.services.changes.listenerCount('eligibility') > 0 ? true : null));
    expect((await remove(vehicle, all)).status).toBe(200);
    expect(await waiting).toMatchObject({ status: 404, body: { code: 'VEHICLE_NOT_FOUND' } });
  });
});
