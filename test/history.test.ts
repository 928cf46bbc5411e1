import { expect, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { publishEventsOf } from '../src/core/events/event-log.ts';
import { trimEvents } from '../src/core/operations/upkeep.ts';
import type { Client, Json } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import { addVehicles, createContract, createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ settings: { AUTH_SCOPES: 'on' }, workers: true });
const scope = 'fleets:read fleets:write contracts:read contracts:write';
const ctx = contextOf(gateway.services, 'test', null);

/** Publishes all recorded events of a company, or waits for the job. */
async function published(company: string) {
  await publishEventsOf(ctx, company);
  await until(async () => {
    const waiting = await gateway.execute(`select from event where company = '${company}' and position is null`);
    return waiting.length === 0;
  });
}

const document = `query ($fleetId: ID, $types: [EventType!], $first: Int, $after: String) {
  history(fleetId: $fleetId, types: $types, first: $first, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes {
    id type from to actor requestId count vehicleCount fleet { id } import { id received }
    statuses { pending eligible ineligible unsupported failed }
    events(first: 1000) { totalCount nodes { id type vehicleCount } } } } }`;
async function historyOf(client: Client, variables: Json = {}): Promise<Json> {
  const { body } = await client.post('/graphql', { query: document, variables });
  expect(body.errors).toBeUndefined();
  return body.data.history;
}

test('a cursor whose row is deleted is refused: an empty page would seem to be the end', async () => {
  const client = await gateway.as('lost-cursors', { scope });
  const fleet = await createFleet(client);
  for (const name of ['a.csv', 'b.csv'])
    await client.post('/vehicles/file', uploadForm(fleet.id, newVins(1).join(), name));
  await published('lost-cursors');
  const list = async (of: string, page: string) => {
    const query = `{ fleet(id: "${fleet.id}") { imports${of === 'imports' ? page : ''} { ...page } }
      history${of === 'history' ? page : ''} { totalCount edges { cursor node { id } } } }
      fragment page on ImportConnection { totalCount edges { cursor node { id } } }`;
    const { body } = await client.post('/graphql', { query });
    return body.errors ? body.errors[0].extensions : of === 'imports' ? body.data.fleet.imports : body.data.history;
  };
  for (const [of, table] of [
    ['imports', 'import'],
    ['history', 'history'],
  ] as const) {
    const [{ cursor, node }] = (await list(of, '')).edges;
    expect((await list(of, `(after: "${cursor}")`)).edges.length).toBeGreaterThan(0);
    const paths = of === 'history' ? [`/history?after=${cursor}`] : [];
    for (const path of paths) expect((await client.get(path)).status).toBe(200);
    await gateway.execute(`delete from ${table} where id = '${node.id}'`);
    for (const [path, size] of [
      ['after', 'first'],
      ['before', 'last'],
    ]) {
      const refused = { code: 'VALIDATION_FAILED', errors: [{ path, code: 'INVALID_CURSOR' }] };
      expect(await list(of, `(${size}: 1, ${path}: "${cursor}")`)).toMatchObject(refused);
    }
    for (const path of paths)
      expect((await client.get(path)).body.errors[0]).toMatchObject({ path: 'after', code: 'INVALID_CURSOR' });
  }
});

test('an act is one item with its events', async () => {
  const acme = await gateway.as('acme', { scope });
  const fleet = await createFleet(acme);
  const other = await createFleet(acme, { name: 'Other' });
  // The manufacturer has no provider, so that the vehicles have no other events.
  const vins = newVins(2500, 0, 'ZFF');
  const { body: upload } = await acme.post('/vehicles/file', uploadForm(fleet.id, `vin\n${vins.join('\n')}\nbad\n`));
  const [vehicle] = await addVehicles(acme, newVins(3, 0, 'ZFF'), fleet);
  await acme.post('/vehicles/move', { fleetId: other.id, vins: vins.slice(0, 4) });
  await createContract(acme, vehicle);
  await published('acme');
  const { nodes } = await historyOf(acme);
  const seen = nodes
    .filter(({ type }: Json) => type !== 'ELIGIBILITY_CHANGED')
    .map((one: Json) => [one.type, one.fleet.id, one.vehicleCount, one.import?.id ?? null]);
  expect(seen).toEqual([
    ['CONTRACT_CREATED', fleet.id, 1, null],
    ['VEHICLE_MOVED', expect.any(String), 4, null],
    ['VEHICLE_MOVED', expect.any(String), 4, null],
    ['VEHICLE_ADDED', fleet.id, 3, null],
    ['IMPORT_COMPLETED', fleet.id, 2500, upload.importId],
    ['FLEET_CREATED', other.id, 0, null],
    ['FLEET_CREATED', fleet.id, 0, null],
  ]);
  for (const one of nodes) {
    expect(one.events.totalCount).toBe(one.count);
    expect(one.events.nodes.reduce((sum: number, event: Json) => sum + event.vehicleCount, 0)).toBe(one.vehicleCount);
    const { body } = await acme.get(`/events?historyId=${one.id}`);
    expect(body.map(({ id }: Json) => id)).toEqual(one.events.nodes.map(({ id }: Json) => id));
  }
  // Every event is part of exactly one item.
  const { body: events } = await acme.get('/events');
  expect(nodes.reduce((sum: number, { count }: Json) => sum + count, 0)).toBe(events.length);
});

test('commands with one X-Request-Id, and two imports with it, are items of their own', async () => {
  const client = await gateway.as('one id', { scope });
  const headers = { 'x-request-id': 'page-action-1' };
  const fleet = await createFleet(client);
  const vins = newVins(4, 0, 'ZFF');
  const upload = (some: string[]) =>
    client.post('/vehicles/file', uploadForm(fleet.id, `vin\n${some.join('\n')}\n`), headers);
  const { body: first } = await upload(vins.slice(0, 2));
  const { body: second } = await upload(vins.slice(2));
  await client.post('/vehicles/delete', { fleetId: fleet.id, vins: vins.slice(0, 3) }, headers);
  await client.post('/vehicles', { fleetId: fleet.id, vins: vins.slice(0, 1) }, headers);
  await published('one id');
  const { nodes } = await historyOf(client);
  const seen = nodes.map((one: Json) => [one.type, one.vehicleCount, one.import?.id ?? null]);
  expect(seen).toEqual([
    ['VEHICLE_ADDED', 1, null],
    ['VEHICLE_REMOVED', 3, null],
    ['IMPORT_COMPLETED', 2, second.importId],
    ['IMPORT_COMPLETED', 2, first.importId],
    ['FLEET_CREATED', 0, null],
  ]);
});

test('answers of manufacturers within an hour are one item per fleet, counted by status', async () => {
  const client = await gateway.as('answers', { scope });
  const fleet = await createFleet(client);
  await addVehicles(client, [...newVins(3, 0), ...newVins(2, 7)], fleet);
  await until(async () => {
    const { body } = await client.get('/vehicles?eligibility=PENDING');
    return body.length === 0;
  });
  await published('answers');
  const { nodes } = await historyOf(client, { types: ['ELIGIBILITY_CHANGED'] });
  const sum = (name: string) => nodes.reduce((total: number, { statuses }: Json) => total + statuses[name], 0);
  expect({ eligible: sum('eligible'), ineligible: sum('ineligible'), pending: sum('pending') }).toEqual({
    eligible: 3,
    ineligible: 2,
    pending: 0,
  });
  expect(nodes.length).toBeLessThanOrEqual(2);
});

test('the events of an item are updated as they come', async () => {
  const client = await gateway.as('followed', { scope });
  const fleet = await createFleet(client);
  const answered = async () => (await historyOf(client, { types: ['ELIGIBILITY_CHANGED'] })).nodes;
  await addVehicles(client, newVins(1, 0), fleet);
  await until(async () => (await answered()).length > 0);
  const [item] = await answered();
  const stream = await openStream(client, `/events/stream?historyId=${item.id}`);
  const [vehicle] = await addVehicles(client, newVins(1, 0), fleet);
  expect(await stream.next()).toMatchObject({ event: 'eligibility.changed', data: { vehicles: [{ id: vehicle.id }] } });
  stream.close();
});

test('both interfaces give the same, page by page, the latest first', async () => {
  const client = await gateway.as('pages', { scope });
  const fleets = [];
  for (let at = 0; at < 7; at++) fleets.push(await createFleet(client, { name: `Fleet ${at}` }));
  await published('pages');
  const whole = (await client.get('/history')).body;
  expect(whole.map(({ fleetId }: Json) => fleetId)).toEqual(fleets.map(({ id }) => id).toReversed());
  const found: string[] = [];
  for (let path: string | undefined = '/history?limit=3'; path; ) {
    const { body, headers } = await client.get(path);
    found.push(...body.map(({ id }: Json) => id));
    path = /<([^>]+)>/.exec(headers.get('link') ?? '')?.[1];
  }
  expect(found).toEqual(whole.map(({ id }: Json) => id));
  const again: string[] = [];
  for (let after: string | null = null; ; ) {
    const { nodes, pageInfo } = await historyOf(client, { first: 2, after });
    again.push(...nodes.map(({ id }: Json) => id));
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  expect(again).toEqual(found);
  const { nodes } = await historyOf(client, { fleetId: fleets[2]?.id });
  expect(nodes.map(({ fleet }: Json) => fleet.id)).toEqual([fleets[2]?.id]);
  expect((await client.get(`/history?fleetId=${fleets[2]?.id}&type=fleet.created`)).body).toHaveLength(1);
  expect((await client.get('/history?type=vehicle.added')).body).toEqual([]);
  expect((await client.get('/history?type=nothing')).status).toBe(400);
});

test('the company has its totals, and its events are counted by hour and day', async () => {
  const client = await gateway.as('totals', { scope });
  const fleet = await createFleet(client);
  const [vehicle] = await addVehicles(client, newVins(3, 0), fleet);
  await createContract(client, vehicle);
  await published('totals');
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const query = `query ($from: DateTime!, $fleetId: ID) { company {
    id fleetCount vehicleCount contractCount eligibilitySummary { pending eligible ineligible unsupported failed }
    contractSummary { scheduled pending active rejected failed ending ended unsupported off byReason { state reason actor count } }
    activity(from: $from, fleetId: $fleetId) { from type count vehicleCount } } }`;
  const { body } = await client.post('/graphql', { query, variables: { from } });
  const { activity, ...totals } = body.data.company;
  expect(totals).toMatchObject({ id: 'totals', fleetCount: 1, vehicleCount: 3, contractCount: 1 });
  expect((await client.get('/company')).body).toEqual({ ...totals, eligibilitySummary: expect.any(Object) });
  expect(totals.contractSummary).toMatchObject({ scheduled: 1, active: 0, ended: 0 });
  const { body: days } = await client.get(`/company/activity?from=${from}`);
  const upper = (type: string) => type.toUpperCase().replace('.', '_');
  const same = days.map((one: Json) => ({ ...one, type: upper(one.type) }));
  const own = (all: Json[]) => all.filter(({ type }) => type !== 'ELIGIBILITY_CHANGED');
  expect(own(same)).toEqual(own(activity));
  const { body: events } = await client.get('/events');
  for (const by of ['HOUR', 'DAY']) {
    const { body: counts } = await client.get(`/company/activity?from=${from}&by=${by}&fleetId=${fleet.id}`);
    for (const type of ['fleet.created', 'vehicle.added', 'contract.created']) {
      const those = counts.filter((one: Json) => one.type === type);
      const told = events.filter((one: Json) => one.type === type);
      const sum = (name: string) => those.reduce((total: number, one: Json) => total + one[name], 0);
      expect([type, sum('count')]).toEqual([type, told.length]);
      expect([type, sum('vehicleCount')]).toEqual([type, told[0].vehicleCount]);
    }
  }
  for (const [wrong, path] of [
    ['', 'from'],
    ['?from=yesterday', 'from'],
    ['?from=2000-01-01T00:00:00Z', 'from'],
    [`?from=${from}&by=WEEK`, 'by'],
    [`?from=${from}&to=${from}`, 'to'],
  ] as const) {
    const { status, body: problem } = await client.get(`/company/activity${wrong}`);
    expect([wrong, status, problem.errors?.[0]?.path]).toEqual([wrong, 400, path]);
  }
});

test('an operation counts each total that it selects once', async () => {
  const client = await gateway.as('counted', { scope });
  await createFleet(client);
  const reads = vi.spyOn(gateway.database, 'slowRead');
  const aliases = Array.from({ length: 40 }, (_, at) => `c${at}: company { id fleetCount ...V }`).join(' ');
  const { body } = await client.post('/graphql', {
    query: `{ ${aliases} } fragment V on Company { eligibilitySummary { pending } again: fleetCount }`,
  });
  const texts = reads.mock.calls.map(([text]) => text);
  reads.mockRestore();
  expect(Object.keys(body.data)).toHaveLength(40);
  expect(body.data.c39).toEqual({ id: 'counted', fleetCount: 1, again: 1, eligibilitySummary: { pending: 0 } });
  expect(texts).toHaveLength(1);
  expect(texts[0]).not.toContain('contract');
});

test('another company’s history is hidden, and contracts need their scope', async () => {
  const owner = await gateway.as('owner', { scope });
  const [vehicle] = await addVehicles(owner, newVins(1));
  await createContract(owner, vehicle);
  await published('owner');
  const reader = await gateway.as('owner', { scope: 'fleets:read' });
  expect((await reader.get('/company')).body.contractCount).toBeNull();
  const from = new Date(Date.now() - 3_600_000).toISOString();
  for (const path of ['/history', `/company/activity?from=${from}`]) {
    const types = async (client: Client) => (await client.get(path)).body.map(({ type }: Json) => type);
    expect(await types(owner)).toContain('contract.created');
    expect(await types(reader)).not.toContain('contract.created');
    expect(await types(await gateway.as('stranger', { scope }))).toEqual([]);
  }
});

test('history is kept as long as events', async () => {
  const client = await gateway.as('old', { scope });
  await createFleet(client);
  await published('old');
  gateway.passTime(401 * 86_400_000);
  while (await trimEvents(ctx));
  for (const table of ['event', 'history', 'activity']) {
    expect([table, await gateway.execute(`select from ${table} where company = 'old'`)]).toEqual([table, []]);
  }
});
