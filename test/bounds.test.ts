import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Answer, type Client, type Json, nextOf } from './support/client.ts';
import { addVehicles, createFleet, newVins, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { largestGraphql, largestRest } from './support/largest.ts';

const ITEMS = 300;
const BYTES = 64 * 1024;
const gateway = await startGateway({ settings: { LIMIT_VINS: String(ITEMS), LIMIT_JSON_BYTES: String(BYTES) } });
const acme = await gateway.as('acme');
const accept = 'application/graphql-response+json';
const sizes = { bytes: BYTES, items: ITEMS, vins: newVins(ITEMS) };

const post = async (path: string, body: string, accept = 'application/json', method = 'POST') => {
  const headers = { ...acme.headers, 'content-type': 'application/json', accept };
  const response = await fetch(acme.url + path, { method, headers, body });
  const text = await response.text();
  return { status: response.status, text, body: text ? JSON.parse(text) : null };
};

/** Faults of an answer to a request that may be invalid in many places. */
function inputErrorsOf({ status, text, body }: Awaited<ReturnType<typeof post>>, asked: number): string[] {
  const refusal: Json = body?.errors?.[0]?.extensions ?? body;
  const listed = refusal?.errors?.length ?? 0;
  return [
    ...(status >= 500 || text.includes('"INTERNAL"') ? [`${status} ${text.slice(0, 200)}`] : []),
    ...(listed > 100 ? [`${listed} errors`] : []),
    ...(refusal?.errorsOmitted !== undefined && listed !== 100 ? [`errors omitted from ${listed}`] : []),
    ...(status >= 400 && text.length > 20 * Math.max(asked, ITEMS * 15) ? [`${text.length} bytes for ${asked}`] : []),
  ];
}

describe('a list that is too long, or wrong in every item', () => {
  test('is refused in few words by every operation of REST', async () => {
    const { id: fleetId } = await createFleet(acme);
    const faults: string[] = [];
    let tried = 0;
    for (const { operation, shape, method, path, body } of largestRest({ fleetId }, sizes)) {
      if (body === undefined) continue;
      tried += 1;
      const answer = await post(path, body, 'application/json', method);
      faults.push(...inputErrorsOf(answer, body.length).map((fault) => `${operation}, ${shape}: ${fault}`));
    }
    expect(tried).toBeGreaterThan(60);
    expect(faults).toEqual([]);
  });

  test('is refused in few words by every field of GraphQL, and costs cover all objects', async () => {
    const fleet = await createFleet(acme);
    await addVehicles(acme, sizes.vins, fleet);
    const known = { fleetId: fleet.id, 'fleet id': fleet.id, vin: sizes.vins[0] ?? '' };
    const faults: string[] = [];
    let tried = 0;
    for (const { operation, shape, byPage } of largestGraphql(known, sizes)) {
      const body = byPage(20);
      const answer = await post('/graphql', body);
      tried += 1;
      const { data, extensions } = answer.body;
      const holds = objectsIn(data) - 1;
      const cost = extensions?.cost?.requestedQueryCost;
      faults.push(...inputErrorsOf(answer, body.length).map((fault) => `${operation}, ${shape}: ${fault}`));
      if (holds > cost) faults.push(`${operation}, ${shape}: costs ${cost}, holds ${holds}`);
    }
    expect(tried).toBeGreaterThan(150);
    expect(faults).toEqual([]);
  });

  /** The number of objects in an answer; members of JSON scalars are few enough to be counted. */
  const objectsIn = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const below = Object.entries(value).map(([name, one]) =>
      name === 'data' || name === 'headers' ? 0 : objectsIn(one),
    );
    return (Array.isArray(value) ? 0 : 1) + below.reduce((sum, one) => sum + one, 0);
  };

  const wrong = (count: number) => Array.from({ length: count }, () => true);
  const query = 'mutation ($input: DeleteVehiclesInput!) { deleteVehicles(input: $input) { deleted { vehicleId } } }';
  const refusals: Record<string, (ids: unknown[]) => Promise<Json>> = {
    REST: async (ids) => (await post('/vehicles', JSON.stringify({ fleetId: 'x', ids }), undefined, 'DELETE')).body,
    async GraphQL(ids) {
      const variables = { input: { fleetId: 'x', ids } };
      return (await post('/graphql', JSON.stringify({ query, variables }), accept)).body.errors[0].extensions;
    },
  };
  test.each(Object.entries(refusals))(
    '100 errors are listed, with the number of others: %s',
    async (way, domainErrorOf) => {
      const few = await domainErrorOf(wrong(100));
      expect({ code: few.code, listed: few.errors.length, omitted: few.errorsOmitted }).toEqual({
        code: 'VALIDATION_FAILED',
        listed: 100,
        omitted: undefined,
      });
      const many = await domainErrorOf(wrong(ITEMS));
      expect({ code: many.code, listed: many.errors.length, omitted: many.errorsOmitted }).toEqual({
        code: 'VALIDATION_FAILED',
        listed: 100,
        // graphql-js reports only that there are more.
        omitted: way === 'REST' ? ITEMS - 100 : 1,
      });
      expect(many.errors[99].path).toBe('ids.99');
      expect(await domainErrorOf(wrong(ITEMS + 1))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    },
  );

  test('refused rows of a file are counted, too', async () => {
    const { id } = await createFleet(acme);
    const form = new FormData();
    form.append('fleetId', id);
    form.append('vins', new Blob([`vin\n${'SHORT\n'.repeat(250)}`], { type: 'text/csv' }), 'vins.csv');
    const { status, body } = await acme.post('/vehicles/file', form);
    expect({ status, listed: body.errors.length, omitted: body.errorsOmitted }).toEqual({
      status: 400,
      listed: 100,
      omitted: 150,
    });
  });
});

describe('limits of a GraphQL answer', () => {
  const ask = (query: string, variables: object = {}) => post('/graphql', JSON.stringify({ query, variables }), accept);
  const codeOf = ({ body }: { body: Json }) => body.errors?.[0]?.extensions.code;

  test('a list of a payload costs as much as the input has items', async () => {
    const fleet = await createFleet(acme);
    const add = `mutation ($input: AddVehiclesInput!) {
      addVehicles(input: $input) { vehicles { fleet { vehicles(first: 900) { nodes { id } } } } } }`;
    const input = { fleetId: fleet.id, vins: newVins(100), dryRun: true };
    const answer = await ask(add, { input });
    expect({ status: answer.status, code: codeOf(answer) }).toEqual({ status: 400, code: 'COST_EXCEEDED' });
    // Each item costs a vehicle, a fleet, a connection and its nodes.
    const few = await ask(add, { input: { ...input, vins: newVins(2) } });
    expect(few.body.extensions.cost.requestedQueryCost).toBe(1 + 2 * (1 + 1 + 1 + 900));
    const written = `mutation { verifyEligibility(input: { vins: ["a", "b", "c"] }) { eligibilities { manufacturer { id } } } }`;
    expect((await ask(written)).body.extensions.cost.requestedQueryCost).toBe(1 + 3 * (1 + 1));
    expect(codeOf(await ask('{ events(first: 60) { nodes { vehicles { vehicleId } } } }'))).toBe('COST_EXCEEDED');
  });

  test('its text is counted while it is written', async () => {
    const client = await gateway.as('wordy');
    // A control character is one character in PostgreSQL, and six in JSON.
    const name = `${'\u0001'.repeat(250)}x`;
    await Promise.all(Array.from({ length: 50 }, () => createFleet(client, { name, vat: name })));
    const names = Array.from({ length: 25 }, (_, at) => `n${at}: name`).join(' ');
    const lists = (count: number) =>
      Array.from({ length: count }, (_, at) => `f${at}: fleets(first: 50) { nodes { ...F } }`).join(' ');
    const asked = (count: number) => ({
      query: `{ ${lists(count)} } fragment F on Fleet { ${names} }`,
    });
    const send = async (count: number) => (await client.post('/graphql', asked(count), { accept })) as Answer;
    // 50 fleets with 25 names of 1,500 bytes each: 1.9 MB a list.
    const whole = await send(3);
    expect(whole.body.data.f2.nodes[49].n24).toBe(name);
    // All lists are in one statement, whose result is bounded.
    const refused = await send(10);
    expect({ status: refused.status, code: codeOf(refused), data: refused.body.data }).toEqual({
      status: 400,
      code: 'COST_EXCEEDED',
      data: undefined,
    });
    expect(refused.body.errors).toHaveLength(1);
  });

  test.each([
    [`{ ${'x'.repeat(101)}: manufacturers { id } }`, '100 characters in one name'],
    ['{ a: __typename b: __typename c: __typename d: __typename }', '3 aliases of __typename'],
  ])('limits names: %s', async (query, bound) => {
    const answer = await ask(query);
    expect({ status: answer.status, code: codeOf(answer) }).toEqual({ status: 400, code: 'GRAPHQL_VALIDATION_FAILED' });
    expect(answer.text).toContain(bound);
  });

  test.each([
    ['{ fleets( }', 'GRAPHQL_PARSE_FAILED'],
    ['{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['query A { __typename } query B { __typename }', 'OPERATION_RESOLUTION_FAILURE'],
  ])('what GraphQL itself refuses has its code: %s', async (query, code) => {
    const answer = await ask(query);
    expect({ status: answer.status, code: codeOf(answer) }).toEqual({ status: 400, code });
  });
});

/** Adds large events to the company's log. */
async function addLargeEvents(client: Client, company: string, count: number): Promise<void> {
  const { id } = await createFleet(client);
  await gateway.execute(`
    insert into event (type, company, fleet_id, vehicle_ids, vins, actor, at, data, position)
    select 'vehicle.added', '${company}', '${id}',
      array(select gen_random_uuid() from generate_series(1, 1000)),
      array(select 'WBA' || lpad(v::text, 14, '0') from generate_series(1, 1000) v), 'test', now(), '{}', 1000000 + n
    from generate_series(1, ${count}) n`);
}

test('a page of large events has fewer events, and the next page continues', async () => {
  const client = await gateway.as('eventful');
  await addLargeEvents(client, 'eventful', 130);
  const lengths: number[] = [];
  const positions: string[] = [];
  for (let path: string | undefined = '/events?limit=1000'; path; ) {
    const { headers, body }: Answer = await client.get(path);
    positions.push(...body.map((event: Json) => event.id));
    lengths.push(JSON.stringify(body).length);
    path = nextOf(headers);
  }
  expect(lengths).toHaveLength(2);
  expect(Math.max(...lengths)).toBeLessThan(10 * 1024 * 1024);
  const whole: string[] = (await client.get('/events')).body.map((event: Json) => event.id);
  expect(whole).toHaveLength(130);
  expect(positions).toEqual(whole);
});

describe('what one statement reads', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });
  const many = (count: number, text: (at: number) => string) => Array.from({ length: count }, (_, at) => text(at));

  test('is bounded in bytes and read on a connection of its own, also for the vehicles of few events', async () => {
    const client = await gateway.as('verbose');
    await addLargeEvents(client, 'verbose', 59);
    const slow = vi.spyOn(gateway.database, 'slowRead');
    const fields = many(20, (at) => `${'n'.repeat(98)}${at + 10}: vehicleId`).join(' ');
    const query = (first: number) => `{ events(last: ${first}) { nodes { vehicles { ${fields} } } } }`;
    const { status, body } = await client.post('/graphql', { query: query(59) }, { accept });
    expect({ status, code: body.errors?.[0].extensions.code }).toEqual({ status: 400, code: 'COST_EXCEEDED' });
    expect(JSON.stringify(body).length).toBeLessThan(1000);
    const whole = await client.post('/graphql', { query: query(3) });
    expect(whole.body.data.events.nodes[2].vehicles).toHaveLength(1000);
    expect(slow).toHaveBeenCalledTimes(2);
  });

  test('may be large for one of many objects, as long as all of them are not', async () => {
    const client = await gateway.as('uneven');
    const fleet = await createFleet(client, { name: 'x'.repeat(255) });
    await addVehicles(client, newVins(100), fleet);
    const names = many(45, (at) => `n${at}: name`).join(' ');
    const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Fleet { contracts(first: 100) { nodes { id } }
      vehicles(first: 20) { nodes { fleet { ${names} } } } } } }`;
    const ask = (ids: string[]) => client.post('/graphql', { query, variables: { ids } });
    const others = Array.from({ length: 99 }, () => unknownId);
    const one = await ask([fleet.id, ...others]);
    expect(one.body.errors).toBeUndefined();
    expect(JSON.stringify(one.body).length).toBeGreaterThan((16 * 1024 * 1024) / 100);
    const all = await ask(Array(100).fill(fleet.id));
    expect(all.body.errors[0].extensions.code).toBe('COST_EXCEEDED');
  });

  test('takes a turn if it looks at the fleets of the company many times', async () => {
    const client = await gateway.as('counting');
    await createFleet(client);
    const slow = vi.spyOn(gateway.database, 'slowRead');
    const counts = (count: number) =>
      many(count, (at) => `a${at}: fleets(filter: { name: "zz" }) { totalCount }`).join(' ');
    const ask = (count: number) => client.post('/graphql', { query: `{ ${counts(count)} }` });
    expect((await ask(2)).body.data).toEqual({ a0: { totalCount: 0 }, a1: { totalCount: 0 } });
    expect(slow).not.toHaveBeenCalled();
    vi.spyOn(gateway.services.fairness.turns, 'isAlone').mockReturnValue(false);
    const turns = vi.spyOn(gateway.services.fairness.large.search, 'run');
    expect(Object.keys((await ask(12)).body.data)).toHaveLength(12);
    expect(turns).toHaveBeenCalledTimes(1);
  });
});

test('a search below the payload of a change takes a turn', async () => {
  const client = await gateway.as('payload');
  const { id, name } = await createFleet(client);
  vi.spyOn(gateway.services.fairness.turns, 'isAlone').mockReturnValue(false);
  const turns = vi.spyOn(gateway.services.fairness.large.search, 'run');
  const query = `mutation ($input: UpdateFleetInput!) { updateFleet(input: $input) {
    fleet { vehicles(first: 1000, filter: { manufacturer: "bmw" }) { totalCount } } } }`;
  const { body } = await client.post('/graphql', { query, variables: { input: { id, name } } });
  expect(body.data.updateFleet.fleet.vehicles.totalCount).toBe(0);
  expect(turns).toHaveBeenCalledTimes(1);
  vi.restoreAllMocks();
});

test.each([
  ['activity of many hours takes a turn, since graphql-js makes its objects', '2026-11-01T00:00:00Z', 1],
  ['activity of a few hours takes none', '2026-11-10T00:00:00Z', 0],
])('%s', async (_name, from, count) => {
  const client = await gateway.as('active');
  vi.spyOn(gateway.services.fairness.turns, 'isAlone').mockReturnValue(false);
  const turns = vi.spyOn(gateway.services.fairness.large.answer, 'run');
  const query = `{ company { activity(from: "${from}", to: "2026-11-10T02:00:00Z", by: HOUR) { from type count } } }`;
  expect((await client.post('/graphql', { query })).body.data.company.activity).toEqual([]);
  expect(turns).toHaveBeenCalledTimes(count);
  vi.restoreAllMocks();
});

test('a large answer that the database writes takes no turn of graphql-js', async () => {
  const client = await gateway.as('active');
  vi.spyOn(gateway.services.fairness.turns, 'isAlone').mockReturnValue(false);
  const turns = vi.spyOn(gateway.services.fairness.large.answer, 'run');
  const query = '{ fleets(first: 100) { nodes { vehicles(first: 100) { nodes { vin } } } } }';
  expect((await client.post('/graphql', { query })).body.data.fleets.nodes).toEqual([]);
  expect(turns).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

test('a change is large by the items of its lists, not by the length of its document', async () => {
  const client = await gateway.as('changing');
  const fleet = await createFleet(client);
  vi.spyOn(gateway.services.fairness.turns, 'isAlone').mockReturnValue(false);
  const turns = vi.spyOn(gateway.services.fairness.large.change, 'run');
  const rename = `mutation { updateFleet(input: { id: "${fleet.id}", name: "Other" }) { fleet { name } } } # ${'x'.repeat(5000)}`;
  expect((await client.post('/graphql', { query: rename })).body.errors).toBeUndefined();
  expect(turns).not.toHaveBeenCalled();
  const vins = newVins(201);
  const add = (list: string, variables = '') =>
    `mutation ${variables} { addVehicles(input: { fleetId: "${fleet.id}", dryRun: true, vins: ${list} }) { summary { received } } }`;
  for (const asked of [
    { query: add(JSON.stringify(vins)) },
    { query: add('$vins', '($vins: [String!]!)'), variables: { vins } },
  ]) {
    expect((await client.post('/graphql', asked)).body.data.addVehicles.summary.received).toBe(201);
  }
  expect(turns).toHaveBeenCalledTimes(2);
  vi.restoreAllMocks();
});

test('/readyz checks the database once for concurrent requests', async () => {
  let looks = 0;
  const { database } = gateway;
  const look = () => {
    looks += 1;
    return database.unready();
  };
  const patient = await startGateway({
    on: { ...gateway, database: { ...database, unready: look } },
  });
  const answers = await Promise.all(Array.from({ length: 100 }, () => patient.anyone.get('/readyz')));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(looks).toBeLessThanOrEqual(10);
  expect(looks).toBeGreaterThan(0);
});
