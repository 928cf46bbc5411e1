// Apollo Client, urql, Relay, graphql-request and their code generators.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import {
  ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  gql,
  HttpLink,
  InMemoryCache,
  Observable,
} from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { cacheExchange, fetchExchange, subscriptionExchange, Client as UrqlClient } from '@urql/core';
import UploadHttpLink from 'apollo-upload-client/UploadHttpLink.mjs';
import { buildASTSchema, type DocumentNode, parse, print } from 'graphql';
import { ClientError, GraphQLClient } from 'graphql-request';
import { createClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import relay from 'relay-runtime';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import type { Json } from '../support/client.ts';
import { addVehicle, addVehicles, createFleet, fleetFields, newVin, newVins, unknownId } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';

const run = promisify(execFile);
const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');
const url = `${gateway.url}/graphql`;

const fleetsText = `query Fleets($first: Int) {
  fleets(first: $first) { totalCount nodes { id name vehicles { nodes { id vin } } } } }`;
const createText = 'mutation Create($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id name } } }';
const updateText = 'mutation Update($input: UpdateFleetInput!) { updateFleet(input: $input) { fleet { id name } } }';
const fleetText = 'query Fleet($id: ID!) { fleet(id: $id) { id name } }';
const watchText =
  'subscription Watch($fleetId: ID) { eligibilityChanged(fleetId: $fleetId) { eligibility { vin status } } }';
const uploadText = `mutation Upload($input: ImportVehiclesInput!) {
  importVehicles(input: $input) { summary { created rejected } } }`;

const csv = () => new File([`vin\n${newVin()}\nSHORT\n`], 'vins.csv', { type: 'text/csv' });
const uploadSummary = { created: 1, rejected: 1 };

const listeners = () => gateway.services.followers.count;
const listenersBefore = listeners();

/** Opens a subscription to a fleet's answers, then adds a vehicle; returns the VIN. */
async function watched(open: (variables: { fleetId: string }) => unknown): Promise<string> {
  await expect.poll(listeners).toBe(listenersBefore);
  const fleet = await createFleet(acme);
  open({ fleetId: fleet.id });
  await expect.poll(listeners).toBe(listenersBefore + 1);
  const [vehicle] = await addVehicles(acme, newVins(1), fleet);
  return vehicle.vin;
}

const openSocket = () => {
  const socket = createWsClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: acme.headers,
  });
  onTestFinished(() => void socket.dispose());
  return socket;
};

describe('plain fetch', () => {
  const post = (query: string, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: { ...acme.headers, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    });

  test('gets application/json by default, with status 200 for errors', async () => {
    const good = await post('{ manufacturers { id } }');
    expect(good.headers.get('content-type')).toContain('application/json');
    expect((await good.json()).data.manufacturers.length).toBeGreaterThan(10);
    const refused = await post(`{ fleet(id: "${unknownId}") { id } }`);
    expect(refused.status).toBe(200);
    expect(await refused.json()).toMatchObject({
      data: { fleet: null },
      errors: [{ extensions: { code: 'FLEET_NOT_FOUND' } }],
    });
  });

  test('may request application/graphql-response+json, with error statuses', async () => {
    const accept = 'application/graphql-response+json, application/json;q=0.9';
    const wrong = await post('{ nothing }', { accept });
    expect(wrong.status).toBe(400);
    expect(wrong.headers.get('content-type')).toContain('application/graphql-response+json');
  });
});

describe('Apollo Client', () => {
  const headers = acme.headers;
  const sse = createClient({ url, headers });
  afterAll(() => sse.dispose());
  /** The link from graphql-sse's documentation. */
  const events = new ApolloLink(
    (operation) =>
      new Observable((sink) =>
        sse.subscribe(
          { ...operation, query: print(operation.query) },
          {
            next: (value) => sink.next(value as never),
            error: (error) => sink.error(error),
            complete: () => sink.complete(),
          },
        ),
      ),
  );
  const open = (link: ApolloLink) => new ApolloClient({ cache: new InMemoryCache(), link });
  const client = open(
    ApolloLink.split(
      ({ operationType }) => operationType === 'subscription',
      events,
      new HttpLink({ uri: url, headers }),
    ),
  );

  test('queries, and sees a mutation in its cache', async () => {
    const fleet = await createFleet(acme);
    const { data } = await client.query<Json>({ query: gql(fleetText), variables: { id: fleet.id } });
    expect(data).toEqual({ fleet: { __typename: 'Fleet', id: fleet.id, name: fleet.name } });
    await client.mutate({ mutation: gql(updateText), variables: { input: { id: fleet.id, name: 'By Apollo' } } });
    const cached = client.readQuery<Json>({ query: gql(fleetText), variables: { id: fleet.id } });
    expect(cached.fleet.name).toBe('By Apollo');
  });

  test('throws errors with their code', async () => {
    const refused = client.query({ query: gql(fleetText), variables: { id: unknownId } });
    await expect(refused).rejects.toSatisfy(
      (error) => CombinedGraphQLErrors.is(error) && error.errors[0]?.extensions?.code === 'FLEET_NOT_FOUND',
    );
  });

  test('subscribes', async () => {
    const seen: Json[] = [];
    const vin = await watched((variables) => {
      const answers = client.subscribe({ query: gql(watchText), variables });
      const subscription = answers.subscribe(({ data }) => seen.push(data));
      onTestFinished(() => subscription.unsubscribe());
    });
    await expect.poll(() => seen).toMatchObject([{ eligibilityChanged: { eligibility: { vin, status: 'ELIGIBLE' } } }]);
  });

  test('subscribes by WebSocket', async () => {
    const seen: Json[] = [];
    const vin = await watched((variables) => {
      const answers = open(new GraphQLWsLink(openSocket())).subscribe({ query: gql(watchText), variables });
      const subscription = answers.subscribe(({ data }) => seen.push(data));
      onTestFinished(() => subscription.unsubscribe());
    });
    await expect.poll(() => seen).toMatchObject([{ eligibilityChanged: { eligibility: { vin, status: 'ELIGIBLE' } } }]);
  });

  test('uploads through apollo-upload-client', async () => {
    const { id: fleetId } = await createFleet(acme);
    const uploading = open(new UploadHttpLink({ uri: url, headers }));
    const { data } = await uploading.mutate<Json>({
      mutation: gql(uploadText),
      variables: { input: { fleetId, file: csv() } },
    });
    expect(data.importVehicles.summary).toMatchObject(uploadSummary);
  });

  test('uploads with the header of its documentation: only the token is missing', async () => {
    const link = new UploadHttpLink({ uri: url, headers: { 'apollo-require-preflight': 'true' } });
    const refused = open(link).mutate({
      mutation: gql(uploadText),
      variables: { input: { fleetId: 'x', file: csv() } },
    });
    await expect(refused).rejects.toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
  });
});

describe('urql', () => {
  const client = new UrqlClient({
    url,
    exchanges: [cacheExchange, fetchExchange],
    fetchOptions: { headers: acme.headers },
    fetchSubscriptions: true,
    preferGetMethod: 'within-url-limit',
  });

  test('queries by GET, changes by POST, and reads changed data again', async () => {
    const company = await gateway.as('urql');
    const own = new UrqlClient({
      url,
      exchanges: [cacheExchange, fetchExchange],
      fetchOptions: { headers: company.headers },
      preferGetMethod: 'within-url-limit',
    });
    const names = async () =>
      (await own.query<Json>(fleetsText, { first: 10 })).data.fleets.nodes.map(({ name }: Json) => name);
    const { id } = await createFleet(company);
    expect(await names()).toEqual([fleetFields.name]);
    const { error } = await own.mutation(updateText, { input: { id, name: 'By urql' } });
    expect(error).toBeUndefined();
    expect(await names()).toEqual(['By urql']);
  });

  test('returns errors with their code', async () => {
    const { error } = await client.query(fleetText, { id: unknownId });
    expect(error?.graphQLErrors[0]?.extensions.code).toBe('FLEET_NOT_FOUND');
  });

  test('subscribes', async () => {
    const seen: Json[] = [];
    const vin = await watched((variables) => {
      const answers = client.subscription<Json>(watchText, variables);
      onTestFinished(answers.subscribe(({ data }) => seen.push(data)).unsubscribe);
    });
    await expect.poll(() => seen).toMatchObject([{ eligibilityChanged: { eligibility: { vin, status: 'ELIGIBLE' } } }]);
  });

  test.each(['graphql-ws', 'graphql-sse'])('subscribes by its subscriptionExchange over %s', async (library) => {
    const transport = library === 'graphql-ws' ? openSocket() : createClient({ url, headers: { ...acme.headers } });
    onTestFinished(() => void transport.dispose());
    const own = new UrqlClient({
      url,
      preferGetMethod: false,
      exchanges: [
        subscriptionExchange({
          forwardSubscription: ({ query = '', ...request }) => ({
            subscribe: (sink) => ({ unsubscribe: transport.subscribe({ ...request, query } as never, sink as never) }),
          }),
        }),
      ],
    });
    const seen: Json[] = [];
    const vin = await watched((variables) => {
      const answers = own.subscription<Json>(watchText, variables);
      onTestFinished(answers.subscribe(({ data }) => seen.push(data)).unsubscribe);
    });
    await expect.poll(() => seen).toMatchObject([{ eligibilityChanged: { eligibility: { vin, status: 'ELIGIBLE' } } }]);
  });

  test('uploads', async () => {
    const { id: fleetId } = await createFleet(acme);
    const { data, error } = await client.mutation<Json>(uploadText, { input: { fleetId, file: csv() } });
    expect(error).toBeUndefined();
    expect(data.importVehicles.summary).toMatchObject(uploadSummary);
  });
});

describe('graphql-request', () => {
  const client = new GraphQLClient(url, { headers: acme.headers });

  test('queries and changes', async () => {
    const { createFleet: made } = await client.request<Json>(createText, {
      input: { ...fleetFields, name: 'By request' },
    });
    expect(await client.request(fleetText, { id: made.fleet.id })).toEqual({ fleet: made.fleet });
  });

  test('throws errors with their code and every fault', async () => {
    const error = await client.request(createText, { input: { ...fleetFields, email: 'x' } }).catch((reason) => reason);
    expect(error).toBeInstanceOf(ClientError);
    expect(error.response.errors[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ path: 'email' }],
    });
  });
});

describe('graphql-sse', () => {
  test('iterates over a subscription', async () => {
    const client = createClient({ url, headers: { ...acme.headers } });
    onTestFinished(() => client.dispose());
    let first: Promise<unknown> | undefined;
    const vin = await watched((variables) => {
      const answers = client.iterate<Json>({ query: watchText, variables });
      first = answers.next();
    });
    expect(await first).toMatchObject({
      value: { data: { eligibilityChanged: { eligibility: { vin, status: 'ELIGIBLE' } } } },
    });
  });
});

/** A folder in which our packages resolve, removed after the tests of a client. */
async function project(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-gateway-client-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await cp('schema.graphql', join(folder, 'schema.graphql'));
  return folder;
}

describe('graphql-codegen’s client preset', async () => {
  const folder = await project();
  const program = `
import { GraphQLClient } from 'graphql-request';
import { graphql } from './gql/index.ts';

const Fleets = graphql(\`${fleetsText}\`);
const Create = graphql(\`${createText}\`);
const Watch = graphql(\`${watchText}\`);

export async function use(url: string, headers: Record<string, string>) {
  const client = new GraphQLClient(url, { headers });
  const input = { name: 'Typed', companyAddress: 'Main Street 1', email: 'fleet@example.com', vat: 'DE1' };
  const made = await client.request(Create, { input });
  // @ts-expect-error: the name is missing
  const refused = client.request(Create, { input: { ...input, name: undefined } }).catch(() => 'refused');
  const { fleets } = await client.request(Fleets, { first: 1 });
  const names: string[] = fleets.nodes.map(({ name }) => name);
  const id: string | undefined = made.createFleet?.fleet.id;
  return { id, names, total: fleets.totalCount, refused: await refused, watch: Watch.kind };
}
`;

  test('makes types of schema.graphql that compile, and documents that work', async () => {
    const schema = parse(await readFile('schema.graphql', 'utf8'));
    const document = parse([fleetsText, createText, watchText].join('\n'));
    const location = join(folder, 'use.ts');
    const sources = document.definitions.map((definition) => {
      const one: DocumentNode = { ...document, definitions: [definition] };
      return { location, document: one, rawSDL: sourceOf(definition) };
    });
    const output = join(folder, 'gql');
    await mkdir(output);
    const sections = await preset.buildGeneratesSection({
      baseOutputDir: `${output}/`,
      schema,
      schemaAst: buildASTSchema(schema),
      documents: sources,
      config: { useTypeImports: true, enumsAsTypes: true, importExtension: '.ts', emitLegacyCommonJSImports: false },
      presetConfig: { fragmentMasking: false },
      plugins: [],
      pluginMap: {},
      pluginContext: {},
    } as never);
    for (const section of sections) await writeFile(section.filename, await codegen(section as never));
    await writeFile(location, program);
    const flags =
      '--ignoreConfig --noEmit --strict --skipLibCheck --module esnext --moduleResolution bundler --allowImportingTsExtensions --target esnext --lib esnext,dom,dom.iterable --types node';
    await run(resolve('node_modules/.bin/tsc'), [...flags.split(' '), location]).catch(({ stdout }) =>
      expect.fail(stdout),
    );
    const { use } = await import(location);
    const typed = await gateway.as('typed');
    expect(await use(url, typed.headers)).toEqual({
      id: expect.any(String),
      names: ['Typed'],
      total: 1,
      refused: 'refused',
      watch: 'Document',
    });
  });

  const sourceOf = (definition: Json) =>
    [fleetsText, createText, watchText].find((text) => text.includes(` ${definition.name.value}(`)) ?? '';
});

describe('Relay', async () => {
  const folder = await project();
  const { Environment, Network, RecordSource, Store, fetchQuery, commitMutation, createOperationDescriptor } = relay;

  test('compiles its documents, keeps pages in its store and sees a mutation there', async () => {
    await writeFile(
      join(folder, 'fleets.js'),
      `graphql\`query fleetsQuery($count: Int!, $cursor: String) {
         fleets(first: $count, after: $cursor) @connection(key: "fleets_fleets") {
           edges { cursor node { id name vehicles(first: 2) { edges { node { vin manufacturer { name } } } } } }
           pageInfo { hasNextPage endCursor } } }\`;
       graphql\`mutation fleetsUpdateMutation($input: UpdateFleetInput!) { updateFleet(input: $input) { fleet { id name } } }\`;`,
    );
    await writeFile(
      join(folder, 'relay.config.json'),
      JSON.stringify({
        src: '.',
        schema: 'schema.graphql',
        language: 'javascript',
        artifactDirectory: '__generated__',
        eagerEsModules: false,
        excludes: ['**/node_modules/**', '**/__generated__/**'],
      }),
    );
    await mkdir(join(folder, '__generated__'));
    const compiler = join(dirname(createRequire(import.meta.url).resolve('relay-compiler')), 'cli.js');
    await run(process.execPath, [compiler, '--noWatchman'], { cwd: folder }).catch(({ stdout, stderr }) =>
      expect.fail(stdout + stderr),
    );
    const load = createRequire(join(folder, 'fleets.js'));
    const query = load('./__generated__/fleetsQuery.graphql.js');
    const mutation = load('./__generated__/fleetsUpdateMutation.graphql.js');

    const client = await gateway.as('relay');
    for (const vin of newVins(3)) await addVehicle(client, vin);
    const environment = new Environment({
      network: Network.create(
        async ({ text }: Json, variables: Json) => (await client.post('/graphql', { query: text, variables })).body,
      ),
      store: new Store(new RecordSource()),
    });
    const first: Json = await fetchQuery(environment, query, { count: 2 }).toPromise();
    expect(first.fleets.edges).toHaveLength(2);
    expect(first.fleets.edges[0].node.vehicles.edges[0].node.manufacturer.name).toBe('BMW');
    const { endCursor, hasNextPage } = first.fleets.pageInfo;
    expect(hasNextPage).toBe(true);
    const both: Json = await fetchQuery(environment, query, { count: 2, cursor: endCursor }).toPromise();
    // The store has appended the second page.
    expect(both.fleets.edges).toHaveLength(3);

    const operation = createOperationDescriptor(query, { count: 2 });
    const { id } = first.fleets.edges[0].node;
    const retained = environment.retain(operation);
    await new Promise((resolve, reject) =>
      commitMutation(environment, {
        mutation,
        variables: { input: { id, name: 'By Relay' } },
        onCompleted: resolve,
        onError: reject,
      }),
    );
    const { fleets }: Json = environment.lookup(operation.fragment).data;
    expect(fleets.edges[0].node.name).toBe('By Relay');
    retained.dispose();
  });
});

describe('TRUSTED_DOCUMENTS accepts the manifest of', () => {
  const documents = 'query ManifestFleet($id: ID!) { fleet(id: $id) { id name } }';
  const runTool = (folder: string, name: string, ...args: string[]) =>
    run(process.execPath, [join('node_modules/.bin', name), ...args], { cwd: folder }).catch(({ stdout, stderr }) =>
      expect.fail(stdout + stderr),
    );

  const writers: Record<string, (folder: string) => Promise<string>> = {
    async 'Apollo’s generate-persisted-query-manifest'(folder) {
      await mkdir(join(folder, 'src'));
      await writeFile(join(folder, 'src/fleet.js'), `import { gql } from '@apollo/client';\ngql\`${documents}\`;`);
      await runTool(folder, 'generate-persisted-query-manifest');
      return 'persisted-query-manifest.json';
    },
    async 'the Relay compiler'(folder) {
      await mkdir(join(folder, 'src'));
      await writeFile(
        join(folder, 'src/ManifestFleet.js'),
        `graphql\`${documents.replace('ManifestFleet', 'ManifestFleetQuery')}\`;`,
      );
      const config = {
        src: 'src',
        schema: 'schema.graphql',
        language: 'javascript',
        persistConfig: { file: 'persisted.json', algorithm: 'SHA256' },
      };
      await writeFile(join(folder, 'relay.config.json'), JSON.stringify(config));
      await writeFile(join(folder, 'persisted.json'), '{}');
      await runTool(folder, 'relay-compiler', '--noWatchman');
      return 'persisted.json';
    },
    async 'graphql-codegen’s client preset'(folder) {
      const schema = parse(await readFile('schema.graphql', 'utf8'));
      const sections = await preset.buildGeneratesSection({
        baseOutputDir: `${folder}/`,
        schema,
        schemaAst: buildASTSchema(schema),
        documents: [{ location: join(folder, 'use.ts'), document: parse(documents), rawSDL: documents }],
        config: {},
        presetConfig: { persistedDocuments: true },
        plugins: [],
        pluginMap: {},
        pluginContext: {},
      } as never);
      for (const section of sections) await writeFile(section.filename, await codegen(section as never));
      return 'persisted-documents.json';
    },
  };

  test.each(Object.entries(writers))('%s', async (_name, write) => {
    const folder = await project();
    const path = join(folder, await write(folder));
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    const [id = ''] = manifest.operations?.map((one: Json) => one.id) ?? Object.keys(manifest);
    const trusting = await startGateway({ on: gateway, settings: { TRUSTED_DOCUMENTS: path } });
    const client = await trusting.as('acme');
    const fleet = await createFleet(acme);
    const asked = { extensions: { persistedQuery: { version: 1, sha256Hash: id } }, variables: { id: fleet.id } };
    expect((await client.post('/graphql', asked)).body.data.fleet).toMatchObject({ id: fleet.id, name: fleet.name });
    expect((await client.post('/graphql', { query: '{ __typename }' })).body.errors).toMatchObject([
      { message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } },
    ]);
  });
});
