// Apollo's, urql's and Relay's caches follow eligibility.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { cacheExchange as documentCache, type Exchange, fetchExchange, Client as UrqlClient } from '@urql/core';
import { cacheExchange as graphcache } from '@urql/exchange-graphcache';
import { introspectionFromSchema } from 'graphql';
import { createClient } from 'graphql-ws';
import relay from 'relay-runtime';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import { newCache as apolloCache } from '../../examples/apollo/cache.ts';
import { newCache as urqlCache } from '../../examples/urql/cache.ts';
import type { Client, Json } from '../support/client.ts';
import { everythingOf } from '../support/everything.ts';
import { addVehicles, createFleet, newVin, newVins } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { schema } from '../support/operation.ts';
import { worldWithDeliveries } from '../support/scopes.ts';

const gateway = await startGateway({ workers: true, settings: { LIMIT_GRAPHQL_COST: '1000000' } });
const acme = await gateway.as('acme');
const { headers } = acme;
const url = `${gateway.url}/graphql`;

const vehicles = '{ fleet(id: $id) { id vehicles(first: 10) { nodes { id vin eligibility { status } } } } }';
const list = `query List($id: ID!) ${vehicles}`;
const watch =
  'subscription Watch($id: ID) { eligibilityChanged(fleetId: $id) { vehicle { id eligibility { status } } } }';
const statusIn = (data: Json): string => data.fleet.vehicles.nodes[0].eligibility.status;

/** A fleet whose only vehicle is answered after ten seconds, so that tests can read it before. */
async function pendingFleet(): Promise<string> {
  const fleet = await createFleet(acme);
  await addVehicles(acme, [newVin(8)], fleet);
  return fleet.id;
}

/** The statuses in a list that is read once and changes by its cache. */
const seesBoth = (statuses: string[]) => expect.poll(() => [...new Set(statuses)]).toEqual(['PENDING', 'ELIGIBLE']);

const introspection = introspectionFromSchema(schema, { descriptions: false });

/** Clients with the caches of the examples; each sends a document and returns its data. */
const recipes = {
  Apollo: (sent: Client) => {
    const link = new HttpLink({ uri: url, headers: sent.headers });
    const client = new ApolloClient({ cache: apolloCache(), link });
    return async (document: string, variables: Json = {}): Promise<Json> => {
      const kind = document.startsWith('mutation') ? 'mutate' : 'query';
      if (kind === 'mutate') return (await client.mutate({ mutation: gql(document), variables })).data;
      const { data } = await client.query({ query: gql(document), variables, fetchPolicy: 'network-only' });
      // Reads from the cache alone, which must have every part of the response.
      return { data, kept: client.readQuery({ query: gql(document), variables }) };
    };
  },
  urql: (sent: Client) => {
    const client = new UrqlClient({
      url,
      preferGetMethod: false,
      fetchOptions: { headers: sent.headers },
      exchanges: [urqlCache(introspection), fetchExchange],
    });
    return async (document: string, variables: Json = {}): Promise<Json> => {
      if (document.startsWith('mutation')) return (await client.mutation(document, variables)).data;
      const { data } = await client.query(document, variables, { requestPolicy: 'network-only' });
      return { data, kept: (await client.query(document, variables, { requestPolicy: 'cache-only' })).data };
    };
  },
};

const parts = `{ fleets { nodes { id vehicles { nodes { id eligibility { reason { code } } } } eligibilitySummary { failed } } }
  company { id eligibilitySummary { failed } } providers { name brands { state } } }`;
const page = `query Page($id: ID!, $after: String, $vin: String) { fleet(id: $id) { id
  vehicles(first: 2, after: $after, filter: { vin: $vin }) { edges { node { id vin } } pageInfo { endCursor hasNextPage } } } }`;
const add = `mutation Add($input: AddVehiclesInput!) { addVehicles(input: $input) {
  fleet { id vehicleCount } summary { created } vehicles { id eligibility { status } } rejected { code } } }`;

describe.each(Object.entries(recipes))('The cache of the example for %s', (_name, recipe) => {
  const said: unknown[][] = [];
  beforeEach(() => {
    for (const method of ['warn', 'error'] as const) {
      vi.spyOn(console, method).mockImplementation((...what) => void said.push(what));
    }
  });
  afterEach(() => {
    vi.restoreAllMocks();
    expect(said.splice(0)).toEqual([]);
  });

  test('keeps every field that a company can see, for any selection, without a warning', async () => {
    const { client } = await worldWithDeliveries(gateway);
    const send = recipe(client);
    const post = async (_path: string, { query }: Json) => {
      const { data, kept } = await send(query);
      expect(kept).toEqual(data);
      return { body: { data } };
    };
    const throughCache = { ...client, post } as unknown as Client;
    await everythingOf(throughCache);
    expect(await send(parts)).toMatchObject({ kept: { company: { eligibilitySummary: {} } } });
    await everythingOf(throughCache);
  });

  test('appends pages, separately per filter, and merges the response of a mutation', async () => {
    const send = recipe(acme);
    const fleet = await createFleet(acme);
    const vins = newVins(3);
    const variables = { input: { fleetId: fleet.id, vins: [...vins, 'SHORT'] } };
    expect(await send(add, variables)).toMatchObject({ addVehicles: { summary: { created: 3 }, rejected: [{}] } });

    const vinsOf = ({ kept }: Json) => kept.fleet.vehicles.edges.map(({ node }: Json) => node.vin);
    const id = fleet.id;
    const first = await send(page, { id });
    await send(page, { id, vin: vins[2] });
    const after = first.data.fleet.vehicles.pageInfo.endCursor;
    expect(vinsOf(await send(page, { id, after }))).toEqual(vins);
    expect(vinsOf(await send(page, { id, vin: vins[2] }))).toEqual([vins[2]]);
  });
});

test('Apollo’s default cache shows the new status', async () => {
  const id = await pendingFleet();
  const socket = createClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket, connectionParams: headers });
  onTestFinished(() => void socket.dispose());
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.split(
      ({ operationType }) => operationType === 'subscription',
      new GraphQLWsLink(socket),
      new HttpLink({ uri: url, headers }),
    ),
  });
  const statuses: string[] = [];
  const shown = client.watchQuery<Json>({ query: gql(list), variables: { id } });
  const watching = shown.subscribe(({ data, dataState }) => {
    if (dataState === 'complete') statuses.push(statusIn(data));
  });
  const changes = client.subscribe({ query: gql(watch), variables: { id } }).subscribe(() => {});
  onTestFinished(() => {
    watching.unsubscribe();
    changes.unsubscribe();
  });
  await seesBoth(statuses);
});

/** The statuses shown by urql with this cache, until both were shown; returns the number of requests for the list. */
async function byUrql(cache: Exchange, onChange: (client: UrqlClient, id: string) => void = () => {}) {
  const id = await pendingFleet();
  const asked = vi.fn(fetch);
  const client = new UrqlClient({
    url,
    fetch: asked as typeof fetch,
    preferGetMethod: false,
    fetchSubscriptions: true,
    fetchOptions: { headers },
    exchanges: [cache, fetchExchange],
  });
  const statuses: string[] = [];
  const watching = client.query(list, { id }).subscribe(({ data }) => {
    if (data) statuses.push(statusIn(data));
  });
  const changes = client.subscription(watch, { id }).subscribe(() => onChange(client, id));
  onTestFinished(() => {
    watching.unsubscribe();
    changes.unsubscribe();
  });
  await seesBoth(statuses);
  return asked.mock.calls.filter(([, init]) => String(init?.body).includes('query List')).length;
}

test.each([
  ['by itself', () => graphcache({})],
  ['of the example', () => urqlCache(introspection)],
])('urql’s Graphcache %s shows the new status', async (_name, cache) => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  expect(await byUrql(cache())).toBe(1);
});

test('urql’s document cache shows the new status after another request', async () => {
  const again = (client: UrqlClient, id: string) =>
    void client.query(list, { id }, { requestPolicy: 'network-only' }).toPromise();
  expect(await byUrql(documentCache, again)).toBe(2);
});

test('Relay’s store shows the new status', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-gateway-cache-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await cp('schema.graphql', join(folder, 'schema.graphql'));
  await mkdir(join(folder, '__generated__'));
  const text = [list.replace('List', 'listQuery'), watch.replace('Watch', 'listSubscription')];
  await writeFile(join(folder, 'list.js'), text.map((one) => `graphql\`${one}\`;`).join('\n'));
  const config = {
    src: '.',
    schema: 'schema.graphql',
    language: 'javascript',
    artifactDirectory: '__generated__',
    eagerEsModules: false,
    excludes: ['**/node_modules/**', '**/__generated__/**'],
  };
  await writeFile(join(folder, 'relay.config.json'), JSON.stringify(config));
  const compiler = resolve('node_modules/.bin/relay-compiler');
  await promisify(execFile)(process.execPath, [compiler, '--noWatchman'], { cwd: folder });
  const load = createRequire(join(folder, 'list.js'));
  const query = load('./__generated__/listQuery.graphql.js');
  const subscription = load('./__generated__/listSubscription.graphql.js');

  const id = await pendingFleet();
  const socket = createClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket, connectionParams: headers });
  onTestFinished(() => void socket.dispose());
  const { Environment, Network, RecordSource, Store, fetchQuery, requestSubscription, createOperationDescriptor } =
    relay;
  const environment = new Environment({
    network: Network.create(
      async ({ text }: Json, variables: Json) => (await acme.post('/graphql', { query: text, variables })).body,
      ({ text }: Json, variables: Json) =>
        relay.Observable.create((sink: Json) => socket.subscribe({ query: text, variables }, sink)),
    ),
    store: new Store(new RecordSource()),
  });
  const operation = createOperationDescriptor(query, { id });
  const retained = environment.retain(operation);
  const statuses: string[] = [statusIn(await fetchQuery(environment, query, { id }).toPromise())];
  const shown = environment.subscribe(environment.lookup(operation.fragment), ({ data }: Json) =>
    statuses.push(statusIn(data)),
  );
  const changes = requestSubscription(environment, { subscription, variables: { id } });
  onTestFinished(() => {
    retained.dispose();
    shown.dispose();
    changes.dispose();
  });
  await seesBoth(statuses);
});
