import { beforeAll, describe, expect, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import type { Client, Json } from './support/client.ts';
import { createFleet, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { all } from './support/operation.ts';
import { publishEvents } from './support/publish.ts';
import { withScopes, worldWithDeliveries } from './support/scopes.ts';
import type { World } from './support/worlds.ts';

const gateway = await startGateway({ settings: { AUTH_SCOPES: 'on', CONTRACTS_AUTH: 'required' } });

/** Kinds of nodes, with the id in a world and the query for a single one. */
const kinds = {
  Fleet: [({ fleetId }: World) => fleetId, 'fleet(id: $id)'],
  Vehicle: [({ vehicleId }: World) => vehicleId, 'vehicle(by: { id: $id })'],
  Contract: [({ contractId }: World) => contractId, 'contract(id: $id)'],
  Import: [({ importId }: World) => importId, 'import(id: $id)'],
  Event: [({ eventId }: World) => eventId, 'event(id: $id)'],
  Webhook: [({ webhookId }: World) => webhookId, 'webhook(id: $id)'],
  Delivery: [({ deliveryId }: World) => deliveryId, null],
} as const;
const types = Object.keys(kinds) as (keyof typeof kinds)[];
const idOf = (type: keyof typeof kinds, world: World) => kinds[type][0](world);

let world: World;
let other: World;
beforeAll(async () => {
  world = await worldWithDeliveries(gateway);
  other = await worldWithDeliveries(gateway);
});

async function ask(client: Client, query: string, variables: Json): Promise<Json> {
  const { data, errors } = (await client.post('/graphql', { query, variables })).body;
  return errors ? { data, errors } : { data };
}

/** Texts of the statements that are sent while `act` runs. */
async function statementsOf(act: () => Promise<unknown>): Promise<string[]> {
  const { send, read } = gateway.database;
  const seen: string[] = [];
  const watched =
    <Rest extends unknown[], Result>(run: (text: string, ...rest: Rest) => Result) =>
    (text: string, ...rest: Rest) => {
      seen.push(text);
      return run(text, ...rest);
    };
  Object.assign(gateway.database, { send: watched(send), read: watched(read) });
  await act().finally(() => Object.assign(gateway.database, { send, read }));
  return seen;
}

describe.each(types)('node of a %s', (type) => {
  test('has all fields of its own query', async () => {
    const [, own] = kinds[type];
    const id = idOf(type, world);
    const fields = `__typename ${all(type)}`;
    const found = await ask(world.client, `query ($id: ID!) { node(id: $id) { ... on ${type} { ${fields} } } }`, {
      id,
    });
    expect(found.errors).toBeUndefined();
    expect(found.data.node).toMatchObject({ __typename: type, id });
    if (!own) return;
    const wanted = await ask(world.client, `query ($id: ID!) { node: ${own} { ${fields} } }`, { id });
    expect(found).toEqual(wanted);
  });

  test('is null for another company, and the same for an id in capitals', async () => {
    const id = idOf(type, world);
    const query = 'query ($id: ID!) { node(id: $id) { id __typename } }';
    expect(await ask(other.client, query, { id })).toEqual({ data: { node: null } });
    expect(await ask(world.client, query, { id: id.toUpperCase() })).toEqual({
      data: { node: { id, __typename: type } },
    });
  });
});

test('a manufacturer and the caller’s company are nodes, too', async () => {
  const query = `query ($ids: [ID!]!) { nodes(ids: $ids) {
    __typename id ... on Manufacturer { name } ... on Company { fleetCount } } }`;
  const { company } = world;
  const nodes = [
    { __typename: 'Company', id: company, fleetCount: expect.any(Number) },
    { __typename: 'Manufacturer', id: 'bmw', name: 'BMW' },
  ];
  expect(await ask(world.client, query, { ids: [company, 'bmw'] })).toEqual({ data: { nodes } });
  expect(await ask(other.client, query, { ids: [company, 'bmw'] })).toEqual({ data: { nodes: [null, nodes[1]] } });
});

test('an event has its fleet and its contract, and null once they are gone', async () => {
  const fleet = await createFleet(world.client);
  const query = `query ($id: ID!) { events(filter: { fleetId: $id }) { nodes { type fleet { name } contract { id } } } }`;
  const about = async () => (await ask(world.client, query, { id: fleet.id })).data.events.nodes[0];
  await publishEvents(contextOf(gateway.services, 'test', null));
  expect(await about()).toMatchObject({ fleet: { name: fleet.name }, contract: null });
  await world.client.delete(`/fleets/${fleet.id}`);
  expect(await about()).toEqual({ type: 'FLEET_CREATED', fleet: null, contract: null });
});

test('a delivery shows its request, if selected', async () => {
  const { body } = await world.client.get(`/webhooks/${world.webhookId}/deliveries`);
  const sent = body.find(({ request }: Json) => request !== null);
  const query = 'query ($id: ID!) { node(id: $id) { ... on Delivery { request { url headers body } } } }';
  expect(await ask(world.client, query, { id: sent.id })).toEqual({ data: { node: { request: sent.request } } });
});

test('nodes are in the order of their ids, null if unknown, with one statement per field', async () => {
  const ids = [
    ...types.map((type) => idOf(type, world)),
    unknownId,
    'no id',
    '',
    '\0',
    ...types.map((type) => idOf(type, other)),
  ];
  const mixed = [...ids.toReversed(), ...ids];
  const query = 'query ($ids: [ID!]!, $one: ID!) { nodes(ids: $ids) { id __typename } node(id: $one) { id } }';
  let answered: Json;
  const statements = await statementsOf(async () => {
    answered = await ask(world.client, query, { ids: mixed, one: ids[0] });
  });
  const typeOf = new Map(types.map((type) => [idOf(type, world), type]));
  const wanted = mixed.map((id) => (typeOf.has(id) ? { id, __typename: typeOf.get(id) } : null));
  expect(answered).toEqual({ data: { nodes: wanted, node: { id: ids[0] } } });
  expect(statements).toHaveLength(2);
});

test('a deleted cursor of a timeline is an error, as below any other field', async () => {
  const after = Buffer.from(unknownId.replaceAll('-', ''), 'hex').toString('base64url');
  const fields = `timeline(after: "${after}") { nodes { id } pageInfo { hasNextPage } }`;
  for (const root of ['fleet(id: $id) {', 'node(id: $id) { ... on Fleet {']) {
    const query = `query ($id: ID!) { found: ${root} ${fields} ${root.includes('...') ? '} }' : '}'} }`;
    const { errors } = await ask(world.client, query, { id: world.fleetId });
    expect(errors?.[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ code: 'INVALID_CURSOR' }] });
  }
});

test('more than a hundred ids are refused, and a hundred are not', async () => {
  const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
  const { errors } = await ask(world.client, query, { ids: Array(101).fill(unknownId) });
  expect(errors[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ path: 'ids' }] });
  expect((await ask(world.client, query, { ids: Array(100).fill(world.fleetId) })).data.nodes).toHaveLength(100);
  expect(await ask(world.client, query, { ids: [] })).toEqual({ data: { nodes: [] } });
});

describe('the document around nodes', () => {
  test('may have many of them, with a bounded number of lists below', async () => {
    const nodes = (count: number, fields: string) =>
      `{ ${Array.from({ length: count }, (_, at) => `n${at}: node(id: "${unknownId}") { ${fields} }`).join(' ')} }`;
    expect(await ask(world.client, nodes(40, 'id'), {})).toMatchObject({ data: { n0: null, n39: null } });
    const lists = (count: number) =>
      Array.from({ length: count }, (_, at) => `l${at}: contracts(first: 1) { totalCount }`).join(' ');
    const listed = (count: number) => `${nodes(12, '...F')} fragment F on Fleet { ${lists(count)} }`;
    expect((await ask(world.client, listed(3), {})).errors).toBeUndefined();
    const refused = await ask(world.client, listed(4), {});
    expect(refused.errors[0].message).toContain('at most 100 lists');
  });

  test('is read from a replica all the same', async () => {
    const { config } = gateway.services;
    const query = `query ($id: ID!, $first: Int) { fleets(first: $first) { nodes { id } }
      node(id: $id) { ... on Fleet { timeline(first: $first) { nodes { id } } } } }`;
    const short = vi.spyOn(gateway.database, 'read');
    const newest = vi.spyOn(gateway.database, 'slowRead');
    config.DATABASE_READ_URLS.push('postgresql://replica');
    const { errors } = await ask(world.client, query, { id: world.fleetId, first: 1 });
    config.DATABASE_READ_URLS.pop();
    expect({ errors, short: short.mock.calls.length, newest: newest.mock.calls.length }).toEqual({
      short: 1,
      newest: 1,
    });
    vi.restoreAllMocks();
  });
});

test('nodes cost as much as their most expensive type', async () => {
  const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Event { vehicles { vehicleId } } } }';
  const { errors } = await ask(world.client, query, { ids: Array(100).fill(unknownId) });
  expect(errors[0].extensions.code).toBe('COST_EXCEEDED');
  expect((await ask(world.client, query, { ids: Array(20).fill(world.eventId) })).errors).toBeUndefined();
});

describe('with scopes', () => {
  const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }';
  const seenWith = async (...scopes: string[]) => {
    const client = await withScopes(gateway, world, scopes);
    const { data, errors } = await ask(client, query, { ids: types.map((type) => idOf(type, world)) });
    return errors ? errors[0].extensions.code : data.nodes.flatMap((node: Json) => node?.__typename ?? []);
  };

  test('fleets:read finds all but contracts, contracts:read finds contracts alone', async () => {
    expect(await seenWith('fleets:read', 'contracts:read')).toEqual(types);
    expect(await seenWith('fleets:read')).toEqual(types.filter((type) => type !== 'Contract'));
    expect(await seenWith('contracts:read')).toEqual(['Contract']);
  });

  test('contracts:read reads contracts without their fleets, vehicles and timelines', async () => {
    const client = await withScopes(gateway, world, ['contracts:read']);
    const id = world.contractId;
    const fields = 'id fleet { id } vehicle { id } timeline { nodes { id } }';
    const { data } = await ask(client, '{ contracts { nodes { id } } }', {});
    expect(data.contracts.nodes).toContainEqual({ id });
    for (const wanted of ['contract(id: $id)', 'node(id: $id)']) {
      const asked = (selected: string) =>
        ask(client, `query ($id: ID!) { found: ${wanted} { ... on Contract { ${selected} } } }`, { id });
      expect(await asked('id')).toEqual({ data: { found: { id } } });
      const { data: refused, errors } = await asked(fields);
      expect(refused).toEqual({ found: null });
      expect(errors.map(({ extensions }: Json) => extensions.code)).toContain('FORBIDDEN');
    }
  });

  test('a token without read scopes is refused before its ids are read', async () => {
    expect(await seenWith('fleets:write', 'contracts:write')).toBe('FORBIDDEN');
    const client = await withScopes(gateway, world, []);
    const { errors } = await ask(client, query, { ids: Array(101).fill(unknownId) });
    expect(errors[0].extensions.code).toBe('FORBIDDEN');
  });

  test('events of contracts, and their deliveries, need the scope for contracts', async () => {
    const { body } = await world.client.get('/events?type=contract.created');
    const { body: sent } = await world.client.get(`/webhooks/${world.webhookId}/deliveries`);
    const ids = [body[0].id, sent.find(({ type }: Json) => type === 'contract.created').id];
    const found = async (...scopes: string[]) =>
      (await ask(await withScopes(gateway, world, scopes), query, { ids })).data.nodes;
    expect(await found('fleets:read', 'contracts:read')).toEqual([{ __typename: 'Event' }, { __typename: 'Delivery' }]);
    expect(await found('fleets:read')).toEqual([null, null]);
  });
});

test('an import with the id of another object does not hide the object', async () => {
  const { client } = world;
  const fleet = await createFleet(client);
  await gateway.execute(`insert into import (id, company, fleet_id, state, mode, dry_run, started_at)
    values ('${fleet.id}', '${world.company}', '${fleet.id}', 'COMPLETED', 'partial', false, now())`);
  const answered = await ask(client, 'query ($id: ID!) { node(id: $id) { __typename } }', { id: fleet.id });
  expect(answered).toEqual({ data: { node: { __typename: 'Fleet' } } });
});
