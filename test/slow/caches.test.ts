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
import { createClient } from 'graphql-ws';
import relay from 'relay-runtime';
import { expect, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import type { Json } from '../support/client.ts';
import { addVehicles, createFleet, newVin } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');
const { headers } = acme;
const url = `${gateway.url}/graphql`;

const vehicles = '{ fleet(id: $id) { id vehicles { nodes { id vin eligibility { status } } } } }';
const list = `query List($id: ID!) ${vehicles}`;
const watch =
  'subscription Watch($id: ID) { eligibilityChanged(fleetId: $id) { vehicle { id eligibility { status } } } }';
const statusIn = (data: Json): string => data.fleet.vehicles.nodes[0].eligibility.status;

/** A fleet whose only vehicle gets its answer after ten seconds: time to look at it before. */
async function pendingFleet(): Promise<string> {
  const fleet = await createFleet(acme);
  await addVehicles(acme, [newVin(8)], fleet);
  return fleet.id;
}

/** The statuses that somebody sees who only looks at the list, and never asks for it again. */
const seesBoth = (statuses: string[]) => expect.poll(() => [...new Set(statuses)]).toEqual(['PENDING', 'ELIGIBLE']);

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

/** What is shown by urql with this cache, and how often the list was asked for. */
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

test('urql’s Graphcache shows the new status', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  expect(await byUrql(graphcache({}))).toBe(1);
});

test('urql’s document cache shows it when the list is asked for again', async () => {
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
