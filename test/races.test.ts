import { afterAll, describe, expect, inject, test } from 'vitest';
import type { Answer, Json } from './support/client.ts';
import { asAdmin } from './support/database.ts';
import {
  addVehicle,
  addVehicles,
  contractFields,
  createContract,
  createFleet,
  fleetFields,
  miscounted,
  newVin,
  newVins,
  uploadForm,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { execute } from './support/operator.ts';
import { stagger, until } from './support/until.ts';

const { kind } = inject('database');
const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');

const times = <T>(count: number, act: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));
const graphql = async (query: string, input: unknown): Promise<Json> =>
  (await acme.post('/graphql', { query: `mutation ($input: ${query}`, variables: { input } })).body;
/** The number of responses by outcome, such as `201` or `404 FLEET_NOT_FOUND`. */
const outcomes = (answers: Answer[]) =>
  Object.fromEntries(
    Map.groupBy(answers, ({ status, body }) => [status, body?.code].filter(Boolean).join(' '))
      .entries()
      .map(([kind, same]) => [kind, same.length]),
  );
const codeOf = ({ errors }: Json) => errors?.[0]?.extensions.code;

// After all races no row lacks its parent, and every stored count is correct.
afterAll(async () => {
  expect(
    await gateway.execute(`select id from vehicle v where not exists (
      select from fleet f where f.company = v.company and f.id = v.fleet_id)`),
  ).toEqual([]);
  expect(
    await gateway.execute(
      `select id from contract c where not exists (
        select from vehicle v where v.company = c.company and v.id = c.vehicle_id and v.fleet_id = c.fleet_id)`,
    ),
  ).toEqual([]);
  expect(await gateway.execute(miscounted)).toEqual([]);
});

describe('The same VIN, added 40 times at once', () => {
  const addTo = 'AddVehiclesInput!) { addVehicles(input: $input) { summary { created existing rejected } } }';

  test('to one fleet, by both interfaces, is one vehicle', async () => {
    const { id: fleetId } = await createFleet(acme);
    const vins = [newVin()];
    const summaries = await times(40, async (index) =>
      index % 2
        ? (await graphql(addTo, { fleetId, vins })).data.addVehicles.summary
        : (await acme.post('/vehicles', { fleetId, vins })).body.summary,
    );
    expect(summaries.filter(({ created }) => created === 1)).toHaveLength(1);
    expect(summaries.filter(({ existing }) => existing === 1)).toHaveLength(39);
    expect((await acme.get(`/fleets/${fleetId}`)).body.vehicleCount).toBe(1);
  });

  test('to two fleets, is one vehicle of one fleet; the other gets an error that names the fleet', async () => {
    const fleets = [await createFleet(acme), await createFleet(acme)];
    const vins = [newVin()];
    const answers = await times(40, (index) => acme.post('/vehicles', { fleetId: fleets[index % 2].id, vins }));
    expect(outcomes(answers)).toEqual({ '201': 20, '400 VALIDATION_FAILED': 20 });
    expect(answers.filter(({ body }) => body.summary.created === 1)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status === 400).flatMap(({ body }) => body.errors);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['VIN_IN_ANOTHER_FLEET']));
    const counts = await Promise.all(fleets.map(async ({ id }) => (await acme.get(`/fleets/${id}`)).body.vehicleCount));
    expect(counts.toSorted()).toEqual([0, 1]);
  });

  test('beside uploads with the VIN, in any order, is one vehicle', async () => {
    const { id: fleetId } = await createFleet(acme);
    const vins = newVins(50);
    const answers = await times(12, (index) => {
      const own = index % 2 ? vins : vins.toReversed();
      return index % 4 === 0
        ? acme.post('/vehicles/file', uploadForm(fleetId, own.join('\n')))
        : acme.post('/vehicles', { fleetId, vins: own });
    });
    expect(outcomes(answers)).toEqual({ '201': 12 });
    expect(answers.reduce((sum, { body }) => sum + body.summary.created, 0)).toBe(50);
  });
});

test('Of 40 concurrent overlapping contracts, by both interfaces, one is created', async () => {
  const vehicle = await addVehicle(acme);
  const fields = (index: number) =>
    contractFields(vehicle, { from: `2030-01-${String(1 + (index % 20)).padStart(2, '0')}T00:00:00Z` });
  const create = 'CreateContractInput!) { createContract(input: $input) { contract { id } } }';
  const codes = await times(40, async (index) => {
    if (index % 2) return codeOf(await graphql(create, fields(index))) ?? 'made';
    const { status, body } = await acme.post('/contracts', fields(index));
    return status === 201 ? 'made' : body.code;
  });
  expect(codes.filter((code) => code === 'made')).toHaveLength(1);
  expect(codes.filter((code) => code === 'CONTRACT_OVERLAP')).toHaveLength(39);
});

test('Ten concurrent creations do not exceed the limit of webhooks', async () => {
  const client = await gateway.as('a company with many webhooks');
  const url = 'https://example.com/hook';
  for (let created = 0; created < 97; created++) await client.post('/webhooks', { url });
  const answers = await times(10, () => client.post('/webhooks', { url }));
  expect(outcomes(answers)).toEqual({ 201: 3, '400 VALIDATION_FAILED': 7 });
});

test.runIf(kind === 'postgresql')('A key named like another company’s lock does not wait for it', async () => {
  const client = await gateway.as('move');
  const em = gateway.database.orm.em.fork();
  await em.begin();
  for (const work of ['move', 'uploads'])
    await em.execute(`select pg_advisory_xact_lock(hashtextextended('${JSON.stringify([work, 'acme'])}', 0))`);
  const { status } = await client.post('/fleets', fleetFields, { 'idempotency-key': 'acme' });
  await em.commit();
  expect(status).toBe(201);
});

describe('The same thing, deleted 20 times at once', () => {
  const cases: Record<string, [code: string, make: () => Promise<string>]> = {
    'a fleet with vehicles and contracts': [
      'FLEET_NOT_FOUND',
      async () => `/fleets/${(await createContract(acme)).fleetId}`,
    ],
    'a vehicle with a contract': [
      'VEHICLE_NOT_FOUND',
      async () => {
        const vehicle = await addVehicle(acme);
        await createContract(acme, vehicle);
        return `/vehicles/${vehicle.id}`;
      },
    ],
    'a contract': ['CONTRACT_NOT_FOUND', async () => `/contracts/${(await createContract(acme)).id}`],
  };
  for (const [name, [code, make]] of Object.entries(cases)) {
    test(`${name}: once with success, else ${code}`, async () => {
      const path = await make();
      const answers = await times(20, () => acme.delete(path));
      expect(outcomes(answers)).toEqual({ [path.startsWith('/contracts') ? '204' : '200']: 1, [`404 ${code}`]: 19 });
    });
  }

  test('a list of vehicles: each is in one response', async () => {
    const fleet = await createFleet(acme);
    const vehicles = await addVehicles(acme, newVins(10), fleet);
    const answers = await times(20, (index) => {
      const vins = vehicles.map(({ vin }) => vin);
      return acme.post('/vehicles/delete', { fleetId: fleet.id, vins: index % 2 ? vins : vins.toReversed() });
    });
    expect(outcomes(answers)).toEqual({ '200': 20 });
    expect(answers.flatMap(({ body }) => body.deleted)).toHaveLength(10);
  });
});

test('A fleet deleted beside additions, uploads, contracts and verifications leaves no rows', async () => {
  for (let round = 0; round < 3; round++) {
    const fleet = await createFleet(acme);
    const [vehicle] = await addVehicles(acme, newVins(1), fleet);
    const others = newVins(20);
    await addVehicles(acme, others, fleet);
    const elsewhere = newVins(20);
    await addVehicles(acme, elsewhere);
    const adding = times(15, (index) => {
      if (index % 5 === 4) return acme.post('/vehicles/file', uploadForm(fleet.id, newVins(20).join('\n')));
      if (index % 5 === 3) return acme.post('/contracts', contractFields(vehicle, { pack: `pack-${index}` }));
      if (index % 5 === 2) return acme.post('/vehicles/delete', { fleetId: fleet.id, vins: others });
      if (index % 5 === 1) return acme.post('/vehicles/move', { fleetId: fleet.id, vins: [...elsewhere, ...others] });
      return acme.post('/vehicles', { fleetId: fleet.id, vins: newVins(20) });
    });
    const [answers, deleted] = await Promise.all([adding, acme.delete(`/fleets/${fleet.id}`)]);
    expect(deleted.status).toBe(200);
    const kinds = new Set(Object.keys(outcomes(answers)));
    expect(
      kinds.isSubsetOf(new Set(['200', '201', '404 FLEET_NOT_FOUND', '404 VEHICLE_NOT_FOUND'])),
      [...kinds].join(),
    ).toBe(true);
    expect(await gateway.execute(`select id from vehicle where fleet_id = '${fleet.id}'`)).toEqual([]);
  }
});

test('Fleets deleted while their vehicles are verified', async () => {
  await times(16, async () => {
    for (let round = 0; round < (kind === 'postgresql' ? 25 : 3); round++) {
      const fleet = await createFleet(acme);
      await addVehicles(acme, newVins(5), fleet);
      await stagger(Math.random() * 10);
      expect((await acme.delete(`/fleets/${fleet.id}`)).status).toBe(200);
    }
  });
});

test('Fleets deleted while all their vehicles are refreshed', async () => {
  const again = `VerifyEligibilityInput!) { verifyEligibility(input: $input) { eligibilities { vin } } }`;
  for (let round = 0; round < (kind === 'postgresql' ? 5 : 1); round++) {
    const fleet = await createFleet(acme);
    const vins = newVins(100).toSorted();
    // Stored in another order than the refresh names them.
    for (const some of [vins.slice(50), vins.slice(0, 50)]) await addVehicles(acme, some, fleet);
    const asked = times(20, () => graphql(again, { vins }));
    await stagger(Math.random() * 20);
    expect((await acme.delete(`/fleets/${fleet.id}`)).status).toBe(200);
    const codes = new Set((await asked).map(codeOf));
    expect(codes.isSubsetOf(new Set([undefined, 'VEHICLE_NOT_FOUND'])), [...codes].join()).toBe(true);
  }
});

test('All acts at once on the same rows, in opposite orders: no error', async () => {
  const fleets = [await createFleet(acme), await createFleet(acme)];
  const lists = [newVins(12), newVins(12)];
  const acts = [
    (fleet: Json, vins: string[]) => acme.post('/vehicles', { fleetId: fleet.id, vins }),
    (fleet: Json, vins: string[]) => acme.post('/vehicles', { fleetId: fleet.id, vins: vins.toReversed() }),
    (fleet: Json, vins: string[]) => acme.post('/vehicles/delete', { fleetId: fleet.id, vins: vins.toReversed() }),
    (fleet: Json) => acme.patch(`/fleets/${fleet.id}`, { name: 'Renamed' }),
    (fleet: Json, [vin = '']: string[]) => acme.post('/contracts', contractFields({ fleetId: fleet.id, vin })),
    (_fleet: Json, [vin = '']: string[]) => acme.post(`/vehicles/eligibility/${vin}/refresh`),
    (fleet: Json, vins: string[]) => acme.post('/vehicles/delete', { fleetId: fleet.id, vins }),
    (fleet: Json, vins: string[]) => acme.post('/vehicles/move', { fleetId: fleet.id, vins: vins.toReversed() }),
    (fleet: Json, vins: string[]) => acme.post('/vehicles/file', uploadForm(fleet.id, vins.toReversed().join('\n'))),
    async (fleet: Json, [vin = '']: string[]) => {
      const { body } = await acme.get(`/fleets/${fleet.id}/vehicles`);
      return acme.delete(`/vehicles/${body.find((one: Json) => one.vin === vin)?.id}`);
    },
  ];
  const answers = await times(220, (index) => {
    const fleet = fleets[index % 2];
    // Some lists go into the other fleet.
    return acts[index % acts.length]?.(fleet, lists[(index % 3 ? index : index + 1) % 2] ?? []) as Promise<Answer>;
  });
  expect(answers.filter(({ status }) => status >= 500).map(({ body }) => body)).toEqual([]);
});

test('Vehicles moved between fleets and deleted, also with their fleets', async () => {
  for (let round = 0; round < (kind === 'postgresql' ? 12 : 3); round++) {
    const fleets = await times(3, () => createFleet(acme));
    const vehicles = await addVehicles(acme, newVins(8), fleets[0]);
    const [contract] = await times(1, () => createContract(acme, vehicles[0]));
    const ids = vehicles.map(({ id }) => id);
    const moved = times(24, (index) => {
      const { id: fleetId } = fleets[index % 3];
      return acme.post('/vehicles/move', { fleetId, ids: index % 2 ? ids : ids.toReversed() });
    });
    const deleted = times(4, async (index) => {
      await stagger(Math.random() * 40);
      return acme.delete(`/vehicles/${ids[index + 1]}`);
    });
    const fleetsDeleted = times(2, async (index) => {
      await stagger(20 + Math.random() * 40);
      return acme.delete(`/fleets/${fleets[index].id}`);
    });
    const kinds = Object.keys(outcomes((await Promise.all([moved, deleted, fleetsDeleted])).flat()));
    expect(kinds.filter((one) => !['200', '404 FLEET_NOT_FOUND', '404 VEHICLE_NOT_FOUND'].includes(one))).toEqual([]);
    const [vehicle, kept] = await Promise.all([acme.get(`/vehicles/${ids[0]}`), acme.get(`/contracts/${contract.id}`)]);
    expect([kept.status, kept.body.fleetId]).toEqual([vehicle.status, vehicle.body.fleetId]);
  }
});

// A deadlock costs a second, and retries hide it.
test.runIf(kind === 'postgresql')('No race above has caused a deadlock', async () => {
  // A connection reports its statistics when it ends, or after ten idle seconds.
  const ended = await execute<{ pid: number }>(
    asAdmin(gateway.env),
    `select pid, pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
  const pids = ended.map(({ pid }) => pid).join();
  await until(async () => {
    const [left] = await gateway.execute(`select from pg_stat_activity where pid in (${pids})`).catch(() => ['cut']);
    return !left;
  });
  const counted = await gateway.execute(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  expect(counted).toEqual([{ deadlocks: 0 }]);
});
