import { getIntrospectionQuery } from 'graphql';
import { auditServer } from 'graphql-http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Json } from './support/client.ts';
import { createFleet, fleetFields, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const closed = await startGateway({
  on: gateway,
  settings: { INTROSPECTION: 'off', GRAPHIQL: 'off', LIMIT_GRAPHQL_COST: '100', LIMIT_GRAPHQL_SECONDS: '1' },
});
const stranger = await closed.as('acme');
const accept = 'application/graphql-response+json';
const codesOf = ({ body }: { body: Json }) => body.errors?.map((error: Json) => error.extensions.code);
const many = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => text(at)).join(' ');

afterEach(() => {
  vi.restoreAllMocks();
});

describe('GraphQL over HTTP, as the graphql-http package audits it', () => {
  test.each(['alone', 'twice'])('every audit passes, with each Accept header %s', async (times) => {
    const results = await auditServer({
      url: `${gateway.url}/graphql`,
      fetchFn: (url: string, init: RequestInit = {}) => {
        const headers = new Headers(init.headers);
        if (times === 'twice' && headers.has('accept')) {
          const asked = headers.get('accept') ?? '';
          headers.set('accept', `${asked}, ${asked};q=0.9`);
        }
        return fetch(url, { ...init, headers });
      },
    });
    expect(results).toHaveLength(61);
    const failed = await Promise.all(
      results
        .filter(({ status }) => status !== 'ok')
        .map(async (result) => ({
          id: result.id,
          name: result.name,
          reason: 'reason' in result && result.reason,
          answer: 'response' in result && (await result.response.clone().text()),
        })),
    );
    expect(failed).toEqual([]);
  });
});

describe('a document beyond the limits', () => {
  const beyond: Record<string, [query: string, bound: string]> = {
    '300 kB': [`{ __typename } # ${'x'.repeat(300_000)}`, '16,384 characters'],
    '2,001 tokens': [`{ ${'a '.repeat(1999)}}`, '2,000 tokens'],
    '5,000 levels': [`${'{a'.repeat(5000)}${'}'.repeat(5000)}`, '2,000 tokens'],
    '51 aliases of __typename': [`{ ${many(51, (at) => `a${at}: __typename`)} }`, '50 aliases'],
    '51 inline fragments': [`{ ${many(51, () => '... on Query { __typename }')} }`, '50 fragments'],
    'a field 52 times': [`{ ${many(52, () => '__typename')} }`, '50 repeated fields'],
    '21 levels of lists': [`{ fleet(id: ${'['.repeat(21)}${']'.repeat(21)}) { id } }`, '20 levels of values'],
    '980 levels of lists': [`{ fleet(id: ${'['.repeat(980)}${']'.repeat(980)}) { id } }`, '20 levels of values'],
    '5,000 levels of lists': [`{ fleet(id: ${'['.repeat(5000)}) { id } }`, 'at most 2'],
    '450 levels of objects': [`{ fleet(id: ${'{a:'.repeat(450)}1${'}'.repeat(450)}) { id } }`, '20 levels of values'],
    '900 levels of a type': [
      `query ($v: ${'['.repeat(900)}ID${']'.repeat(900)}) { fleet(id: $v) { id } }`,
      '20 levels of values',
    ],
    'the schema four times over': [`{ ${many(4, (at) => `a${at}: __schema { types { name } }`)} }`, '3 aliases where'],
    'fields of types of fields': [
      '{ __schema { types { fields { type { ...F } } } } } fragment F on __Type { ofType { fields { name } } }',
      '2 levels of lists and aliases in the schema',
    ],
    'types of types of one type': [
      '{ __type(name: "Fleet") { fields { type { fields { args { type { inputFields { name } } } } } } } }',
      '2 levels of lists and aliases in the schema',
    ],
    'copies of the schema': [
      `{ __schema { ...S } ${many(3, (at) => `a${at}: __schema { ...S }`)} }
       fragment S on __Schema { types { fields { name } } }`,
      '2 levels of lists and aliases in the schema',
    ],
    'copies of the fields of all types': [
      '{ __schema { types { fields { name } a: fields { name } b: fields { name } } } }',
      '2 levels of lists and aliases in the schema',
    ],
  };
  test.each(Object.entries(beyond))('%s: 400, for anyone, and no SQL', async (_name, [query, bound]) => {
    const ways = [
      vi.spyOn(gateway.database.orm.em.getKysely().getExecutor(), 'executeQuery'),
      vi.spyOn(gateway.database.orm.em.getConnection(), 'execute'),
      vi.spyOn(gateway.database, 'read'),
      vi.spyOn(gateway.database, 'read'),
      vi.spyOn(gateway.database, 'send'),
      vi.spyOn(gateway.database, 'add'),
    ];
    for (const client of [acme, gateway.anyone]) {
      const answer = await client.post('/graphql', { query }, { accept });
      expect({ status: answer.status, codes: codesOf(answer) }).toEqual({
        status: 400,
        codes: ['GRAPHQL_VALIDATION_FAILED'],
      });
      expect(answer.body.errors[0].message).toContain(bound);
    }
    for (const way of ways) expect(way).not.toHaveBeenCalled();
  });
});

describe('the schema', () => {
  const whole = getIntrospectionQuery({
    ...{ specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true },
    ...{ inputValueDeprecation: true, oneOf: true },
  });

  const allowed: Record<string, string> = {
    'as tools ask for it': whole,
    'without options': getIntrospectionQuery({ descriptions: false }),
    'one type with the fields of its fields': `{ __type(name: "Fleet") {
      fields { name args { name type { name } } type { name ofType { name fields { name type { name } } } } } } }`,
    'some types under aliases': `{ a: __type(name: "Fleet") { fields { name args { a: name } } }
      b: __type(name: "FleetStatus") { enumValues { name } } }`,
    'the names of root fields': '{ __schema { queryType { fields { name } } mutationType { fields { name } } } }',
  };

  test.each(Object.entries(allowed))('%s', async (_name, query) => {
    const { status, body } = await gateway.anyone.post('/graphql', { query });
    expect({ status, errors: body.errors }).toEqual({ status: 200, errors: undefined });
  });

  test('the largest answer has few times the bytes of what tools ask for', async () => {
    const sizeOf = async (query: string) => {
      const { body } = await gateway.anyone.post('/graphql', { query });
      expect(body).toMatchObject({ data: expect.anything() });
      return JSON.stringify(body).length;
    };
    const leaves = 'name description kind specifiedByURL isOneOf';
    const ref = `${leaves} ${'ofType { '.repeat(3)} ${leaves} ${'}'.repeat(3)}`;
    const input = `name description defaultValue isDeprecated deprecationReason type { ${ref} }`;
    const type = (inside: string) => `${ref} enumValues(includeDeprecated: true) { name description }
      fields(includeDeprecated: true) { name description isDeprecated
        args(includeDeprecated: true) { ${input} ${inside} } type { ${ref} } ${inside} }
      inputFields(includeDeprecated: true) { ${input} ${inside} } interfaces { ${ref} } possibleTypes { ${ref} }`;
    const largest = `{ __schema { types { ...T } queryType { ...R } mutationType { ...R } subscriptionType { ...R }
        directives { description args { ${input} } } } }
      fragment T on __Type { ${type('')} } fragment R on __Type { ${type('type { ...U ofType { ...U } }')} }
      fragment U on __Type { ${type('')} }`;
    expect(await sizeOf(largest)).toBeLessThan(5 * (await sizeOf(whole)));
  });
});

test.each([undefined, '*/*', 'application/json', 'text/event-stream', 'multipart/mixed'])(
  'a document beyond the limits is 400 for Accept: %s',
  async (accept) => {
    const headers = { ...(accept && { accept }) };
    for (const query of [
      `${'{a'.repeat(5000)}${'}'.repeat(5000)}`,
      `${'{a'.repeat(30)}${'}'.repeat(30)}`,
      `{ ${many(51, (at) => `a${at}: __typename`)} }`,
      '{ fleets(first: 1000) { nodes { vehicles(first: 1000) { nodes { id } } } } }',
    ]) {
      const answer = await acme.post('/graphql', { query }, headers);
      expect({ status: answer.status, said: JSON.stringify(answer.body) }, query.slice(0, 20)).toEqual({
        status: 400,
        said: expect.stringContaining('An operation has at most'),
      });
    }
  },
);

describe('cost', () => {
  const query = 'query ($n: Int = 3) { fleets(first: $n) { nodes { vehicles(first: 10) { nodes { id } } } } }';

  test('is in the answer, by first and nesting', async () => {
    const costOf = async (variables: object) =>
      (await acme.post('/graphql', { query, variables }, { accept })).body.extensions.cost;
    // Counts the connection, its n fleets, each fleet's connection and its 10 vehicles.
    expect(await costOf({})).toEqual({ requestedQueryCost: 1 + 3 * 12, maximumQueryCost: 60_000 });
    expect(await costOf({ n: 20 })).toEqual({ requestedQueryCost: 1 + 20 * 12, maximumQueryCost: 60_000 });
    for (let use = 0; use < 4; use++) {
      const { body } = await acme.post('/graphql', { query: '{ fleets(first: 7) { nodes { id } } }' }, { accept });
      expect(body.extensions).toEqual({ cost: { requestedQueryCost: 8, maximumQueryCost: 60_000 } });
    }
  });

  test('counts every hour or day of every type of activity', async () => {
    const types = await acme.post('/graphql', { query: '{ __type(name: "EventType") { enumValues { name } } }' });
    const known = types.body.data.__type.enumValues.filter(({ name }: Json) => name !== 'OTHER').length;
    const query = `query ($from: DateTime!, $by: ActivityUnit! = DAY) {
      company { activity(from: $from, to: "2026-02-01T10:30:00Z", by: $by) { count } } }`;
    const costOf = async (variables: object) =>
      (await acme.post('/graphql', { query, variables })).body.extensions.cost.requestedQueryCost;
    expect(await costOf({ from: '2026-01-31T23:00:00Z' })).toBe(1 + 2 * known);
    expect(await costOf({ from: '2026-01-31T23:00:00Z', by: 'HOUR' })).toBe(1 + 12 * known);
    expect(await costOf({ from: '2026-03-01T00:00:00Z' })).toBe(1);
    expect(await costOf({ from: '2000-01-01T00:00:00Z' })).toBe(1 + 1000 * known);
  });

  test('counts each search as a point of the rate limit', async () => {
    const query = `{ ${many(33, (at) => `s${at}: search(text: "no such name") { __typename }`)} }`;
    const { body } = await acme.post('/graphql', { query });
    expect(body.extensions.cost.requestedQueryCost).toBe(33 * 1000);
  });

  test('leaves null for a required argument to the execution, which rejects it at its place', async () => {
    const query = `query ($from: DateTime = "2026-01-01T00:00:00Z") { company { activity(from: $from) { count } } }`;
    const { body } = await acme.post('/graphql', { query, variables: { from: null } });
    expect(body.data).toBeNull();
    expect(body.errors).toMatchObject([{ path: ['company', 'activity'], extensions: { code: 'VALIDATION_FAILED' } }]);
  });

  test('counts a single value in place of a list as one', async () => {
    const costOf = async (ids: string) =>
      (
        await acme.post('/graphql', {
          query: `{ nodes(ids: ${ids}) { ... on Fleet { contracts(first: 9) { nodes { id } } } } }`,
        })
      ).body.extensions.cost;
    expect(await costOf(`"${unknownId}"`)).toEqual(await costOf(`["${unknownId}"]`));
    expect(await costOf(`"${unknownId}"`)).toMatchObject({ requestedQueryCost: 11 });
  });

  test('above LIMIT_GRAPHQL_COST is 400 with the limit', async () => {
    expect(await stranger.post('/graphql', { query, variables: { n: 8 } })).toMatchObject({
      body: { extensions: { cost: { requestedQueryCost: 97, maximumQueryCost: 100 } } },
    });
    const answer = await stranger.post('/graphql', { query, variables: { n: 9 } }, { accept });
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 400, codes: ['COST_EXCEEDED'] });
    expect(answer.body.errors[0].message).toBe(
      'An operation has at most 100 objects in its answer; this one may have 109.',
    );
  });
});

describe('rows that are read', () => {
  const LARGE = 20_000;
  const fill = `
    with one as (insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
      values (gen_random_uuid(), 'large', 'Large', 'Here', 'a@example.com', 'DE1', now(), now()) returning id)
    insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at)
      select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'large', one.id, 'WBA' || lpad(n::text, 14, '0'),
        'bmw', now() from one, generate_series(1, ${LARGE}) n`;
  const counted = 'vehicles(filter: { vin: "WBA" }) { totalCount }';
  const listed = 'vehicles(first: 1, filter: { vin: "WBA", manufacturer: "bmw" }) { nodes { id } }';

  test('below many parents are too many if the company has them', async () => {
    await gateway.execute(`insert into company (company, position) values ('large', 0)`);
    await gateway.execute(fill);
    const large = await gateway.as('large');
    const ask = (first: number, below: string) =>
      large.post('/graphql', { query: `{ vehicles(first: ${first}) { nodes { fleet { ${below} } } } }` });
    for (const below of [counted, listed]) expect(codesOf(await ask(1000, below))).toEqual(['COST_EXCEEDED']);
    const { body } = await ask(1000, counted);
    expect(body.data).toBeUndefined();
    expect(body.errors[0].message).toBe(
      'Filters and counts look at up to 1,200,000 rows, here at up to 20,001,001: ask for fewer parents, or leave out the counts or filters below them.',
    );
    // The fleets together have no more vehicles than the company.
    const fleets = await large.post('/graphql', {
      query: `{ fleets(first: 1000) { nodes { ${counted} seen: ${listed} } } }`,
    });
    expect(codesOf(fleets)).toBeUndefined();
    const few = await ask(2, counted);
    expect(few.body.data.vehicles.nodes[0].fleet.vehicles.totalCount).toBe(LARGE);
  });

  test('are few if a list is sorted by counts', async () => {
    await gateway.execute(`insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
      select gen_random_uuid(), 'sorted', 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now() from generate_series(1, 800)`);
    const sorted = await closed.as('sorted');
    const ask = (field: string, lists: number) => {
      const all = many(lists, (at) => `f${at}: fleets(first: 1, orderBy: { field: ${field} }) { nodes { id } }`);
      return sorted.post('/graphql', { query: `{ ${all} }` });
    };
    expect(codesOf(await ask('VEHICLE_COUNT', 3))).toBeUndefined();
    expect(codesOf(await ask('NAME', 3))).toBeUndefined();
  });

  test('below as many parents are few if the company has few', async () => {
    const { id } = await createFleet(acme);
    const query = `{ fleets(first: 1000) { nodes { ${counted} contracts { totalCount } timeline { totalCount } } }
      fleet(id: "${id}") { ${listed} } }`;
    expect(codesOf(await acme.post('/graphql', { query }))).toBeUndefined();
  });
});

describe('fragments that multiply fields', () => {
  /** Each level selects the next one three times: 800 characters, and 3 to the power of `count` selections. */
  const levels = (count: number) => {
    const fragments = many(count, (at) => {
      const below = at + 1 < count ? `...L${at + 1}` : 'id';
      const [on, list] = at % 2 ? ['Vehicle', 'contracts'] : ['Contract', 'vehicle'];
      const call = (name: string) =>
        at % 2
          ? `${name}: ${list}(first: 1) { totalCount nodes { id ${below} } }`
          : `${name}: ${list} { vin ${at + 1 < count ? below : ''} }`;
      return `fragment L${at} on ${on} { ${['a', 'b', 'c'].map(call).join(' ')} }`;
    });
    return `{ contracts(first: 1) { nodes { ...L0 } } } ${fragments}`;
  };

  test('are limited, and the limit is named', async () => {
    expect((await acme.post('/graphql', { query: levels(3) }, { accept })).status).toBe(200);
    for (const count of [5, 9]) {
      const answer = await acme.post('/graphql', { query: levels(count) }, { accept });
      expect({ status: answer.status, codes: codesOf(answer) }).toEqual({
        status: 400,
        codes: ['GRAPHQL_VALIDATION_FAILED'],
      });
      expect(answer.body.errors[0].message).toMatch(/at most 100 .* with those of its fragments/);
    }
  });

  test('are limited in payloads, too', async () => {
    const lists = many(12, (at) => `l${at}: vehicles(first: 1) { nodes { id } }`);
    const fleets = many(12, (at) => `f${at}: fleet { ...F }`);
    const query = `mutation ($input: CreateFleetInput!) { createFleet(input: $input) { ${fleets} } } fragment F on Fleet { ${lists} }`;
    const { name, companyAddress, email, vat } = fleetFields;
    const answer = await acme.post('/graphql', { query, variables: { input: { name, companyAddress, email, vat } } });
    expect(new Set(codesOf(answer))).toEqual(new Set(['COST_EXCEEDED']));
  });

  test('is bounded in one list that a mutation gives back', async () => {
    const fragments = levels(5).slice(levels(5).indexOf('fragment'));
    const query = `mutation ($input: CreateFleetInput!) { createFleet(input: $input) {
      fleet { contracts(first: 1) { nodes { ...L0 } } } } } ${fragments}`;
    const { name, companyAddress, email, vat } = fleetFields;
    const variables = { input: { name, companyAddress, email, vat } };
    const answer = await acme.post('/graphql', { query, variables }, { accept });
    // The fleet was created, and the answer says so by its status.
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({
      status: 200,
      codes: ['GRAPHQL_VALIDATION_FAILED'],
    });
  });
});

describe('errors', () => {
  test('an answer has at most ten', async () => {
    const wrong = await acme.post('/graphql', { query: `{ ${many(100, (at) => `nothing${at}`)} }` }, { accept });
    expect(wrong).toMatchObject({ status: 400 });
    expect(wrong.body.errors).toHaveLength(10);
    const refused = await acme.post(
      '/graphql',
      { query: `{ ${many(20, (at) => `a${at}: fleet(id: "${at}") { id }`)} }` },
      { accept },
    );
    expect(codesOf(refused)).toEqual(Array(10).fill('FLEET_NOT_FOUND'));
    expect(refused.body.extensions).toMatchObject({ errorsOmitted: 10, cost: expect.anything() });
  });
});

describe('LIMIT_GRAPHQL_SECONDS', () => {
  test('a longer execution is 503', async () => {
    const slow = vi.spyOn(closed.database, 'read').mockImplementation(() => new Promise(() => {}));
    const answer = await stranger.post('/graphql', { query: '{ fleets { nodes { id } } }' }, { accept });
    slow.mockRestore();
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 503, codes: ['UNAVAILABLE'] });
    expect(answer.body.errors[0].message).toContain('longer than 1 s');
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('a longer execution of a form that reads no file is 503', async () => {
    const slow = vi.spyOn(closed.database, 'read').mockImplementation(() => new Promise(() => {}));
    const form = new FormData();
    form.append('operations', JSON.stringify({ query: '{ fleets { nodes { id } } }' }));
    form.append('map', '{}');
    const answer = await stranger.post('/graphql', form);
    slow.mockRestore();
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 503, codes: ['UNAVAILABLE'] });
  });
});

describe('INTROSPECTION and GRAPHIQL off', () => {
  test('the schema is hidden, with and without a token', async () => {
    for (const client of [stranger, closed.anyone]) {
      for (const query of [
        getIntrospectionQuery(),
        '{ __type(name: "Fleet") { name } }',
        '{ ...F } fragment F on Query { a: __schema { description } }',
      ]) {
        const answer = await client.post('/graphql', { query }, { accept });
        expect({ status: answer.status, codes: codesOf(answer) }).toEqual({
          status: 400,
          codes: ['GRAPHQL_VALIDATION_FAILED'],
        });
      }
      expect(await client.post('/graphql', { query: '{ __typename }' }, { accept })).toMatchObject({ status: 200 });
    }
    expect(await closed.anyone.get('/schema.graphql')).toMatchObject({ status: 404 });
    expect(await closed.anyone.get('/graphql', { accept: 'text/html' })).not.toMatchObject({ status: 200 });
    expect((await closed.anyone.get('/')).body).not.toMatch(/schema\.graphql|GraphiQL/);
  });

  test('similar names are not suggested', async () => {
    const close = [
      { query: '{ flee }' },
      { query: '{ fleets(frist: 1) { totalCount } }' },
      { query: '{ fleets { nodes { vehicles(filter: { eligibility: ELIGIBEL }) { totalCount } } } }' },
      { query: '{ fleet(id: "x") { ... on Vehicel { id } } }' },
      { query: 'query ($by: VehicleBy!) { vehicle(by: $by) { id } }', variables: { by: { vinn: 'x' } } },
      {
        query: 'mutation ($i: AddVehiclesInput!) { addVehicles(input: $i) { summary { received } } }',
        variables: { i: { fleetId: 'x', vins: [], mode: 'ATOMIK' } },
      },
    ];
    for (const body of close) {
      const hidden = await stranger.post('/graphql', body, { accept });
      expect(hidden.status, body.query).toBe(400);
      expect(JSON.stringify(hidden.body), body.query).not.toMatch(/did you mean/i);
    }
    // With introspection, similar names are suggested.
    expect(JSON.stringify((await acme.post('/graphql', close[0], { accept })).body)).toContain('Did you mean');
  });
});

test('a token in the address, a variable or a cookie does not count', async () => {
  const token = acme.headers.authorization?.slice(7) ?? '';
  const query = '{ fleets { totalCount } }';
  await createFleet(acme);
  for (const answer of [
    await gateway.anyone.post(`/graphql?access_token=${token}`, { query }),
    await gateway.anyone.get(`/graphql?query=${encodeURIComponent(query)}&access_token=${token}`),
    await gateway.anyone.post('/graphql', { query, variables: { authorization: `Bearer ${token}` } }),
    await gateway.anyone.post('/graphql', { query, extensions: { headers: { authorization: `Bearer ${token}` } } }),
    await gateway.anyone.post('/graphql', { query }, { cookie: `token=${token}; authorization=Bearer ${token}` }),
  ]) {
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 401, codes: ['UNAUTHENTICATED'] });
  }
});
