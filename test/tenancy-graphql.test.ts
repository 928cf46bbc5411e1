import { beforeAll, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import type { Client, Json } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import { everythingOf } from './support/everything.ts';
import { fleetFields, newVins, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { operations } from './support/operations.ts';
import { publishEvents } from './support/publish.ts';
import { until } from './support/until.ts';
import { newWorld, type World, worldVins } from './support/worlds.ts';

// Two companies with equal worlds, even the VINs. tenancy.test.ts tests other companies' ids.
const gateway = await startGateway({ settings: { LIMIT_GRAPHQL_COST: '1000000' } });
const publish = async () => {
  while (await publishEvents(contextOf(gateway.services, 'test', null)));
};

let acme: World;
let globex: World;
beforeAll(async () => {
  const vins = worldVins();
  acme = await newWorld(gateway, 'acme', vins);
  globex = await newWorld(gateway, 'globex', vins);
  await publish();
});

const ask = async ({ client }: World, query: string, variables: Json = {}): Promise<Json> =>
  (await client.post('/graphql', { query, variables })).body;

const follow = (client: Client, query: string, variables: Json = {}) => {
  const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
  return openStream(client, `/graphql?${search}`, { accept: 'text/event-stream' });
};

const idsOf = ({ client: _, company: __, ...ids }: World) => Object.entries(ids);

test('every reachable object belongs to the own company', async () => {
  // A page has four; where ids of this process are ahead of the database's, the delivery of the test is the last of seven.
  const deliveries = await ask(globex, '{ webhooks { nodes { deliveries(first: 20) { nodes { id eventId } } } } }');
  const text = JSON.stringify([await everythingOf(globex.client), deliveries]);
  for (const [what, id] of idsOf(acme)) {
    if (!what.endsWith('in')) expect(text, what).not.toContain(id);
  }
  expect(text).not.toContain('"company":"acme"');
  for (const id of [globex.fleetId, globex.vehicleId, globex.contractId, globex.webhookId, globex.deliveryId]) {
    expect(text).toContain(id);
  }
});

test("filters with another company's ids match nothing in nested lists", async () => {
  const nested = `query ($own: ID!, $vehicle: ID!, $contract: ID!, $fleetId: ID, $vehicleId: ID, $contractId: ID) {
    fleet(id: $own) {
      contracts(filter: { fleetId: $fleetId }) { totalCount nodes { id } }
      ofFleet: timeline(filter: { fleetId: $fleetId }) { totalCount nodes { id } }
      ofVehicle: timeline(filter: { vehicleId: $vehicleId }) { totalCount nodes { id } }
      ofContract: timeline(filter: { contractId: $contractId }) { totalCount nodes { id } }
    }
    vehicle(by: { id: $vehicle }) {
      contracts(filter: { fleetId: $fleetId }) { totalCount nodes { id } }
      timeline(filter: { contractId: $contractId }) { totalCount nodes { id } }
    }
    contract(id: $contract) { timeline(filter: { fleetId: $fleetId }) { totalCount nodes { id } } }
  }`;
  const { fleetId, vehicleId, contractId } = acme;
  const own = { own: globex.fleetId, vehicle: globex.vehicleId, contract: globex.contractId };
  const { data, errors } = await ask(globex, nested, { ...own, fleetId, vehicleId, contractId });
  expect(errors).toBeUndefined();
  const lists = Object.values(data as Record<string, Json>).flatMap((parent) => Object.values(parent));
  expect(lists).toHaveLength(7);
  for (const list of lists) expect(list).toEqual({ totalCount: 0, nodes: [] });
});

test("another company's event is no cursor", async () => {
  const query = 'query ($after: String) { events(after: $after) { nodes { id } } }';
  const refused = async (after: string) => (await ask(globex, query, { after })).errors?.[0].extensions;
  const theirs = await refused(acme.eventId);
  expect(theirs).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ path: 'after', code: 'INVALID_CURSOR' }] });
  expect({ ...theirs, requestId: '' }).toEqual({ ...(await refused(unknownId)), requestId: '' });
  const first = async (after: string) => {
    const stream = await follow(globex.client, 'subscription ($after: String) { events(after: $after) { id } }', {
      after,
    });
    const { data, errors } = (await stream.next().finally(stream.close)).data;
    return { data, errors: errors.map(({ extensions, ...error }: Json) => ({ ...error, code: extensions.code })) };
  };
  expect(await first(acme.eventId)).toEqual(await first(unknownId));
});

test('a delivery belongs to one webhook', async () => {
  const query = operations['POST /webhooks/:id/deliveries/:deliveryId/redeliver']?.document as string;
  const codeOf = async ({ webhookId, deliveryId }: World) =>
    (await ask(globex, query, { input: { webhookId, deliveryId } })).errors[0].extensions.code;
  expect(await codeOf({ ...globex, deliveryId: acme.deliveryId })).toBe('NOT_FOUND');
  expect(await codeOf({ ...globex, webhookId: acme.webhookId })).toBe('WEBHOOK_NOT_FOUND');
});

test('events of other companies reach no subscription', async () => {
  const { changes, followers } = gateway.services;
  const before = followers.count;
  const [eligibility, events] = [
    await follow(globex.client, 'subscription { eligibilityChanged { eligibility { vin } } }'),
    await follow(globex.client, 'subscription { events { company type fleetId } }'),
  ];
  await until(() => followers.count >= before + 2);
  await acme.client.post('/vehicles', { fleetId: acme.fleetId, vins: newVins(1) });
  changes.emit('eligibility', { company: 'acme', vehicles: [[acme.vehicleId, acme.vin]] });
  await publish();
  const { body: own } = await globex.client.post('/fleets', fleetFields);
  changes.emit('eligibility', { company: 'globex', vehicles: [[globex.otherId, globex.otherVin]] });
  await publish();
  expect((await eligibility.next()).data).toEqual({
    data: { eligibilityChanged: { eligibility: { vin: globex.otherVin } } },
  });
  const told = { company: 'globex', type: 'FLEET_CREATED', fleetId: own.id };
  expect((await events.next()).data).toEqual({ data: { events: told } });
  eligibility.close();
  events.close();
});
