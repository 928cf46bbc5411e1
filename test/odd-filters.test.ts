import { describe, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import type { Json } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { nameOf } from './support/operation.ts';
import { publishEvents } from './support/publish.ts';
import { newWorld } from './support/worlds.ts';

const gateway = await startGateway();
const { client: acme, fleetId } = await newWorld(gateway, 'acme');
await publishEvents(contextOf(gateway.services, 'test', null));

const ask = async (query: string, variables: Json = {}): Promise<Json> =>
  (await acme.post('/graphql', { query, variables })).body;
const list = (name: string, filter: string, value: string) =>
  name in nested
    ? ask(
        `query ($f: ${nested[name]}) { fleet(id: "${fleetId}") { list: ${name}(filter: $f) { totalCount nodes { id } } } }`,
        {
          f: { [filter]: value },
        },
      ).then(({ data, errors }) => ({ ...data?.fleet, errors }))
    : ask(`query ($f: ${roots[name]}) { list: ${name}(filter: $f) { totalCount nodes { id } } }`, {
        f: { [filter]: value },
      }).then(({ data, errors }) => ({ ...data, errors }));
const roots: Record<string, string> = { fleets: 'FleetFilter', contracts: 'ContractFilter', events: 'EventFilter' };
const nested: Record<string, string> = { vehicles: 'VehicleFilter', timeline: 'EventFilter' };

/** Members that are compared for equality, and ids and VINs, which cannot equal a malformed one. */
const texts = [
  ['fleets', 'vat'],
  ['vehicles', 'manufacturer'],
  ['contracts', 'pack'],
] as const;
const names = [
  ['contracts', 'vin'],
  ['contracts', 'fleetId'],
  ...['events', 'timeline'].flatMap((of) =>
    ['fleetId', 'contractId', 'vehicleId', 'vin'].map((by) => [of, by] as const),
  ),
] as const;
const parts = [['fleets', 'name']] as const;
const NOT_TEXT = ['\0', 'a\0b', '\ud800', 'a\udfff'];

describe('an empty text in a filter', () => {
  test.each([...texts, ...names])('%s by %s: matches nothing', async (of, by) => {
    expect(await list(of, by, '')).toEqual({ list: { totalCount: 0, nodes: [] } });
  });

  test.each(parts)('%s by %s: matches everything', async (of, by) => {
    const { list: found } = await list(of, by, '');
    expect(found.totalCount).toBeGreaterThan(1);
    expect(found.nodes).toHaveLength(found.totalCount);
  });

  test.each(['vin', 'fleetId'])('is the same for GET /events?%s=', async (by) => {
    expect(await acme.get(`/events?${by}=`)).toMatchObject({ status: 200, body: [] });
    expect((await acme.get('/events')).body).not.toEqual([]);
  });

  test('is no cursor, for lists and streams', async () => {
    for (const path of ['/events?after=', '/events/stream?after=', '/fleets?after=']) {
      const { status, body } = await acme.get(path);
      expect([path, status, body.errors]).toEqual([path, 400, [expect.objectContaining({ path: 'after' })]]);
    }
    const query = 'subscription { events(after: "") { id } }';
    const { body } = await acme.post('/graphql', { query }, { accept: 'text/event-stream' });
    expect(body).toContain('INVALID_CURSOR');
    expect((await acme.get('/events/stream?fleetId=')).body).toMatchObject({ code: 'FLEET_NOT_FOUND' });
  });
});

describe('invalid text in a filter', () => {
  test.each([...texts, ...parts])('%s by %s: is refused with its name', async (of, by) => {
    for (const value of NOT_TEXT) {
      const { errors } = await list(of, by, value);
      expect(errors).toHaveLength(1);
      expect(errors[0].extensions).toMatchObject({
        code: 'VALIDATION_FAILED',
        errors: [{ path: `filter.${by}`, message: 'holds characters that are not text' }],
      });
    }
  });

  test.each(names)('%s by %s: matches nothing, as other malformed values', async (of, by) => {
    for (const value of NOT_TEXT) expect(await list(of, by, value)).toEqual({ list: { totalCount: 0, nodes: [] } });
  });

  test('is refused or matches nothing in REST queries, too', async () => {
    for (const by of ['vin', 'fleetId']) expect((await acme.get(`/events?${by}=%00`)).body).toEqual([]);
    for (const company of NOT_TEXT) {
      const conditions = encodeURIComponent(JSON.stringify({ company }));
      const { status, body } = await acme.get(`/contracts?conditions=${conditions}`);
      expect([status, body.errors]).toEqual([400, [expect.objectContaining({ path: 'conditions.company' })]]);
    }
  });
});

test('invalid text in stored values is refused with its name', async () => {
  const url = 'https://example.com/events';
  for (const description of NOT_TEXT) {
    const refused = [expect.objectContaining({ path: 'description', message: 'holds characters that are not text' })];
    const { status, body } = await acme.post('/webhooks', { url, description });
    expect([status, body.errors]).toEqual([400, refused]);
    const query = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { secret } }';
    const { errors } = await ask(query, { input: { url, description } });
    expect(errors[0].extensions.errors).toEqual(refused);
  }
});

test("a duplicate value in a filter's list returns each row once", async () => {
  const statuses = ['PENDING', 'ELIGIBLE', 'INELIGIBLE', 'UNSUPPORTED', 'FAILED'];
  const { body: events } = await acme.get('/events');
  const lists: { of: string; type: string; member: string; values: string[] }[] = [
    { of: 'vehicles', type: 'VehicleFilter', member: 'eligibility', values: statuses },
    { of: 'vehicles', type: 'VehicleFilter', member: 'fleetIds', values: [fleetId] },
    { of: 'events', type: 'EventFilter', member: 'types', values: events.map(({ type }: Json) => nameOf(type)) },
  ];
  for (const { of, type, member, values } of lists) {
    for (const args of ['', ', first: 50', ', last: 50']) {
      const query = `query ($f: ${type}) { list: ${of}(filter: $f${args}) { totalCount nodes { id } } }`;
      const found = async (given: string[]) => (await ask(query, { f: { [member]: given } })).data.list;
      const once = await found([...new Set(values)]);
      expect(once.totalCount).toBeGreaterThan(0);
      expect(await found([...values, ...values])).toEqual(once);
      for (const value of new Set(values)) {
        expect([value, await found([value, value])]).toEqual([value, await found([value])]);
      }
    }
  }
  const { body: once } = await acme.get(`/vehicles?eligibility=${statuses.join(',')}`);
  expect((await acme.get(`/vehicles?eligibility=${[...statuses, ...statuses].join(',')}`)).body).toEqual(once);
});
