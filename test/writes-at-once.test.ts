import fc from 'fast-check';
import { expect, inject, test, vi } from 'vitest';
import type { Answer, Json } from './support/client.ts';
import {
  addVehicles,
  contractFields,
  createFleet,
  fleetFields,
  miscounted,
  newVin,
  newVins,
} from './support/factories.ts';
import { startGateway, testIssuer } from './support/gateway.ts';
import { stagger, until } from './support/until.ts';

// Concurrent single-statement commands on the same vehicles, alone and in the transaction of an Idempotency-Key.

const { kind } = inject('database');
const gateway = await startGateway({ issuer: await testIssuer() });
const acme = await gateway.as('acme');
const numRuns = kind === 'postgresql' ? 25 : 4;

// Slows statements down, so that others run between their steps. The embedded database has a single connection.
if (kind === 'postgresql') {
  await gateway.execute(`create function dawdle() returns trigger language plpgsql as $$
    begin perform pg_sleep(random() * random() * 0.02); return null; end $$`);
  for (const table of ['event', 'contract', 'vehicle', 'vehicle_tally', 'fleet'])
    await gateway.execute(
      `create trigger dawdle before insert on ${table} for each statement execute function dawdle()`,
    );
}

let keys = 0;
/** Posts, with a new Idempotency-Key if `isKeyed`. */
function post(path: string, body: unknown, isKeyed: boolean): Promise<Answer> {
  return acme.post(path, body, isKeyed ? { 'Idempotency-Key': `at once ${++keys}` } : {});
}

const VINS = 6;
const list = fc.record({
  what: fc.constantFrom('partial', 'partial', 'atomic', 'move', 'delete'),
  fleet: fc.nat(1),
  which: fc.shuffledSubarray([...Array(VINS).keys()], { minLength: 1 }),
  isKeyed: fc.boolean(),
  after: fc.nat(15),
});

/** The number of events of this type for each VIN. */
async function told(type: string, vins: readonly string[]): Promise<number[]> {
  const rows = await gateway.execute<{ vin: string; count: number }>(
    `select vin, count(*)::int as count from event, unnest(vins) vin
     where type = '${type}' and vin in (${vins.map((vin) => `'${vin}'`).join()}) group by vin`,
  );
  const counts = new Map(rows.map(({ vin, count }) => [vin, count]));
  return vins.map((vin) => counts.get(vin) ?? 0);
}

test('Lists added, moved and deleted at once: each vehicle is stored, counted and recorded once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(list, { minLength: 2, maxLength: 8 }), async (lists) => {
      const fleets = [await createFleet(acme), await createFleet(acme)];
      const vins = newVins(VINS);
      const answers = await Promise.all(
        lists.map(async ({ what, fleet, which, isKeyed, after }) => {
          await stagger(after);
          const { id: fleetId } = fleets[fleet];
          const own = newVin();
          const some = which.map((one) => vins[one] ?? '');
          if (what === 'move' || what === 'delete')
            return { what, own, answer: await post(`/vehicles/${what}`, { fleetId, vins: some }, isKeyed) };
          const body = { fleetId, vins: [...some, own] };
          return { what, own, answer: await post(`/vehicles?mode=${what}`, body, isKeyed) };
        }),
      );
      for (const { what, own, answer } of answers) {
        expect([200, 201, 400], JSON.stringify(answer.body)).toContain(answer.status);
        if (what === 'move' || what === 'delete') continue;
        const isRejected = answer.status === 400 || answer.body.summary.rejected > 0;
        // An atomic list is stored completely or not at all; otherwise valid VINs are stored.
        if (what === 'atomic') expect(answer.status).toBe(isRejected ? 400 : 201);
        const [row] = await gateway.execute(`select from vehicle where vin = '${own}'`);
        expect(row !== undefined).toBe(answer.status === 201);
        expect(await told('vehicle.added', [own])).toEqual([row ? 1 : 0]);
      }
      const left = await gateway.execute<{ vin: string }>(
        `select vin from vehicle where fleet_id in (${fleets.map(({ id }) => `'${id}'`).join()})`,
      );
      const [added, removed] = [await told('vehicle.added', vins), await told('vehicle.removed', vins)];
      const there = new Set(left.map(({ vin }) => vin));
      expect(vins.map((_, at) => (added[at] ?? 0) - (removed[at] ?? 0))).toEqual(
        vins.map((vin) => Number(there.has(vin))),
      );
      expect(await gateway.execute(miscounted)).toEqual([]);
    }),
    { numRuns },
  );
});

// Needs a second connection to delete between the steps of one statement.
test.runIf(kind === 'postgresql')(
  'Two lists add the same VINs, and one is deleted between the steps of the first: both are stored',
  async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(2).toSorted();
    const gone = vins.slice(0, 1);
    await addVehicles(acme, gone, fleet);
    await gateway.execute(`create function hold() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(9001); return new; end $$`);
    await gateway.execute(`create trigger hold before insert on event for each row
      when (new.request_id = 'held') execute function hold()`);
    const waits = (event: string) =>
      until(async () => {
        const [row] = await gateway.execute(
          `select from pg_stat_activity where datname = current_database() and wait_event = '${event}'`,
        );
        return row !== undefined;
      });
    const add = (headers = {}) => acme.post('/vehicles?mode=atomic', { fleetId: fleet.id, vins }, headers);
    const answers: Promise<Answer>[] = [];
    await gateway.database.orm.em.fork().transactional(async (em) => {
      await em.execute('select pg_advisory_xact_lock(9001)');
      answers.push(add({ 'x-request-id': 'held' }));
      await waits('advisory');
      expect((await acme.post('/vehicles/delete', { fleetId: fleet.id, vins: gone })).status).toBe(200);
      answers.push(add());
      await waits('transactionid');
    });
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 201]);
    expect(await told('vehicle.added', vins)).toEqual([2, 1]);
  },
);

// On one connection, nothing happens beside an open transaction.
test.skipIf(gateway.database.kind === 'embedded')('A fleet is changed while an upload holds it', async () => {
  const fleet = await createFleet(acme);
  await gateway.database.orm.em.fork().transactional(async (em) => {
    await em.execute(`select from fleet where id = '${fleet.id}' for key share`);
    expect((await acme.patch(`/fleets/${fleet.id}`, { name: 'Other' })).status).toBe(200);
  });
});

const contract = fc.record({
  vehicle: fc.nat(1),
  /** The first month of the contract's period, whose length is `months`. */
  from: fc.nat(8),
  months: fc.integer({ min: 1, max: 4 }),
  isKeyed: fc.boolean(),
  after: fc.nat(15),
});
const month = (n: number) => new Date(Date.UTC(2030, n, 1)).toISOString();

test('Contracts created during moves do not overlap, follow their vehicle, and are recorded once', async () => {
  const scenario = fc.tuple(
    fc.array(contract, { minLength: 2, maxLength: 8 }),
    fc.array(fc.tuple(fc.nat(1), fc.nat(20)), { maxLength: 3 }),
  );
  await fc.assert(
    fc.asyncProperty(scenario, async ([contracts, moves]) => {
      const fleets = [await createFleet(acme), await createFleet(acme)];
      const vehicles = await addVehicles(acme, newVins(2), fleets[0]);
      const ids = vehicles.map(({ id }) => id);
      const made = contracts.map(async ({ vehicle, from, months, isKeyed, after }) => {
        await stagger(after);
        const period = { from: month(from), to: month(from + months), name: `${from} to ${from + months}` };
        return post('/contracts', contractFields(vehicles[vehicle], period), isKeyed);
      });
      const moved = moves.map(async ([to, after]) => {
        await stagger(after);
        return acme.post('/vehicles/move', { fleetId: fleets[to].id, ids });
      });
      const answers = await Promise.all(made);
      for (const { status } of await Promise.all(moved)) expect(status).toBe(200);
      const rows = await gateway.execute<Json>(
        `select c.id, c.vehicle_id, c.name, c.fleet_id = v.fleet_id as "isWithVehicle",
           (select count(*)::int from event e where e.company = c.company and e.contract_id = c.id and e.type = 'contract.created'
             and e.vehicle_ids = array[c.vehicle_id] and e.vins = array[v.vin] and e.data->>'name' = c.name) as told
         from contract c join vehicle v on v.company = c.company and v.id = c.vehicle_id where v.id in (${ids.map((id) => `'${id}'`).join()})`,
      );
      expect(rows.filter(({ isWithVehicle, told: times }) => !isWithVehicle || times !== 1)).toEqual([]);
      const known = new Set(rows.map(({ id }) => id));
      const created = answers.filter(({ status }) => status === 201).map(({ body }) => body.id);
      expect(new Set(created)).toEqual(known);
      for (const { status, body } of answers.filter((one) => one.status !== 201)) {
        expect(moves.length > 0 ? ['CONTRACT_OVERLAP', 'VEHICLE_NOT_FOUND'] : ['CONTRACT_OVERLAP']).toContain(
          body.code,
        );
        if (status !== 409) continue;
        expect(body.conflicts.length).toBeGreaterThan(0);
        expect(body.conflicts.filter((id: string) => !known.has(id))).toEqual([]);
      }
    }),
    { numRuns },
  );
});

const fleetMade = fc.record({
  company: fc.constantFrom('acme', 'acme', 'acme', 'globex', 'initech'),
  subject: fc.constantFrom('anna', 'ben'),
  name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((name) => name.trim() === name),
  by: fc.constantFrom('REST', 'GraphQL', 'key'),
  after: fc.nat(6),
});
const CREATE = 'mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id name createdAt } } }';

test('Fleets created at once are stored as given, and recorded once, with the right actor', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fleetMade, { minLength: 2, maxLength: 80 }), async (fleets) => {
      const made = await Promise.all(
        fleets.map(async ({ company, subject, name, by, after }, at) => {
          const client = await gateway.as(company, { sub: subject });
          const headers = { 'x-request-id': `made-${at}` };
          const input = { ...fleetFields, name, vat: `vat ${at}` };
          await stagger(after);
          const answer =
            by === 'GraphQL'
              ? await client.post('/graphql', { query: CREATE, variables: { input } }, headers)
              : await client.post('/fleets', input, {
                  ...headers,
                  ...(by === 'key' && { 'Idempotency-Key': `made ${++keys}` }),
                });
          expect(answer.status).toBe(by === 'GraphQL' ? 200 : 201);
          const { id, createdAt } = by === 'GraphQL' ? answer.body.data.createFleet.fleet : answer.body;
          const told = { actor: subject, request_id: `made-${at}`, at: createdAt, data: input };
          return { company, id, created_at: createdAt, updated_at: createdAt, name, vat: input.vat, told: [told] };
        }),
      );
      const rows = await gateway.execute<Json>(
        `select f.company, f.id, to_json(f.created_at) as created_at, to_json(f.updated_at) as updated_at, f.name, f.vat,
           (select json_agg(json_build_object('actor', e.actor, 'request_id', e.request_id, 'at', e.at, 'data', e.data))
            from event e where e.company = f.company and e.fleet_id = f.id) as told
         from fleet f where f.id in (${made.map(({ id }) => `'${id}'`).join()})`,
      );
      const iso = (time: string) => new Date(time).toISOString();
      const found = rows.map(({ created_at, updated_at, told, ...row }) => ({
        ...row,
        created_at: iso(created_at),
        updated_at: iso(updated_at),
        told: told.map((one: Json) => ({ ...one, at: iso(one.at) })),
      }));
      const byId = (a: Json, b: Json) => (a.id < b.id ? -1 : 1);
      expect(found.toSorted(byId)).toEqual(made.toSorted(byId));
    }),
    { numRuns },
  );
});

test('A fleet that the database refuses fails alone', async () => {
  await gateway.execute(`alter table fleet add constraint not_this_one check (vat <> 'refused')`);
  const vats = Array.from({ length: 40 }, (_, at) => (at % 7 === 3 ? 'refused' : `vat ${at}`));
  const answers = await Promise.all(vats.map((vat) => acme.post('/fleets', { ...fleetFields, vat }))).finally(() =>
    gateway.execute('alter table fleet drop constraint not_this_one'),
  );
  expect(answers.map(({ status }) => status)).toEqual(vats.map((vat) => (vat === 'refused' ? 500 : 201)));
  expect(answers.map(({ body }) => body.vat)).toEqual(vats.map((vat) => (vat === 'refused' ? undefined : vat)));
});

test('A caller with an invalid name can create a fleet', async () => {
  const odd = await gateway.as('acme', { sub: 'a\ud800\0b' });
  const { id } = await createFleet(odd);
  const told = await gateway.execute(`select actor from event where fleet_id = '${id}'`);
  expect(told).toEqual([{ actor: 'a\ufffd\ufffdb' }]);
});

// The embedded database has one connection, on which no statement waits for a lock.
test.runIf(kind === 'postgresql').each(['contract', 'vehicles'] as const)(
  'A write that waits for a lock (%s) succeeds in the end, and delays no other',
  async (what) => {
    const [vehicle] = await addVehicles(acme, newVins(1));
    const vin = newVin();
    const hold = {
      contract: `select from vehicle where company = 'acme' and id = '${vehicle.id}' for update`,
      vehicles: `insert into vehicle (id, company, fleet_id, vin, created_at)
        values (gen_random_uuid(), 'acme', '${vehicle.fleetId}', '${vin}', now())`,
    };
    const write = {
      contract: () => acme.post('/contracts', contractFields(vehicle)),
      vehicles: () => acme.post('/vehicles', { fleetId: vehicle.fleetId, vins: [vin] }),
    };
    let waiting: Promise<Answer> | undefined;
    const holding = gateway.database.orm.em.fork().transactional(async (em) => {
      await em.execute(hold[what]);
      waiting = write[what]();
      // Waits longer than shared connections do.
      await until(async () => {
        const [row] = await gateway.execute(
          `select from pg_stat_activity where wait_event_type = 'Lock'
             and datname = current_database() and now() - query_start > interval '100 ms'`,
        );
        return row !== undefined;
      });
      await createFleet(acme);
      throw new Error('undone');
    });
    await expect(holding).rejects.toThrow('undone');
    expect((await waiting)?.status).toBe(201);
  },
);

test.runIf(kind === 'postgresql')(
  'A short write gives up a lock soon where others wait behind it, and waits for it on a connection of its own',
  async () => {
    const [vehicle] = await addVehicles(acme, newVins(1));
    await gateway.execute(`create table patience (of text, lasts text)`);
    await gateway.execute(`create function note_patience() returns trigger language plpgsql as $$
      begin insert into patience values (tg_table_name, current_setting('lock_timeout')); return null; end $$`);
    for (const table of ['fleet', 'contract'])
      await gateway.execute(
        `create trigger patience after insert on ${table} for each row execute function note_patience()`,
      );
    let waiting: Promise<Answer> | undefined;
    await gateway.database.orm.em.fork().transactional(async (em) => {
      await em.execute(`select from vehicle where company = 'acme' and id = '${vehicle.id}' for update`);
      waiting = acme.post('/contracts', contractFields(vehicle));
      await until(async () => {
        const [row] = await gateway.execute(
          `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return row !== undefined;
      });
      await createFleet(acme);
    });
    expect((await waiting)?.status).toBe(201);
    expect(await gateway.execute('select * from patience')).toEqual([
      { of: 'fleet', lasts: '20ms' },
      { of: 'contract', lasts: '3s' },
    ]);
    for (const table of ['fleet', 'contract']) await gateway.execute(`drop trigger patience on ${table}`);
  },
);

test.runIf(kind === 'postgresql')(
  'Of the writes of a company that wait for a lock, few do so on the connections that companies share',
  async () => {
    const globex = await gateway.as('globex');
    const [vehicle] = await addVehicles(acme, newVins(1));
    const { add } = gateway.database;
    let [most, now] = [0, 0];
    vi.spyOn(gateway.database, 'add').mockImplementation(async (...statement) => {
      most = Math.max(most, ++now);
      return add(...statement).finally(() => now--);
    });
    let waiting: Promise<Answer>[] = [];
    await gateway.database.orm.em.fork().transactional(async (em) => {
      await em.execute(`select from vehicle where company = 'acme' and id = '${vehicle.id}' for update`);
      waiting = Array.from({ length: 300 }, () => acme.post('/contracts', contractFields(vehicle)));
      await until(async () => {
        const [row] = await gateway.execute(
          `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return row !== undefined;
      });
      for (let round = 0; round < 5; round++) await createFleet(globex);
    });
    const created = (await Promise.all(waiting)).filter(({ status }) => status === 201);
    // Beside those of acme, one of globex.
    expect({ isWaiting: most > 1, isBounded: most <= 33 }).toEqual({ isWaiting: true, isBounded: true });
    vi.restoreAllMocks();
    expect(created.length).toBeLessThanOrEqual(1);
  },
);
