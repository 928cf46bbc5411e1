import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { fetchExchange, Client as UrqlClient } from '@urql/core';
import { persistedExchange } from '@urql/exchange-persisted';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import type { Client, Json } from './support/client.ts';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const RESPONSE = 'application/graphql-response+json';
const gateway = await startGateway();
const acme = await gateway.as('acme');
const { id } = await createFleet(acme, { name: 'Persisted' });

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const persisted = (sha256Hash: string) => ({ persistedQuery: { version: 1, sha256Hash } });
let count = 0;
/** A document that no client has sent before. */
const newText = () => `query Named${process.pid}x${count++} { manufacturers { id } }`;

/** Ways to send a request, and to be answered. */
const ways: Record<string, (client: Client, body: Json) => Promise<Json>> = {
  directly: (client, body) => client.post('/graphql', body, { accept: RESPONSE }),
  'by GET': (client, body) => client.get(`/graphql?${inAddress(body)}`, { accept: RESPONSE }),
  'as a form': (client, body) =>
    client.post('/graphql', inAddress(body), { accept: RESPONSE, 'content-type': 'application/x-www-form-urlencoded' }),
  'as events': (client, body) => client.post('/graphql', body, { accept: 'text/event-stream' }),
};
const inAddress = (body: Json) =>
  new URLSearchParams(
    Object.entries<Json>(body).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString();
/** Code and message of the only error, or undefined. */
const errorOf = ({ body }: Json) => {
  const [, text = '{}'] = typeof body === 'string' ? (/^data: (.+)$/m.exec(body) ?? []) : [null, JSON.stringify(body)];
  const [error, ...others] = JSON.parse(text).errors ?? [];
  expect(others).toEqual([]);
  return error && [error.extensions.code, error.message];
};
const notFound = ['PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound'];
const notSupported = ['PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported'];

describe.each(Object.entries(ways))('a document by its hash, %s', (_way, send) => {
  test('is unknown until its text was sent with it', async () => {
    const query = newText();
    const extensions = persisted(sha256(query));
    expect(errorOf(await send(acme, { extensions }))).toEqual(notFound);
    expect(errorOf(await send(acme, { query }))).toBeUndefined();
    expect(errorOf(await send(acme, { extensions }))).toEqual(notFound);
    expect(errorOf(await send(acme, { query, extensions }))).toBeUndefined();
    for (const other of Object.values(ways)) expect(errorOf(await other(acme, { extensions }))).toBeUndefined();
  });

  test('with the hash of another text is refused, and not stored', async () => {
    const [query, other] = [newText(), newText()];
    const extensions = persisted(sha256(other));
    expect(errorOf(await send(acme, { query, extensions }))).toEqual([
      'VALIDATION_FAILED',
      'provided sha does not match query',
    ]);
    expect(errorOf(await send(acme, { extensions }))).toEqual(notFound);
  });

  test('accepts variables, and needs a token like any other', async () => {
    const query = `query Q${count++}($id: ID!) { fleet(id: $id) { name } }`;
    const extensions = persisted(sha256(query));
    await acme.post('/graphql', { query, extensions, variables: { id } });
    expect(JSON.stringify((await send(acme, { extensions, variables: { id } })).body)).toContain('Persisted');
    expect(errorOf(await send(gateway.anyone, { extensions, variables: { id } }))?.[0]).toBe(
      send === ways['as a form'] ? 'VALIDATION_FAILED' : 'UNAUTHENTICATED',
    );
    expect(errorOf(await send(await gateway.as('globex'), { extensions, variables: { id } }))?.[0]).toBe(
      'FLEET_NOT_FOUND',
    );
  });

  test('of another or no version is refused', async () => {
    const query = newText();
    for (const persistedQuery of [{ version: 2, sha256Hash: sha256(query) }, {}, { version: 1, sha256Hash: 7 }]) {
      expect(errorOf(await send(acme, { query, extensions: { persistedQuery } }))?.[0]).toBe('VALIDATION_FAILED');
    }
    for (const persistedQuery of [7, null, 'x', true]) {
      expect(errorOf(await send(acme, { query, extensions: { persistedQuery } }))).toBeUndefined();
    }
  });
});

test('hashes with a meaning in JavaScript are unknown', () =>
  fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.constantFrom('__proto__', 'constructor', 'then', 'size', ''), fc.string()),
      fc.constantFrom(...Object.values(ways)),
      async (name, send) => {
        expect(errorOf(await send(acme, { extensions: persisted(name) }))).toEqual(notFound);
      },
    ),
    { numRuns: 30 },
  ));

test('batches are refused', async () => {
  const query = newText();
  const extensions = persisted(sha256(query));
  for (const accept of [RESPONSE, `${RESPONSE}, ${RESPONSE};q=0.9`]) {
    const answer = await acme.post('/graphql', [{ query, extensions }], { accept });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ extensions: { code: 'VALIDATION_FAILED' } }] } });
  }
  expect(errorOf(await acme.post('/graphql', { extensions }))).toEqual(notFound);
});

test('mutations by hash are refused by GET', async () => {
  const query = 'mutation { deleteFleet(input: { id: "x" }) { fleet { id } } }';
  const extensions = persisted(sha256(query));
  expect(errorOf(await acme.post('/graphql', { query, extensions }))?.[0]).toBe('FLEET_NOT_FOUND');
  expect(errorOf(await acme.post('/graphql', { extensions }))?.[0]).toBe('FLEET_NOT_FOUND');
  expect(await acme.get(`/graphql?${inAddress({ extensions })}`)).toMatchObject({ status: 405 });
});

test('documents beyond the limit replace the oldest, by count and by size', async () => {
  const known = newText();
  const extensions = persisted(sha256(known));
  await acme.post('/graphql', { query: known, extensions });
  // 600 documents of 16 kB exceed the limit.
  const filling = ' '.repeat(16_000);
  for (let at = 0; at < 600; at += 50) {
    await Promise.all(
      Array.from({ length: 50 }, () => {
        const query = newText() + filling;
        return acme.post('/graphql', { query, extensions: persisted(sha256(query)) });
      }),
    );
  }
  expect(errorOf(await acme.post('/graphql', { extensions }))).toEqual(notFound);
});

/** A client that records, for each request, whether it had a text and a hash. */
function spied(client: Client) {
  const sent: string[] = [];
  const fetching: typeof fetch = (input, init) => {
    const { search } = new URL(String(input));
    const body = search ? Object.fromEntries(new URLSearchParams(search)) : JSON.parse(String(init?.body));
    sent.push([init?.method ?? 'GET', ...['query', 'extensions'].filter((name) => name in body)].join(' '));
    return fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), ...client.headers } });
  };
  return { sent, fetching };
}

const fleetText = (name: string) => `query ${name}($id: ID!) { fleet(id: $id) { __typename id name } }`;
const shown = { fleet: { id, name: 'Persisted' } };

function apollo(url: string, client: Client, options: Json = {}) {
  const { sent, fetching } = spied(client);
  const link = new PersistedQueryLink({ sha256, ...options } as never).concat(
    new HttpLink({ uri: `${url}/graphql`, fetch: fetching }),
  );
  const apolloClient = new ApolloClient({ cache: new InMemoryCache(), link });
  const ask = (text: string) =>
    apolloClient.query<Json>({ query: gql(text), variables: { id }, fetchPolicy: 'no-cache' }).then(({ data }) => data);
  return { sent, ask };
}

function urql(url: string, client: Client, options: Json = {}) {
  const { sent, fetching } = spied(client);
  const urqlClient = new UrqlClient({
    url: `${url}/graphql`,
    fetch: fetching,
    preferGetMethod: false,
    exchanges: [persistedExchange({ preferGetForPersistedQueries: true, ...options }), fetchExchange],
  });
  const ask = async (text: string) => {
    const { data, error } = await urqlClient.query<Json>(text, { id }, { requestPolicy: 'network-only' });
    if (error) throw error;
    return data;
  };
  return { sent, ask };
}

describe('clients', () => {
  test('Apollo sends the hash, then once the text, then the hash alone', async () => {
    const { sent, ask } = apollo(gateway.url, acme, { useGETForHashedQueries: true });
    const text = fleetText(`Apollo${count++}x${process.pid}`);
    expect(await ask(text)).toMatchObject(shown);
    expect(await ask(text)).toMatchObject(shown);
    expect(sent).toEqual(['GET extensions', 'POST query extensions', 'GET extensions']);
  });

  test('urql does the same by GET', async () => {
    const { sent, ask } = urql(gateway.url, acme);
    const text = fleetText(`Urql${count++}x${process.pid}`);
    expect(await ask(text)).toMatchObject(shown);
    expect(await ask(text)).toMatchObject(shown);
    expect(sent).toEqual(['GET extensions', 'GET query extensions', 'GET extensions']);
  });
});

describe('TRUSTED_DOCUMENTS', async () => {
  const folder = mkdtempSync(join(inject('database').folder, 'trusted-'));
  const text = fleetText('Trusted');
  const second = fleetText('Second');
  const manifests: Record<string, Json> = {
    'of Apollo': {
      format: 'apollo-persisted-query-manifest',
      version: 1,
      operations: [
        { id: 'one', name: 'Trusted', type: 'query', body: text },
        { id: 'two', name: 'Second', type: 'query', body: second },
      ],
    },
    'of Relay or graphql-codegen': { one: text, two: second },
  };
  const path = join(folder, 'manifest.json');
  for (const [name, manifest] of Object.entries(manifests)) {
    writeFileSync(path, JSON.stringify(manifest));
    const trusting = await startGateway({ on: gateway, settings: { TRUSTED_DOCUMENTS: path } });
    const trusted = await trusting.as('acme');

    describe(`a manifest ${name}`, () => {
      test.each(Object.entries(ways))('its documents are executed, by id and by text, %s', async (_way, send) => {
        const variables = { id };
        for (const asked of [
          { extensions: persisted('one') },
          { query: text },
          { query: text.replaceAll(/\s+/g, '\n ') },
          { query: text, extensions: persisted('one') },
        ]) {
          expect(JSON.stringify((await send(trusted, { ...asked, variables })).body)).toContain('Persisted');
        }
      });

      test.each(Object.entries(ways))('no others are executed, %s', async (_way, send) => {
        const query = newText();
        for (const asked of [
          { query },
          { query, extensions: persisted(sha256(query)) },
          { query, extensions: persisted('one') },
          { extensions: persisted(sha256(query)) },
          { extensions: persisted('three') },
          { extensions: persisted('constructor') },
          { query: '{ __typename }' },
          { query: '{ __schema { queryType { name } } }' },
          { query: '{' },
          { query: `${text} ${text.replace('Trusted', 'Other')}` },
          { extensions: {} },
        ]) {
          expect(errorOf(await send(trusted, asked)), JSON.stringify(asked)).toEqual(notSupported);
        }
      });

      test.each([
        ['Apollo', apollo],
        ['urql', urql],
      ] as const)('%s sends ids, is refused other documents, and continues', async (which, open) => {
        const ids = new Map([
          ['Trusted', 'one'],
          ['Second', 'two'],
        ]);
        const idOf = (document: Json) => {
          const name = document?.definitions?.[0]?.name?.value ?? /query (\w+)/.exec(document)?.[1];
          return ids.get(name) ?? 'unknown';
        };
        const options =
          which === 'Apollo'
            ? { sha256: undefined, generateHash: idOf }
            : { generateHash: async (_t: string, d: Json) => idOf(d) };
        const { sent, ask } = open(trusting.url, trusted, options);
        expect(await ask(text)).toMatchObject(shown);
        expect(sent.splice(0)).toEqual([expect.stringMatching(/^(GET|POST) extensions$/)]);
        await expect(ask(fleetText('Unknown'))).rejects.toSatisfy((error: Json) =>
          JSON.stringify(error.errors ?? error.graphQLErrors).includes('PersistedQueryNotSupported'),
        );
        expect(await ask(second)).toMatchObject(shown);
      });
    });
  }

  test.each([
    ['a file that is not there', null],
    ['no JSON', '{'],
    ['a list', '[]'],
    ['texts that are none', '{"one":1}'],
    ['another version', JSON.stringify({ ...manifests['of Apollo'], version: 2 })],
  ])('%s stops the start', async (_name, content) => {
    const wrong = join(folder, content === null ? 'nothing.json' : 'wrong.json');
    if (content !== null) writeFileSync(wrong, content);
    await expect(startGateway({ on: gateway, settings: { TRUSTED_DOCUMENTS: wrong } })).rejects.toThrow(
      /TRUSTED_DOCUMENTS: .*wrong\.json|nothing\.json/,
    );
  });
});
