import { describe, expect, test, vi } from 'vitest';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createFleet, fleetFields, newVin, newVins, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');

const strange = 'O’Neil "100 %" \\ <b>\u0001\u2028 🚚 {"a":1} %s \'';
const fleets = [await createFleet(acme, { name: strange, companyAddress: '%1$s' }), await createFleet(acme)];
const [first] = fleets as [Json, Json];
await addVehicles(acme, [...newVins(3), newVin(7), newVin(0, 'ZFF'), newVin(0, 'XXX')], first);
await createFleet(globex, { ...fleetFields, name: 'theirs' });

const RESPONSE = 'application/graphql-response+json';

/** The answers to an operation: the database's text, and by graphql-js, which makes all of an answer with a field of a resolver. */
async function both(client: Client, query: string, variables: Json = {}): Promise<[Json, Json]> {
  const ways = [query, query.replace('{', '{ company { id } ')];
  const answers = ways.map((text) => client.post('/graphql', { query: text, variables }, { accept: RESPONSE }));
  const [short, executed] = await Promise.all(answers);
  const shown = ({ body: { data, errors } }: { body: Json }) => {
    const { company, ...others } = data ?? {};
    return {
      data: data && others,
      errors: errors?.map(({ extensions: { requestId, ...rest }, locations, ...error }: Json) => ({
        ...error,
        extensions: rest,
      })),
    };
  };
  return [shown(short as never), shown(executed as never)];
}

const vehicle = `id vin warnings createdAt eligibility { vin status eligible dataDelivery connectivityStatus
  primaryUserAssigned attempts verifiedAt nextAttemptAt }`;
const fleet = 'id company name companyAddress email vat vehicleCount createdAt updatedAt';
const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';

const queries: Record<string, string> = {
  'all of a fleet': `{ fleets { nodes { ${fleet} vehicles { nodes { ${vehicle} } ${pageInfo} } } ${pageInfo} } }`,
  edges: `{ fleets(first: 1) { ${pageInfo} edges { cursor node { id vehicles(first: 2) { edges { node { vin } cursor } } } } } }`,
  'aliases and the same field twice': `{ a: fleets(first: 1) { nodes { x: id x: id name } } b: fleets(first: 2) { n: nodes { id }
    nodes2: pageInfo { z: hasNextPage } } }`,
  'nodes and edges of one list': '{ fleets { nodes { id } edges { node { name } } } }',
  fragments: `query { fleets { ...F ... on FleetConnection { nodes { vehicles(first: 1) { nodes { id } } } } } }
    fragment F on FleetConnection { __typename nodes { __typename ...G } } fragment G on Fleet { name vehicles(first: 1) { nodes { vin } } }`,
  filters: `{ fleets(filter: { name: "O" }) { nodes { vehicles(filter: { eligibility: PENDING }, first: 5) { nodes { vin } } } } }`,
  'what is resolved by other means': `{ fleets { totalCount nodes { vehicles { nodes { manufacturer { name } eligibility { reason { code } } } } } } }`,
  'one that is not there': `{ fleet(id: "${unknownId}") { id } fleets { nodes { id } } }`,
  'one that is no id': '{ fleet(id: "1") { id } }',
  'the end of a list': '{ fleets(last: 1) { nodes { id } } }',
  'a page that is too large': '{ fleets(first: 1001) { nodes { id } } }',
  'a wrong cursor': '{ fleets(after: "x") { nodes { id } } }',
  directives: '{ fleets { nodes { id @skip(if: true) name @include(if: true) } } }',
  'the type alone': '{ __typename }',
  'the type beside data': '{ __typename fleets { __typename nodes { id } } }',
  'nothing but facts': '{ fleets(first: 1) { pageInfo { endCursor hasNextPage } } }',
};

describe.each(Object.entries(queries))('%s', (_name, query) => {
  test.each([
    ['acme', acme],
    ['globex', globex],
  ])('is the same from the database and from the execution, to %s', async (_company, client) => {
    const [short, executed] = await both(client, query);
    expect(short).toEqual(executed);
  });
});

test('pages follow each other, by variables', async () => {
  const query = `query ($id: ID!, $first: Int, $after: String) { fleet(id: $id) { vehicles(first: $first, after: $after) {
    nodes { vin } ${pageInfo} } } }`;
  const vins: string[] = [];
  let after: string | null = null;
  for (let page = 0; page < 4; page++) {
    const [short, executed]: [Json, Json] = await both(acme, query, { id: first.id, first: 2, after });
    expect(short).toEqual(executed);
    const { nodes, pageInfo: info } = short.data.fleet.vehicles;
    vins.push(...nodes.map(({ vin }: Json) => vin));
    after = info.endCursor;
    if (!info.hasNextPage) break;
  }
  expect(new Set(vins).size).toBe(6);
  expect(vins).toHaveLength(6);
});

test('an invalid variable is refused as in an execution', async () => {
  const query = 'query ($id: ID!, $first: Int) { fleet(id: $id) { vehicles(first: $first) { nodes { vin } } } }';
  for (const variables of [{ id: first.id, first: 'x' }, {}, { id: first.id, first: 0 }, { id: null }]) {
    const [short, executed] = await both(acme, query, variables);
    expect(short).toEqual(executed);
    expect(short.errors).toHaveLength(1);
  }
});

test('errors of the database or a resolver have the same message and path', async () => {
  const nothing = 'query ($id: ID = "x") { fleet(id: $id) { id } fleets { nodes { id } } }';
  const noText = 'query ($name: String) { fleets(filter: { name: $name }) { nodes { id } } }';
  for (const [query, variables] of [
    [nothing, { id: null }],
    [noText, { name: 'a\0b' }],
    [noText, { name: '\ud800' }],
  ] as const) {
    const [short, executed] = await both(acme, query, variables);
    expect(short).toEqual(executed);
    expect(short.data).not.toBeUndefined();
  }
});

test('another company’s fleet is not found', async () => {
  const query = 'query ($id: ID!) { fleet(id: $id) { id vehicles { nodes { vin } } } }';
  const [short, executed] = await both(globex, query, { id: first.id });
  expect(short).toEqual(executed);
  expect(short.data).toEqual({ fleet: null });
});

test('a relation of all items of a long payload is read by one statement, though their work is divided', async () => {
  const { id: fleetId } = await createFleet(acme);
  const reads = [vi.spyOn(gateway.database, 'read'), vi.spyOn(gateway.database, 'slowRead')];
  const query = `mutation($input: AddVehiclesInput!) { addVehicles(input: $input) { vehicles { fleet { id } } } }`;
  const { body } = await acme.post('/graphql', { query, variables: { input: { fleetId, vins: newVins(1000) } } });
  const texts = reads.flatMap(({ mock }) => mock.calls.map(([text]) => text));
  for (const one of reads) one.mockRestore();
  expect(body.data.addVehicles.vehicles).toEqual(Array(1000).fill({ fleet: { id: fleetId } }));
  expect(texts.filter((text) => text.includes('with ordinality'))).toHaveLength(1);
});
