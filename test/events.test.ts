import { setImmediate } from 'node:timers/promises';
import { createClient } from 'graphql-sse';
import { describe, expect, test, vi } from 'vitest';
import type { Json } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import {
  addVehicle,
  addVehicles,
  createContract,
  createFleet,
  fleetFields,
  newVin,
  newVins,
  uploadForm,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { all } from './support/operation.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');

type Client = typeof acme;

/** Waits until the events of this query satisfy `enough`; returns them. */
// biome-ignore lint/suspicious/noExplicitAny: a test's assertions say what an answer must look like.
const events = (client: Client, query: string, enough: (events: any[]) => boolean): Promise<any[]> =>
  until(async () => {
    const { body } = await client.get(`/events?${query}`);
    return enough(body) ? body : null;
  });

const id = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
const types = (list: { type: string }[]) => list.map(({ type }) => type);

describe('One event per fact', () => {
  test('a fleet: created, updated with previous values, deleted', async () => {
    const fleet = await createFleet(acme);
    await acme.patch(`/fleets/${fleet.id}`, { name: 'Night shift', vat: fleet.vat }, { 'x-request-id': 'night-1' });
    await acme.delete(`/fleets/${fleet.id}`);
    const found = await events(acme, `fleetId=${fleet.id}`, (list) => list.length === 3);
    expect(found).toMatchObject([
      { id, type: 'fleet.created', company: 'acme', actor: 'development', data: fleetFields },
      {
        type: 'fleet.updated',
        requestId: 'night-1',
        data: { changes: { name: { from: fleetFields.name, to: 'Night shift' } } },
      },
      { type: 'fleet.deleted', data: { name: 'Night shift', vehicleCount: 0 } },
    ]);
    expect(found[1].data.changes).not.toHaveProperty('vat');
  });

  test('vehicles: one event per request, and one per 1,000 vehicles', async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(1001);
    const vehicles = await addVehicles(acme, vins, fleet);
    const added = await events(acme, `fleetId=${fleet.id}&type=vehicle.added`, (list) => list.length === 2);
    expect(added.map((event) => event.vehicleCount)).toEqual([1000, 1]);
    expect(added.flatMap((event) => event.vehicles.map((vehicle: { vin: string }) => vehicle.vin)).toSorted()).toEqual(
      vins.toSorted(),
    );
    await acme.post('/vehicles/delete', { fleetId: fleet.id, vins: vins.slice(0, 3) });
    const [removed] = await events(acme, `fleetId=${fleet.id}&type=vehicle.removed`, (list) => list.length === 1);
    expect(removed).toMatchObject({ vehicleCount: 3 });
    expect(removed.vehicles).toContainEqual({ id: vehicles[0].id, vin: vins[0] });
  });

  test('refusals, dry runs and existing vehicles are not recorded', async () => {
    const fleet = await createFleet(acme);
    const vin = newVin();
    await acme.post('/vehicles?dryRun=true', { fleetId: fleet.id, vins: [vin] });
    await acme.post('/vehicles?mode=atomic', { fleetId: fleet.id, vins: [vin, 'wrong'] });
    await addVehicles(acme, [vin], fleet);
    await addVehicles(acme, [vin], fleet);
    await acme.patch(`/fleets/${fleet.id}`, { name: fleet.name });
    const found = await events(acme, `fleetId=${fleet.id}`, (list) => types(list).includes('eligibility.changed'));
    expect(types(found)).toEqual(['fleet.created', 'vehicle.added', 'eligibility.changed']);
  });

  test('eligibility: from, to and reason, by the system', async () => {
    const { vin } = await addVehicle(acme, newVin(7));
    const [event] = await events(acme, `vin=${vin}&type=eligibility.changed`, (list) => list.length === 1);
    expect(event).toMatchObject({
      actor: 'system',
      requestId: null,
      vehicles: [{ id, vin }],
      data: { from: 'PENDING', to: 'INELIGIBLE', manufacturer: 'bmw' },
    });
    expect(event.data).toHaveProperty('reason');
  });

  test('an import: its vehicles, then its completion', async () => {
    const fleet = await createFleet(acme);
    const { body } = await acme.send(
      'POST',
      '/vehicles/file',
      uploadForm(fleet.id, `vin\n${newVins(1200).join('\n')}\nwrong\n`),
    );
    const query = `fleetId=${fleet.id}&type=vehicle.added,import.completed`;
    const found = await events(acme, query, (list) => list.length === 3);
    expect(found).toMatchObject([
      { type: 'vehicle.added', vehicleCount: 1000, data: { importId: body.importId } },
      { type: 'vehicle.added', vehicleCount: 200 },
      { type: 'import.completed', data: { importId: body.importId, created: 1200, rejected: 1 } },
    ]);
  });

  test('a failed import with only refused rows: none, by both interfaces', async () => {
    const fleet = await createFleet(acme);
    const { vin } = await addVehicle(acme);
    const files = { invalid: 'vin\nwrong\nfalsch\n', elsewhere: `vin\n${vin}\n`, both: `vin\nwrong\n${vin}\n` };
    for (const file of Object.values(files)) {
      const rows = file.trim().split('\n').length - 1;
      const detail = `Every row was rejected (${rows}).`;
      const rest = await acme.send('POST', '/vehicles/file', uploadForm(fleet.id, file));
      expect(rest).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', detail } });
      const query = `mutation ($file: Upload!) {
        importVehicles(input: { fleetId: "${fleet.id}", file: $file }) { import { importId: id failure failureCode } } }`;
      const form = new FormData();
      form.append('operations', JSON.stringify({ query, variables: { file: null } }));
      form.append('map', '{"0":["variables.file"]}');
      form.append('0', new Blob([file], { type: 'text/csv' }), 'vins.csv');
      const { import: failed } = (await acme.send('POST', '/graphql', form)).body.data.importVehicles;
      expect(failed).toMatchObject({ failure: detail, failureCode: 'EVERY_ROW_REJECTED' });
      for (const { importId } of [rest.body, failed]) {
        const { body } = await acme.get(`/imports/${importId}`);
        expect(body).toMatchObject({ state: 'FAILED', received: rows, created: 0, existing: 0, rejected: rows });
        const report = await acme.get(`/imports/${importId}/rejected.csv`);
        expect(report.body.trim().split(/\r?\n/)).toHaveLength(rows + 1);
      }
    }
    await acme.send('POST', '/vehicles/file', uploadForm(fleet.id, `vin\n${newVin()}\nwrong\n`));
    const found = await events(acme, `fleetId=${fleet.id}`, (list) => types(list).includes('import.completed'));
    expect(types(found).filter((type) => type !== 'eligibility.changed')).toEqual([
      'fleet.created',
      'vehicle.added',
      'import.completed',
    ]);
  });

  test('a contract: created, started when it starts, ended when it ends', async () => {
    const vehicle = await addVehicle(acme);
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const contract = await createContract(acme, vehicle, { from: at(-1000), to: at(60_000) });
    await events(acme, `vin=${vehicle.vin}`, (list) => types(list).includes('contract.started'));
    gateway.passTime(61_000);
    const found = await events(acme, `vin=${vehicle.vin}`, (list) => types(list).includes('contract.ended'));
    // What its manufacturer does with it has events of its own (activations.test.ts).
    const ofManufacturers = ['contract.activated', 'contract.deactivated'];
    const ofContract = found.filter(
      ({ contractId, type }) => contractId === contract.id && !ofManufacturers.includes(type),
    );
    expect(ofContract).toMatchObject([
      { type: 'contract.created', actor: 'development', vehicles: [{ id: vehicle.id, vin: vehicle.vin }] },
      { type: 'contract.started', actor: 'system', data: { name: contract.name, pack: contract.pack } },
      { type: 'contract.ended', data: { from: contract.from, to: contract.to } },
    ]);
  });

  test('contracts and vehicles deleted with their owner have their own events', async () => {
    const [first, second] = await addVehicles(acme, newVins(2));
    await createContract(acme, first);
    await createContract(acme, second);
    await acme.delete(`/vehicles/${first.id}`);
    await acme.delete(`/fleets/${first.fleetId}`);
    const query = `fleetId=${first.fleetId}&type=contract.deleted,vehicle.removed,fleet.deleted`;
    const found = await events(acme, query, (list) => types(list).includes('fleet.deleted'));
    expect(found.map(({ type, vehicles }) => [type, vehicles[0]?.vin])).toEqual([
      ['contract.deleted', first.vin],
      ['vehicle.removed', first.vin],
      ['contract.deleted', second.vin],
      ['vehicle.removed', second.vin],
      ['fleet.deleted', undefined],
    ]);
  });

  test('a caller without a token is anonymous', async () => {
    const contract = await createContract(acme);
    await gateway.anyone.delete(`/contracts/${contract.id}`);
    const [event] = await events(acme, `vin=${contract.vin}&type=contract.deleted`, (list) => list.length === 1);
    expect(event).toMatchObject({ company: 'acme', actor: 'anonymous' });
  });
});

describe('The log', () => {
  test('goes page by page, oldest first, and an event’s id is a cursor', async () => {
    const fleet = await createFleet(globex);
    for (const name of ['a', 'b', 'c']) await globex.patch(`/fleets/${fleet.id}`, { name });
    const all = await events(globex, `fleetId=${fleet.id}`, (list) => list.length === 4);
    const first = await globex.get(`/events?fleetId=${fleet.id}&limit=3`);
    expect(first.body).toEqual(all.slice(0, 3));
    const [, next] = /<(.+)>/.exec(first.headers.get('link') ?? '') ?? [];
    expect((await globex.get(next ?? '')).body).toEqual(all.slice(3));
    expect((await globex.get(`/events?fleetId=${fleet.id}&after=${all[2].id}`)).body).toEqual(all.slice(3));
    expect((await globex.get(`/events/${all[0].id}`)).body).toEqual(all[0]);
  });

  test('refuses to continue after an event that is not kept, since events may be missing', async () => {
    const answer = await acme.get('/events?after=01980000-0000-7000-8000-00000000dead');
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'after', code: 'INVALID_CURSOR' }] } });
  });

  test('refuses invalid types and times', async () => {
    for (const path of ['/events', '/history']) {
      const { body } = await acme.get(`${path}?type=fleet.painted`);
      expect(body).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ path: 'type.0' }] });
    }
    expect((await acme.get('/events?since=yesterday')).body).toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  test('is the company’s own: ids, cursors and filters of another company find nothing', async () => {
    const fleet = await createFleet(acme);
    const [event] = await events(acme, `fleetId=${fleet.id}`, (list) => list.length === 1);
    expect((await globex.get(`/events/${event.id}`)).status).toBe(404);
    expect((await globex.get(`/events?after=${event.id}`)).status).toBe(400);
    expect((await globex.get(`/events?fleetId=${fleet.id}`)).body).toEqual([]);
    expect((await globex.get(`/events/stream?after=${event.id}`)).status).toBe(400);
    expect((await gateway.anyone.get('/events')).status).toBe(401);
  });

  test('misses no event that is committed after later ones', async () => {
    const fleet = await createFleet(globex);
    const [start] = await events(globex, `fleetId=${fleet.id}`, (list) => list.length === 1);
    const late = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const record = (name: string) =>
      `insert into event (company, type, fleet_id, actor, at, data)
       values ('globex', 'fleet.updated', '${fleet.id}', 'test', now(), '{"changes": {"name": {"from": "x", "to": "${name}"}}}')`;
    const nameIn = ({ data }: Json) => data.changes.name.to;
    // The embedded database has one connection: an open transaction blocks all others.
    const alone = gateway.database.kind === 'embedded';
    const slow = gateway.database.orm.em.fork().transactional(async (em) => {
      await em.execute(record('slow'));
      begun.resolve();
      if (!alone) await late.promise;
    });
    await begun.promise;
    await gateway.execute(record('quick'));
    gateway.database.notify('due', 'event');
    const page = await events(globex, `fleetId=${fleet.id}&after=${start.id}`, (list) =>
      list.some((event) => nameIn(event) === 'quick'),
    );
    late.resolve();
    await slow;
    gateway.database.notify('due', 'event');
    const seen = page.map(nameIn);
    const rest = await events(
      globex,
      `fleetId=${fleet.id}&after=${page.at(-1).id}`,
      (list) => list.length === 2 - seen.length,
    );
    expect([...seen, ...rest.map(nameIn)].toSorted()).toEqual(['quick', 'slow']);
  });

  test('forgets expired events', async () => {
    const old = '01700000-0000-7000-8000-000000000001';
    await gateway.execute(
      `insert into event (id, company, type, actor, at) values ('${old}', 'acme', 'fleet.created', 'test', '2020-01-01')`,
    );
    gateway.database.notify('due', 'event');
    await until(async () => (await acme.get(`/events/${old}`)).status === 200 || null);
    // An event is forgotten only after its publication, which may be pending.
    await until(async () => {
      gateway.database.notify('due', 'upkeep');
      return (await acme.get(`/events/${old}`)).status === 404 || null;
    });
  });
});

describe('GET /events/stream', () => {
  test('sends new events, and continues after Last-Event-ID without a gap', async () => {
    const fleet = await createFleet(acme);
    await events(acme, `fleetId=${fleet.id}`, (list) => list.length === 1);
    const first = await openStream(acme, `/events/stream?fleetId=${fleet.id}`);
    await acme.patch(`/fleets/${fleet.id}`, { name: 'one' });
    const one = await first.next();
    expect(one).toMatchObject({
      event: 'fleet.updated',
      data: { id: one.id, data: { changes: { name: { to: 'one' } } } },
    });
    first.close();
    await acme.patch(`/fleets/${fleet.id}`, { name: 'two' });
    await acme.patch(`/fleets/${fleet.id}`, { name: 'three' });
    const second = await openStream(acme, `/events/stream?fleetId=${fleet.id}`, { 'last-event-id': one.id });
    const names = [await second.next(), await second.next()].map(({ data }) => data.data.changes.name.to);
    expect(names).toEqual(['two', 'three']);
    await acme.patch(`/fleets/${fleet.id}`, { name: 'four' });
    expect((await second.next()).data.data.changes.name.to).toBe('four');
    second.close();
  });

  test('misses none of a thousand events while it reconnects', async () => {
    const fleet = await createFleet(acme);
    const [start] = await events(acme, `fleetId=${fleet.id}`, (list) => list.length === 1);
    const writing = gateway.execute(
      `insert into event (company, type, fleet_id, actor, at, data)
       select 'acme', 'fleet.updated', '${fleet.id}', 'test', now(), jsonb_build_object('n', n) from generate_series(1, 1000) n`,
    );
    void writing.then(() => gateway.database.notify('due', 'event'));
    const seen: number[] = [];
    let last = start.id;
    while (seen.length < 1000) {
      const stream = await openStream(acme, `/events/stream?fleetId=${fleet.id}`, { 'last-event-id': last });
      for (let read = 0; read < 130 && seen.length < 1000; read++) {
        const event = await stream.next();
        seen.push(event.data.data.n);
        last = event.id;
      }
      stream.close();
    }
    await writing;
    expect(seen).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
  });
});

describe('GraphQL', () => {
  const query = async (client: Client, text: string, variables: Record<string, unknown> = {}) =>
    (await client.post('/graphql', { query: text, variables })).body;

  test('events: a connection, filtered, and one by its id', async () => {
    const vehicle = await addVehicle(acme);
    const contract = await createContract(acme, vehicle);
    await events(acme, `vin=${vehicle.vin}`, (list) => list.length === 3);
    const text = `query ($filter: EventFilter, $after: String) {
      events(first: 2, after: $after, filter: $filter) {
        totalCount pageInfo { hasNextPage endCursor } nodes { id type vehicles { vin } data { __typename } }
      }
    }`;
    const { events: first } = (await query(acme, text, { filter: { vehicleId: vehicle.id } })).data;
    expect(first).toMatchObject({ totalCount: 3, pageInfo: { hasNextPage: true } });
    for (const after of [first.pageInfo.endCursor, first.nodes[1].id]) {
      const { events: rest } = (await query(acme, text, { filter: { vin: vehicle.vin }, after })).data;
      expect(rest).toMatchObject({ pageInfo: { hasNextPage: false } });
      expect([...types(first.nodes), ...types(rest.nodes)].toSorted()).toEqual([
        'CONTRACT_CREATED',
        'ELIGIBILITY_CHANGED',
        'VEHICLE_ADDED',
      ]);
    }
    const since = new Date(Date.now() + 86_400_000).toISOString();
    expect((await query(acme, text, { filter: { since } })).data.events.totalCount).toBe(0);
    const filter = { contractId: contract.id, types: ['CONTRACT_CREATED'] };
    expect((await query(acme, text, { filter })).data.events.totalCount).toBe(1);
    expect((await query(acme, text, { filter: { types: ['x'] } })).errors[0].extensions.code).toBe('VALIDATION_FAILED');
    const one = `query ($id: ID!) { event(id: $id) { id actor timestamp } }`;
    const { id: eventId } = first.nodes[0];
    expect((await query(acme, one, { id: eventId })).data.event).toMatchObject({ id: eventId, actor: 'development' });
    expect((await query(globex, one, { id: eventId })).errors[0].extensions.code).toBe('NOT_FOUND');
  });

  test('timeline: the history of a fleet, a vehicle, a contract', async () => {
    const vehicle = await addVehicle(acme);
    const contract = await createContract(acme, vehicle);
    await events(acme, `vin=${vehicle.vin}`, (list) => list.length === 3);
    const { data } = await query(
      acme,
      `query ($contract: ID!, $fleet: ID!) {
        fleet(id: $fleet) { timeline(last: 2) { totalCount nodes { type } } vehicles { nodes { timeline { nodes { type } } } } }
        contract(id: $contract) { timeline { totalCount nodes { type actor } } }
      }`,
      { contract: contract.id, fleet: vehicle.fleetId },
    );
    expect(data.fleet.timeline).toMatchObject({ totalCount: 4, nodes: { length: 2 } });
    expect(types(data.fleet.vehicles.nodes[0].timeline.nodes)[0]).toBe('VEHICLE_ADDED');
    expect(data.contract.timeline).toEqual({
      totalCount: 1,
      nodes: [{ type: 'CONTRACT_CREATED', actor: 'development' }],
    });
  });

  test('a subscription has the same events as a query, with the data of each type', async () => {
    const vehicle = await addVehicle(acme);
    await acme.patch(`/fleets/${vehicle.fleetId}`, { name: 'Another', vat: 'DE7' });
    await createContract(acme, vehicle);
    const search = `fleetId=${vehicle.fleetId}`;
    const [first] = await events(
      acme,
      search,
      (list) => types(list).includes('eligibility.changed') && list.length === 5,
    );
    const filter = { fleetId: vehicle.fleetId };
    const list = `query ($filter: EventFilter) { events(filter: $filter) { nodes { ${all('Event')} } } }`;
    const [, ...others] = (await query(acme, list, { filter })).data.events.nodes;
    expect(others.map(({ data }: Json) => data.__typename).toSorted()).toEqual([
      'ContractData',
      'EligibilityChangedData',
      'FleetUpdatedData',
      'VehicleAddedData',
    ]);
    const sse = createClient({ url: `${gateway.url}/graphql`, headers: acme.headers, retryAttempts: 0 });
    const stream = sse.iterate({
      query: `subscription ($after: String, $filter: EventFilter) { events(after: $after, filter: $filter) { ${all('Event')} } }`,
      variables: { after: first.id, filter },
    }) as AsyncGenerator<Json>;
    for (const event of others) expect((await stream.next()).value.data.events).toEqual(event);
    await stream.return(undefined);
    sse.dispose();
  });

  test('subscription events: resumes after the last received event', async () => {
    const fleet = await createFleet(acme);
    const [created] = await events(acme, `fleetId=${fleet.id}`, (list) => list.length === 1);
    for (const name of ['one', 'two']) await acme.patch(`/fleets/${fleet.id}`, { name });
    const sse = createClient({ url: `${gateway.url}/graphql`, headers: acme.headers, retryAttempts: 0 });
    const subscribe = (after: string, fleetId: string) =>
      sse.iterate({
        query: `subscription ($after: String, $filter: EventFilter) {
          events(after: $after, filter: $filter) { id type data { ... on FleetUpdatedData { changes { field to } } } }
        }`,
        variables: { after, filter: { fleetId } },
      }) as AsyncGenerator<Json>;
    const first = subscribe(created.id, fleet.id);
    const { value } = await first.next();
    expect(value.data.events.data.changes).toEqual([{ field: 'NAME', to: 'one' }]);
    await first.return(undefined);
    const second = subscribe(value.data.events.id, fleet.id);
    expect((await second.next()).value.data.events.data.changes).toEqual([{ field: 'NAME', to: 'two' }]);
    const next = second.next();
    await acme.patch(`/fleets/${fleet.id}`, { name: 'three' });
    expect((await next).value.data.events.data.changes).toEqual([{ field: 'NAME', to: 'three' }]);
    await second.return(undefined);
    sse.dispose();
  });
});

describe('With scopes', async () => {
  test('events of contracts need the scope for contracts', async () => {
    const scoped = await startGateway({
      settings: { AUTH_SCOPES: 'on', RATE_LIMIT_PER_MINUTE: '0' },
      on: { env: gateway.env, database: gateway.database },
    });
    const vehicle = await addVehicle(acme);
    await createContract(acme, vehicle);
    await events(acme, `vin=${vehicle.vin}`, (list) => types(list).includes('contract.created'));
    const narrow = await scoped.as('acme', { scope: 'fleets:read fleets:write' });
    const wide = await scoped.as('acme', { scope: 'fleets:read contracts:read' });
    const seen = async (client: Client) => types((await client.get(`/events?vin=${vehicle.vin}`)).body);
    expect(await seen(narrow)).not.toContain('contract.created');
    expect(await seen(wide)).toContain('contract.created');
    const refused = { status: 403, body: { code: 'FORBIDDEN' } };
    expect(await narrow.post('/webhooks', { url: 'https://example.com/' })).toMatchObject(refused);
    expect((await narrow.post('/webhooks', { url: 'https://example.com/', types: ['fleet.created'] })).status).toBe(
      201,
    );
    expect(await wide.post('/webhooks', { url: 'https://example.com/' })).toMatchObject(refused);
  });
});

test('a reader that leaves while the log is read leaves no follower behind', async () => {
  const { followers } = gateway.services;
  const fleet = await createFleet(acme);
  await acme.patch(`/fleets/${fleet.id}`, { name: 'Another' });
  const [first] = await events(acme, `fleetId=${fleet.id}`, (list) => list.length === 2);
  const before = followers.count;
  const send = gateway.database.send;
  const reads: Promise<unknown>[] = [];
  const left = Promise.withResolvers<void>();
  const stream = await openStream(acme, `/events/stream?after=${first.id}&fleetId=${fleet.id}`);
  await until(() => followers.count > before);
  const slowly = vi.spyOn(gateway.database, 'send').mockImplementation((...statement) => {
    const rows = send(...statement).finally(() => left.promise);
    reads.push(rows);
    return rows;
  });
  gateway.services.changes.emit('event', 'acme');
  await until(() => reads.length > 0);
  stream.close();
  await until(() => followers.count === before);
  slowly.mockRestore();
  left.resolve();
  // Pending reads end now, and must not register a follower.
  await Promise.allSettled(reads);
  await setImmediate();
  expect(followers.count).toBe(before);
});
