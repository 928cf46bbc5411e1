// Everything is read by Apollo's, urql's and Relay's stores as they are by default.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { fetchExchange, Client as UrqlClient } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import {
  type GraphQLField,
  type GraphQLNamedType,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import relay from 'relay-runtime';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Client, Json } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { schema } from '../support/operation.ts';
import { worldWithDeliveries } from '../support/scopes.ts';

const gateway = await startGateway({ settings: { LIMIT_GRAPHQL_COST: '1000000' } });
const { client } = await worldWithDeliveries(gateway);

const isNode = (type: GraphQLNamedType) =>
  isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node');
const isConnection = ({ name }: GraphQLNamedType) => name.endsWith('Connection');
const given: Record<string, string> = { search: '(text: "WBA")', activity: '(from: "2026-11-01T00:00:00Z")' };
/** The fields that need no argument, or one of these. */
const fieldsOf = (type: GraphQLNamedType) =>
  isObjectType(type)
    ? Object.values(type.getFields()).filter(({ name, args }) => name in given || !args.some(isRequiredArgument))
    : [];

/**
 * Selects the fields of a type: of Nodes the other Nodes and lists to a depth, and of objects without an id the same in
 * every document, since caches replace such an object as a whole.
 */
function selectionOf(type: GraphQLNamedType, depth: number, only?: string): string {
  if (isUnionType(type)) {
    return `{ __typename ${type.getTypes().map((one) => `... on ${one.name} ${selectionOf(one, depth)}`)} }`;
  }
  const hasId = isNode(type) || isConnection(type);
  const chosen = fieldsOf(type).flatMap((field) => {
    const of = getNamedType(field.type);
    const isOther = isNode(of) || isConnection(of);
    if (isLeafType(of)) return field.name;
    if (isInterfaceType(of) || field.name === 'edges') return [];
    if (field.name === 'nodes' && isConnection(type)) return `nodes ${selectionOf(of, depth, only)}`;
    if (!hasId && isNode(of)) return `${field.name} { id }`;
    if (isOther && (depth === 0 || !hasId || (only && field.name !== only))) return [];
    return fieldText(field, isOther ? depth - 1 : depth);
  });
  return `{ ${chosen.join(' ')} }`;
}

function fieldText(field: GraphQLField<unknown, unknown>, depth: number, only?: string): string {
  const page = field.args.some(({ name }) => name === 'first') ? '(first: 4)' : '';
  return `${field.name}${given[field.name] ?? page} ${selectionOf(getNamedType(field.type), depth, only)}`;
}

/** A root field with Nodes alone; then once for each list or Node below its objects. */
const documents = fieldsOf(schema.getQueryType() as GraphQLNamedType).flatMap((root) => {
  const type = getNamedType(root.type);
  if (isLeafType(type) || isInterfaceType(type)) return [];
  const item = isConnection(type) ? fieldsOf(type).find(({ name }) => name === 'nodes')?.type : type;
  const others = fieldsOf(getNamedType(item) as GraphQLNamedType).filter(({ type: of }) => {
    const named = getNamedType(of);
    return isNode(named) || isConnection(named);
  });
  return [fieldText(root, 0), ...others.map(({ name }) => fieldText(root, 2, name))].map((text) => `{ ${text} }`);
});

test('the documents ask for every type that Query leads to', () => {
  const [reached, asked] = [new Set<string>(), new Set<string>()];
  const reach = (type: GraphQLNamedType) => {
    if (reached.has(type.name) || isLeafType(type) || isInterfaceType(type)) return;
    reached.add(type.name);
    if (isUnionType(type)) type.getTypes().forEach(reach);
    if (isObjectType(type)) for (const field of Object.values(type.getFields())) reach(getNamedType(field.type));
  };
  reach(schema.getQueryType() as GraphQLNamedType);
  const types = new TypeInfo(schema);
  const note = visitWithTypeInfo(types, {
    SelectionSet: () => void asked.add(getNamedType(types.getParentType() ?? types.getType())?.name ?? ''),
  });
  for (const document of documents) visit(parse(document), note);
  expect([...reached].filter((name) => !asked.has(name) && !/Edge$|^SearchResult$/.test(name))).toEqual([]);
});

interface Cache {
  read(document: string): Promise<Json>;
  /** From the cache alone; null if anything is missing. */
  keep(document: string): Promise<Json>;
}

const caches: Record<string, (sent: Client) => Promise<Cache>> = {
  async 'Apollo’s InMemoryCache'({ headers }) {
    const link = new HttpLink({ uri: `${gateway.url}/graphql`, headers });
    const apollo = new ApolloClient({ cache: new InMemoryCache(), link });
    return {
      read: async (text) => (await apollo.query({ query: gql(text), fetchPolicy: 'network-only' })).data,
      keep: async (text) => apollo.readQuery({ query: gql(text) }),
    };
  },
  async 'urql’s Graphcache'({ headers }) {
    const exchanges = [cacheExchange({}), fetchExchange];
    const urql = new UrqlClient({
      ...{ url: `${gateway.url}/graphql`, preferGetMethod: false, fetchOptions: { headers }, exchanges },
    });
    const ask = async (text: string, requestPolicy: 'network-only' | 'cache-only') => {
      const { data, error } = await urql.query(text, {}, { requestPolicy });
      expect(error).toBeUndefined();
      return data;
    };
    return { read: (text) => ask(text, 'network-only'), keep: (text) => ask(text, 'cache-only') };
  },
  async 'Relay’s store'(sent) {
    const folder = await mkdtemp(join(tmpdir(), 'fleet-gateway-default-cache-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    await cp('schema.graphql', join(folder, 'schema.graphql'));
    await mkdir(join(folder, '__generated__'));
    const text = documents.map((document, at) => `graphql\`query all${at}Query ${document}\`;`);
    await writeFile(join(folder, 'all.js'), text.join('\n'));
    const config = {
      ...{ src: '.', schema: 'schema.graphql', language: 'javascript', artifactDirectory: '__generated__' },
      ...{ eagerEsModules: false, excludes: ['**/node_modules/**', '**/__generated__/**'] },
    };
    await writeFile(join(folder, 'relay.config.json'), JSON.stringify(config));
    const compiler = resolve('node_modules/.bin/relay-compiler');
    await promisify(execFile)(process.execPath, [compiler, '--noWatchman'], { cwd: folder });
    const load = createRequire(join(folder, 'all.js'));
    const { Environment, Network, RecordSource, Store, fetchQuery, createOperationDescriptor } = relay;
    const environment = new Environment({
      network: Network.create(
        async ({ text: query }: Json, variables: Json) => (await sent.post('/graphql', { query, variables })).body,
      ),
      store: new Store(new RecordSource()),
    });
    const queryOf = (document: string) => load(`./__generated__/all${documents.indexOf(document)}Query.graphql.js`);
    return {
      async read(document) {
        const query = queryOf(document);
        environment.retain(createOperationDescriptor(query, {}));
        return fetchQuery(environment, query, {}).toPromise();
      },
      async keep(document) {
        const operation = createOperationDescriptor(queryOf(document), {});
        const { data, isMissingData } = environment.lookup(operation.fragment);
        return isMissingData ? null : data;
      },
    };
  },
};

test.each(Object.entries(caches))('%s by its defaults loses nothing that was read in turns', async (_name, open) => {
  // Caches that know no schema warn of objects without an id and of unions, as their owners intend.
  const warnings: string[] = [];
  for (const method of ['warn', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((text) => void warnings.push(String(text)));
  }
  onTestFinished(() => void vi.restoreAllMocks());
  const cache = await open(client);
  const read: [string, Json][] = [];
  for (const document of documents) read.push([document, structuredClone(await cache.read(document))]);
  for (const [document, data] of read.toReversed()) {
    expect({ document, data: await cache.keep(document) }).toEqual({ document, data });
  }
  expect(warnings.filter((text) => text.includes('Cache data may be lost'))).toEqual([]);
});
