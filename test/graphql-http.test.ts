import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  introspectionFromSchema,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { describe, expect, test, vi } from 'vitest';
import { RateLimited } from '../src/core/errors.ts';
import type { Answer, Json } from './support/client.ts';
import { unknownId } from './support/factories.ts';
import { startGateway, testIssuer } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const RESPONSE = 'application/graphql-response+json';
const codesOf = ({ body }: { body: Json }) => body.errors?.map((error: Json) => error.extensions.code);
const ask = (query: string, headers = {}, client = acme) => client.post('/graphql', { query }, headers);

describe('authentication', () => {
  test('the schema and __typename need no token', async () => {
    expect(await ask('{ __typename }', {}, gateway.anyone)).toMatchObject({
      status: 200,
      body: { data: { __typename: 'Query' } },
    });
    const { body } = await ask(getIntrospectionQuery(), {}, gateway.anyone);
    expect(body.data.__schema.queryType.name).toBe('Query');
  });

  test('the schema is the same in repeated requests, by GET, and with variables', async () => {
    const query = getIntrospectionQuery({ oneOf: true, specifiedByUrl: true, inputValueDeprecation: true });
    const printed = (introspection: IntrospectionQuery) =>
      printSchema(lexicographicSortSchema(buildClientSchema(introspection)));
    const expected = printed(introspectionFromSchema(buildSchema(readFileSync('schema.graphql', 'utf8'))));
    for (let at = 0; at < 3; at++) {
      const { body } = await ask(query, {}, gateway.anyone);
      expect(printed(body.data)).toBe(expected);
      expect((await gateway.anyone.get(`/graphql?${new URLSearchParams({ query })}`)).body).toEqual(body);
    }
    const named = 'query ($name: String!) { __type(name: $name) { name } }';
    for (const name of ['Fleet', 'Vehicle', 'Fleet']) {
      const { body } = await gateway.anyone.post('/graphql', { query: named, variables: { name } });
      expect(body.data).toEqual({ __type: { name } });
    }
  });

  test('anything else without a token is 401, in any form', async () => {
    for (const query of [
      '{ manufacturers { id } }',
      '{ contracts { totalCount } }',
      'mutation { deleteFleet(input: { id: "x" }) { fleet { id } } }',
      'subscription { eligibilityChanged { eligibility { vin } } }',
      '{ ... on Query { __typename fleets { totalCount } } }',
      'query { ...F } fragment F on Query { __typename fleets { totalCount } }',
    ]) {
      const answer = await ask(query, {}, gateway.anyone);
      expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 401, codes: ['UNAUTHENTICATED'] });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="fleet-gateway"');
      expect(answer.body).not.toHaveProperty('data');
    }
  });

  test.each(['application/json', RESPONSE])('a wrong token is 401 as %s, with a challenge', async (accept) => {
    const answer = await ask('{ __typename }', { accept, authorization: 'Bearer a.b.c' });
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 401, codes: ['UNAUTHENTICATED'] });
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(answer.headers.get('content-type')).toContain(accept);
    expect(answer.body.errors[0].extensions.requestId).toBe(answer.headers.get('x-request-id'));
  });

  test('a token without a company is 403, an unreachable issuer 503 with Retry-After', async () => {
    const issuer = await testIssuer();
    const secured = await startGateway({ on: gateway, issuer });
    const nobody = await secured.as('', {});
    expect(await ask('{ __typename }', {}, nobody)).toMatchObject({ status: 403 });
    await issuer.stop();
    const lost = await startGateway({ on: gateway, issuer });
    const answer = await ask('{ __typename }', {}, await lost.as('acme'));
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 503, codes: ['UNAVAILABLE'] });
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('a token that lacks the scope is refused in the answer, field by field', async () => {
    const issuer = await testIssuer();
    const scoped = await startGateway({ on: gateway, issuer, settings: { AUTH_SCOPES: 'on' } });
    const reader = await scoped.as('acme', { scope: 'fleets:read' });
    const answer = await ask('{ fleets { totalCount } contracts { totalCount } }', {}, reader);
    expect(answer).toMatchObject({ status: 200, body: { data: null } });
    expect(codesOf(answer)).toEqual(['FORBIDDEN']);
  });
});

describe('statuses', () => {
  const wrong = {
    'an invalid document': ['{ fleets', 'GRAPHQL_PARSE_FAILED'],
    'an unknown field': ['{ flee }', 'GRAPHQL_VALIDATION_FAILED'],
    'a variable that is missing': ['query ($id: ID!) { fleet(id: $id) { id } }', 'VALIDATION_FAILED'],
  };
  test.each(Object.entries(wrong))('%s: 400, or 200 if only JSON is accepted', async (_name, [query = '', code]) => {
    const modern = await ask(query, { accept: RESPONSE });
    const legacy = await ask(query, { accept: 'application/json' });
    expect([modern.status, legacy.status]).toEqual([400, 200]);
    expect([codesOf(modern), codesOf(legacy)]).toEqual([[code], [code]]);
    expect(modern.body.errors[0].extensions.requestId).toBe(modern.headers.get('x-request-id'));
  });

  test('an error of one field is 200 for every Accept, beside the data of the others', async () => {
    const query = '{ fleet(id: "x") { id } manufacturers { id } }';
    for (const accept of ['application/json', RESPONSE]) {
      const answer = await ask(query, { accept });
      expect(answer).toMatchObject({ status: 200, body: { data: { fleet: null, manufacturers: expect.any(Array) } } });
      expect(answer.headers.get('content-type')).toContain(accept);
      expect(codesOf(answer)).toEqual(['FLEET_NOT_FOUND']);
    }
  });

  test("a subscription's error has its status where GraphQL over HTTP demands it", async () => {
    const query = 'subscription { eligibilityChanged(fleetId: "x") { eligibility { vin } } }';
    const answers = await Promise.all(
      [RESPONSE, 'application/json', 'text/event-stream'].map((accept) => ask(query, { accept })),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 200, 200]);
    for (const { body } of answers) expect(JSON.stringify(body)).toContain('FLEET_NOT_FOUND');
  });

  test.each([RESPONSE, 'application/json', 'text/event-stream'])('too many streams are 429, for %s', async (accept) => {
    const { followers } = gateway.services;
    const full = vi.spyOn(followers, 'join').mockImplementation(() => {
      throw new RateLimited(7, 'At most 1,000 event streams.');
    });
    const answer = await ask('subscription { events { id } }', { accept });
    full.mockRestore();
    expect({ status: answer.status, retryAfter: answer.headers.get('retry-after') }).toEqual({
      status: 429,
      retryAfter: '7',
    });
    expect(JSON.stringify(answer.body)).toMatch(/RATE_LIMITED.*retryAfter/);
  });

  test("an execution that did not get its company's turn is 429 with Retry-After", async () => {
    for (const query of ['{ fleets { totalCount } }', `{ fleet(id: "${unknownId}") { id } }`]) {
      const full = vi.spyOn(gateway.database, 'read').mockRejectedValue(new RateLimited(7));
      const answer = await ask(query);
      full.mockRestore();
      expect({ status: answer.status, retryAfter: answer.headers.get('retry-after') }).toEqual({
        status: 429,
        retryAfter: '7',
      });
      expect(answer.body.errors[0].extensions).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 7 });
    }
  });

  test('a request without a document is 400 for every Accept; an empty operationName is none', async () => {
    for (const accept of ['application/json', RESPONSE]) {
      for (const body of [{ variables: {} }, { query: null }, { query: '' }]) {
        const answer = await acme.post('/graphql', body, { accept });
        expect([answer.status, codesOf(answer)]).toEqual([400, ['VALIDATION_FAILED']]);
      }
      expect(await acme.get('/graphql?variables={}', { accept })).toMatchObject({ status: 400 });
      const named = { query: '{ __typename }', operationName: '' };
      expect(await acme.post('/graphql', named, { accept })).toMatchObject({ status: 200, body: { data: {} } });
      expect(await acme.get(`/graphql?${new URLSearchParams(named)}`, { accept })).toMatchObject({ status: 200 });
    }
  });

  test.each([
    [{ query: '' }, /^Send a document as `query`, in JSON with the header/],
    [{ query: '{ __typename }', operationName: 'A' }, /^The document has no operation named "A"\.$/],
    [{ query: 'query A { __typename } query B { __typename }' }, /^The document has several operations: name one/],
  ])('%j is refused with what to do', async (body, message) => {
    const answer = await acme.post('/graphql', body);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ message: expect.stringMatching(message) }] } });
  });

  const bodies = (members: Record<string, string>): Record<string, () => Promise<Answer>> => {
    const form = `${new URLSearchParams(members)}`;
    const { query = '', variables = 'null' } = members;
    const post = (type: string, body: string) => () => acme.post('/graphql', body, { 'content-type': type });
    return {
      GET: () => acme.get(`/graphql?${form}`),
      form: post('application/x-www-form-urlencoded', form),
      JSON: post('application/graphql+json', `{"query":${JSON.stringify(query)},"variables":${variables}}`),
      ...(members.variables === undefined && { text: post('application/graphql; charset=utf-8', query) }),
    };
  };

  test('each form of a request gives the same answer', async () => {
    const query = '{ fleets(first: 1) { totalCount } } # ? & = + ü';
    for (const [form, send] of Object.entries(bodies({ query }))) {
      const { status, body } = await send();
      expect([form, status, body.data]).toEqual([form, 200, { fleets: { totalCount: expect.any(Number) } }]);
    }
    const wrong = ['7', '[1]', '"x"', '{', '{"first":1}'];
    for (const variables of wrong) {
      for (const [form, send] of Object.entries(
        bodies({ query: 'query ($n: Int) { fleets(first: $n) { totalCount } }', variables }),
      )) {
        const { status, body } = await send();
        const { message, extensions } = body.errors?.[0] ?? {};
        const told = { form, status, code: extensions?.code, message };
        if (variables === '{"first":1}') expect(told).toMatchObject({ status: 200 });
        else if (variables === '{')
          expect(told).toMatchObject({
            status: 400,
            code: 'MALFORMED_JSON',
            message: expect.stringContaining('is not JSON'),
          });
        else
          expect(told).toMatchObject({
            status: 400,
            code: 'VALIDATION_FAILED',
            message: `variables: must be an object${variables === '"x"' ? ', not "x"' : ''}`,
          });
      }
    }
    expect(
      codesOf(await acme.post('/graphql', 'query=%ff', { 'content-type': 'application/graphql; charset=latin1' })),
    ).toEqual(['UNSUPPORTED_MEDIA_TYPE']);
  });

  /** The Accept headers of Apollo Client 4 and 3, urql, graphql-request, and of Relay with fetch. */
  test.each([
    ['application/graphql-response+json,application/json;q=0.9', RESPONSE],
    ['application/graphql-response+json, application/json;q=0.9, multipart/mixed;q=0.8', RESPONSE],
    ['multipart/mixed;deferSpec=20220824,application/graphql-response+json,application/json;q=0.9', RESPONSE],
    [
      'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
      RESPONSE,
    ],
    ['application/graphql-response+json, application/json', RESPONSE],
    ['application/json, */*;q=0.5', 'application/json'],
    ['*/*', 'application/json'],
    ['application/json;q=0.2, application/graphql-response+json;q=0.1', 'application/json'],
    ['application/json; charset=utf-8', 'application/json'],
  ])('clients that accept %s get %s', async (accept, type) => {
    for (const answer of [
      await ask('{ __typename }', { accept }),
      await acme.get('/graphql?query={__typename}', { accept }),
    ])
      expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([200, type]);
  });

  test('queries may come by GET, mutations not', async () => {
    const url = (query: string) => `/graphql?query=${encodeURIComponent(query)}`;
    expect(await acme.get(url('{ fleets { totalCount } }'))).toMatchObject({ status: 200 });
    const answer = await acme.get(url('mutation { deleteFleet(input: { id: "x" }) { fleet { id } } }'));
    expect({ status: answer.status, allow: answer.headers.get('allow') }).toEqual({ status: 405, allow: 'POST' });
    expect(await acme.get('/graphql?query={__typename}&variables={')).toMatchObject({ status: 400 });
    expect(await acme.send('PATCH', '/graphql', {})).toMatchObject({ status: 405 });
  });

  test('the single connection mode of graphql-sse is refused with the alternative', async () => {
    const answer = await acme.send('PUT', '/graphql');
    expect({ status: answer.status, allow: answer.headers.get('allow'), codes: codesOf(answer) }).toEqual({
      status: 405,
      allow: 'GET, POST',
      codes: ['METHOD_NOT_ALLOWED'],
    });
    expect(answer.body.errors[0].message).toMatch(/distinct connections.*WebSocket/);
  });

  test('a body that is no JSON, no object, a batch or without a query is 400', async () => {
    const sent = async (body: string) => {
      const answer = await acme.post('/graphql', body, { 'content-type': 'application/json', accept: RESPONSE });
      return [answer.status, ...codesOf(answer)];
    };
    expect(await sent('{"query":')).toEqual([400, 'MALFORMED_JSON']);
    expect(await sent('7')).toEqual([400, 'VALIDATION_FAILED']);
    expect(await sent('{}')).toEqual([400, 'VALIDATION_FAILED']);
    expect(await sent('[{"query":"{ __typename }"}]')).toEqual([400, 'VALIDATION_FAILED']);
    expect(await sent('{"query":"{ __typename }","variables":7}')).toEqual([400, 'VALIDATION_FAILED']);
  });

  test.each([RESPONSE, 'text/event-stream', `${RESPONSE}, ${RESPONSE};q=0.9`])(
    'a body with a member `then` is no promise, for %s',
    async (accept) => {
      const query = '{ __typename }';
      for (const then of [0, {}, [], 'x', null]) {
        expect(await acme.post('/graphql', { then }, { accept }), JSON.stringify(then)).toMatchObject({ status: 400 });
        for (const body of [
          { query, then },
          { query, variables: { then } },
          { query, extensions: { then } },
        ]) {
          expect(await acme.post('/graphql', body, { accept }), JSON.stringify(body)).toMatchObject({ status: 200 });
        }
      }
    },
  );

  test.each([RESPONSE, 'text/event-stream', `${RESPONSE}, ${RESPONSE};q=0.9`])(
    'unknown members are ignored, for %s',
    (accept) =>
      fc.assert(
        fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (others) => {
          const body = JSON.stringify({ ...others, operationType: 'query', query: '{ __typename }' });
          const known = /"(?:variables|operationName|extensions)":/;
          fc.pre(!known.test(body));
          const answer = await acme.post('/graphql', body, { accept, 'content-type': 'application/json' });
          expect(answer.status, body).toBe(200);
          expect(JSON.stringify(answer.body)).toContain('__typename');
        }),
        { numRuns: 20 },
      ),
  );

  test('a form or an address with `then` is no promise', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(codesOf(await acme.post('/graphql', 'then=1', form))).toEqual(['VALIDATION_FAILED']);
    expect(await acme.post('/graphql', 'query={__typename}&then=1', form)).toMatchObject({ status: 200 });
    expect(codesOf(await acme.get('/graphql?then=1'))).toEqual(['VALIDATION_FAILED']);
    expect(await acme.get('/graphql?query={__typename}&then=1')).toMatchObject({ status: 200 });
  });

  test.each(['image/png', ','.repeat(4_000), Array.from({ length: 1_000 }, (_, at) => `a/${at}`).join()])(
    'an unknown media type is 406, with the supported ones',
    async (accept) => {
      const answer = await ask('{ __typename }', { accept });
      expect({ status: answer.status, accept: answer.headers.get('accept') }).toEqual({
        status: 406,
        accept: 'application/json, application/graphql-response+json, text/event-stream, multipart/mixed',
      });
    },
  );

  test.each(['application/xml', 'application/json;q=0', 'text/html;charset=utf-8, image/*'])(
    'nothing is done for a request that accepts only %s',
    async (accept) => {
      const name = `Fleet for ${accept}`;
      const create = `mutation { createFleet(input: { name: "${name}" }) { fleet { id } } }`;
      const statements = vi.spyOn(gateway.database, 'read');
      const answers = [
        await ask('{ fleets { totalCount } }', { accept }),
        await acme.post('/graphql', `query=${encodeURIComponent(create)}`, {
          accept,
          'content-type': 'application/x-www-form-urlencoded',
        }),
        await ask(create, { accept }),
        ...(accept.includes('html') ? [] : [await acme.get('/graphql?query={fleets{totalCount}}', { accept })]),
      ];
      expect(statements).not.toHaveBeenCalled();
      statements.mockRestore();
      for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 406, body: null });
      const { body } = await ask('{ fleets { nodes { name } } }');
      expect(body.data.fleets.nodes).not.toContainEqual({ name });
    },
  );

  test.each([
    ...['*/*', 'application/*', 'image/png, */*;q=0.1', 'Application/JSON;charset="utf-8"'],
    ...['multipart/mixed;deferSpec=20220824', 'text/event-stream; charset=iso-8859-1', 'application/json;v=1;q=0.5'],
  ])('a request that accepts %s is answered', async (accept) => {
    const answer = await ask('{ __typename }', { accept });
    expect({ status: answer.status, said: JSON.stringify(answer.body) }).toEqual({
      status: 200,
      said: expect.stringContaining('__typename'),
    });
  });

  test('a body over the limit is 413', async () => {
    const answer = await ask(`{ __typename } # ${'x'.repeat(1024 * 1024)}`);
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 413, codes: ['PAYLOAD_TOO_LARGE'] });
  });
});

describe('requests that another site can make a browser send', () => {
  const query = '{ __typename }';
  const { anyone } = gateway;
  const simple = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'];

  test.each(simple)('%s is refused', async (type) => {
    const answer = await anyone.post('/graphql', `query=${encodeURIComponent(query)}`, { 'content-type': type });
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 400, codes: ['VALIDATION_FAILED'] });
  });

  test('one header that such a request cannot have permits it', async () => {
    const body = `query=${encodeURIComponent(query)}`;
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const name of ['x-graphql-yoga-csrf', 'apollo-require-preflight', 'graphql-require-preflight']) {
      expect(await anyone.post('/graphql', body, { ...type, [name]: '1' })).toMatchObject({ status: 200 });
    }
    expect(await acme.post('/graphql', body, type)).toMatchObject({ status: 200 });
  });

  test('an unknown content type is 415', async () => {
    const answer = await acme.post('/graphql', query, { 'content-type': 'text/plain' });
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({
      status: 415,
      codes: ['UNSUPPORTED_MEDIA_TYPE'],
    });
  });
});

describe('limits', () => {
  const beyond: Record<string, [query: string, bound: string]> = {
    'a text over 16 kB': [`{ __typename } # ${'x'.repeat(16 * 1024)}`, '16,384 characters'],
    'over 2,000 tokens': [`{${'a '.repeat(2000)}}`, '2,000 tokens'],
    '5,000 levels': [`${'{a'.repeat(5000)}${'}'.repeat(5000)}`, '2,000 tokens'],
    '21 levels': [`${'{a'.repeat(21)}${'}'.repeat(21)}`, '20 levels'],
    '21 levels by fragments': [
      `{ ${'a {'.repeat(10)} ...F ${'}'.repeat(10)} } fragment F on Q { ${'a {'.repeat(10)} a ${'}'.repeat(10)} }`,
      '20 levels',
    ],
    '51 aliases': [`{ ${Array.from({ length: 51 }, (_, i) => `a${i}: __typename`).join(' ')} }`, '50 aliases'],
    '51 directives': [`{ __typename ${'@skip(if: false) '.repeat(51)} }`, '50 directives'],
    '51 fragments': [
      `{ __typename } ${Array.from({ length: 51 }, (_, i) => `fragment F${i} on Query { __typename }`).join(' ')}`,
      '50 fragments',
    ],
    '101 variables': [
      `query (${Array.from({ length: 101 }, (_, i) => `$v${i}: Int`).join(' ')}) { __typename }`,
      '100 variables',
    ],
  };

  test.each(Object.entries(beyond))('%s is refused, and the limit is named', async (_name, [query, bound]) => {
    const answer = await ask(query, { accept: RESPONSE });
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({
      status: 400,
      codes: ['GRAPHQL_VALIDATION_FAILED'],
    });
    expect(answer.body.errors[0].message).toContain(bound);
  });

  test('a million objects are refused, and the limit is named', async () => {
    const answer = await ask('{ fleets(first: 1000) { nodes { vehicles(first: 1000) { nodes { id } } } } }');
    expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 400, codes: ['COST_EXCEEDED'] });
    expect(answer.body.errors[0].message).toContain('60,000 objects');
  });

  test.each(['n', 'constructor', '__proto__'])('sizes in variables count, and their defaults: $%s', async (name) => {
    const query = (byDefault = '') =>
      `query ($${name}: Int${byDefault}) { fleets(first: $${name}) { nodes { ...F } } } fragment F on Fleet { vehicles(last: $${name}) { nodes { id } } }`;
    const sent = async (text: string, n?: number) =>
      codesOf(await acme.post('/graphql', { query: text, variables: Object.fromEntries(n ? [[name, n]] : []) }));
    expect(await sent(query(), 10)).toBeUndefined();
    expect(await sent(query(), 1000)).toEqual(['COST_EXCEEDED']);
    expect(await sent(query(' = 1000'))).toEqual(['COST_EXCEEDED']);
  });

  test('a size that cannot be converted to a number is refused', async () => {
    for (const n of [{ toString: 0 }, { valueOf: null, toString: null }, [{ toString: 0 }], '7', true]) {
      const body = { query: 'query ($n: Int) { fleets(first: $n) { totalCount } }', variables: { n } };
      const answer = await acme.post('/graphql', body, { accept: RESPONSE });
      expect({ status: answer.status, codes: codesOf(answer) }).toEqual({ status: 400, codes: ['VALIDATION_FAILED'] });
    }
  });

  test('fragments that spread each other twice cost no more than their text', async () => {
    const doubling = Array.from({ length: 49 }, (_, i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`);
    const query = `{ ...F0 } ${doubling.join(' ')} fragment F49 on Query { __typename }`;
    expect(await ask(query, {}, gateway.anyone)).toMatchObject({ body: { data: { __typename: 'Query' } } });
    const inList = doubling.join(' ').replaceAll('Query', 'Fleet');
    const list = `{ fleets { totalCount nodes { ...F0 } } } ${inList} fragment F49 on Fleet { id }`;
    expect(await ask(list)).toMatchObject({ body: { data: { fleets: { nodes: expect.anything() } } } });
    expect(codesOf(await ask('{ ...F } fragment F on Query { ...F }'))).toContain('GRAPHQL_VALIDATION_FAILED');
  });

  test('a refused document does not change the answer of a valid one', async () => {
    for (let round = 0; round < 3; round++) {
      expect(codesOf(await ask('{ nothing }'))).toEqual(['GRAPHQL_VALIDATION_FAILED']);
      expect(await ask('{ fleets { totalCount } }')).toMatchObject({ body: { data: { fleets: expect.anything() } } });
    }
  });
});

describe('faults', () => {
  test('an internal error is masked, logged with the request id, and 200 beside other data', async () => {
    const logged = vi.spyOn(gateway.services.log, 'error');
    vi.spyOn(gateway.services.manufacturers, 'list').mockImplementationOnce(() => {
      throw new Error('select secret from table');
    });
    const answer = await ask('{ manufacturers { id } }');
    const { requestId } = answer.body.errors[0].extensions;
    expect(codesOf(answer)).toEqual(['INTERNAL']);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
    expect(requestId).toBe(answer.headers.get('x-request-id'));
    expect(logged).toHaveBeenCalledWith(
      { requestId, err: expect.objectContaining({ message: 'select secret from table' }) },
      'request failed',
    );
  });

  test('an unreachable database is 503 with Retry-After if no field was answered', async () => {
    const lost = vi
      .spyOn(gateway.database, 'read')
      .mockRejectedValue(Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' }));
    const nothing = await ask('{ fleet(id: "01980000-0000-7000-8000-00000000dead") { id } }');
    const something = await ask('{ fleet(id: "01980000-0000-7000-8000-00000000dead") { id } manufacturers { id } }');
    lost.mockRestore();
    expect([nothing.status, something.status]).toEqual([503, 200]);
    expect([codesOf(nothing), codesOf(something)]).toEqual([['UNAVAILABLE'], ['UNAVAILABLE']]);
    expect(nothing.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(JSON.stringify([nothing.body, something.body])).not.toContain('10.0.0.1');
  });

  test("a caller's X-Request-Id is returned in header and errors", async () => {
    const answer = await ask('{ fleet(id: "x") { id } }', { 'x-request-id': 'mine-1' });
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    expect(answer.body.errors[0].extensions.requestId).toBe('mine-1');
  });
});

describe('GraphiQL', () => {
  test('a browser gets a page without foreign requests, with a valid token', async () => {
    const { status, headers, body } = await gateway.anyone.get('/graphql', { accept: 'text/html,*/*;q=0.8' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("script-src 'self';");
    const parts = [...body.matchAll(/(?:src|href)="(\/graphiql\/[^"]+)"|(\/graphiql\/[\w-]+\/\w+\.worker\.js)/g)];
    expect(parts).toHaveLength(7);
    expect(body).not.toMatch(/(?:src|href)="(?!\/graphiql\/|\/schema|data:)/);
    const [, token] = /Bearer ([\w-]+\.[\w-]+\.[\w-]+)/.exec(body) ?? [];
    expect(await ask('{ fleets { totalCount } }', { authorization: `Bearer ${token}` }, gateway.anyone)).toMatchObject({
      body: { data: { fleets: { totalCount: 0 } } },
    });
  });

  test('its files are cached for ever; the page, which changes each time, is not cached', async () => {
    const load = async () => (await gateway.anyone.get('/graphql', { accept: 'text/html' })).body as string;
    const [first, second] = [await load(), await load()];
    expect(first).toContain(gateway.url);
    expect(first).not.toBe(second);
    expect(first).toContain('<meta name="viewport"');
    expect(first.length).toBeLessThan(50_000);
    const parts = [...first.matchAll(/\/graphiql\/([\w-]+)\/[\w.]+\.(?:js|css)/g)].map(([path]) => path);
    for (const path of parts) {
      const part = await fetch(`${gateway.url}${path}`);
      const { status, headers } = part;
      expect([status, headers.get('cache-control')], path).toEqual([200, 'public, max-age=31536000, immutable']);
      expect(headers.get('content-type')).toMatch(path.endsWith('.css') ? 'text/css' : 'text/javascript');
      expect((await part.arrayBuffer()).byteLength).toBe(Number(headers.get('content-length')));
      // A path of another version is not cached.
      const other = await fetch(`${gateway.url}${path.replace(/[\w-]{16}/, 'another-version-')}`);
      expect([other.status, other.headers.get('cache-control')]).toEqual([200, 'no-store']);
      await other.body?.cancel();
    }
    expect(await gateway.anyone.get('/graphiql/x/nothing.js')).toMatchObject({ status: 404 });
    expect(await gateway.anyone.post(parts[0] ?? '')).toMatchObject({ status: 405 });
    const closed = await startGateway({ on: gateway, settings: { GRAPHIQL: 'off' } });
    expect(await closed.anyone.get(parts[0] ?? '')).toMatchObject({ status: 404 });
  });

  test('with another issuer the page has no token', async () => {
    const secured = await startGateway({ on: gateway, issuer: await testIssuer() });
    const { body } = await secured.anyone.get('/graphql', { accept: 'text/html' });
    expect(body).toContain('<title>Fleet Gateway</title>');
    expect(body).not.toContain('Bearer ey');
  });
});

test('a repeated query has the same data, errors and paths', async () => {
  const document = `query Often($id: ID!) { fleet(id: $id) { id } again: fleets(first: 1) { totalCount nodes { id vehicles { nodes { vin } } } } }`;
  const answers = [];
  for (let use = 0; use < 5; use++) {
    const { body } = await acme.post('/graphql', { query: document, variables: { id: 'unknown' } });
    for (const error of body.errors) delete error.extensions.requestId;
    answers.push(body);
  }
  expect(answers[0].errors[0]).toMatchObject({ locations: [{ line: 1 }], extensions: { code: 'FLEET_NOT_FOUND' } });
  for (const answer of answers) expect(answer).toEqual(answers[0]);
});
