import { describe, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { openApiDocument } from '../src/rest/openapi/openapi-document.ts';
import type { Json } from './support/client.ts';
import { addVehicle, contractFields, createContract, createFleet, fleetFields, newVin } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { publishEvents } from './support/publish.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');

const newHook = async () => (await acme.post('/webhooks', { url: 'https://example.com/hook', types: [] })).body.id;
/** The address of an object for each PATCH; a new PATCH needs one here. */
const patched: Record<string, () => Promise<string>> = {
  '/fleets/{fleetId}': async () => `/fleets/${(await createFleet(acme)).id}`,
  '/contracts/{id}': async () => `/contracts/${(await createContract(acme, await addVehicle(acme))).id}`,
  '/webhooks/{id}': async () => `/webhooks/${await newHook()}`,
};
const mutations: Record<string, string> = {
  '/fleets/{fleetId}': 'mutation ($input: UpdateFleetInput!) { updateFleet(input: $input) { fleet { id } } }',
  '/contracts/{id}': 'mutation ($input: UpdateContractInput!) { updateContract(input: $input) { contract { id } } }',
  '/webhooks/{id}': 'mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { webhook { id } } }',
};

/** Every JSON body in openapi.json, with the names of its fields. */
const bodies = Object.entries(openApiDocument().paths as Json).flatMap(([path, methods]) =>
  Object.entries(methods as Json).flatMap(([method, { requestBody }]: [string, Json]) => {
    const { properties } = requestBody?.content['application/json']?.schema ?? {};
    return properties ? [{ method, path, fields: properties as Record<string, Json> }] : [];
  }),
);

describe('null for a field', () => {
  test('is tested for every JSON body', () => {
    expect(bodies.map(({ method, path }) => `${method} ${path}`)).toEqual(
      expect.arrayContaining(['post /fleets', 'patch /fleets/{fleetId}', 'post /contracts', 'patch /webhooks/{id}']),
    );
    expect(bodies.filter(({ method }) => method === 'patch').map(({ path }) => path)).toEqual(Object.keys(patched));
  });

  test.each(bodies)(
    '$method $path names the fault, and does not call the field missing',
    async ({ method, path, fields }) => {
      const address = (await patched[path]?.()) ?? path;
      for (const [name, { anyOf = [] }] of Object.entries(fields)) {
        if (anyOf.some(({ type }: Json) => type === 'null')) continue;
        const { status, body } = await acme.send(method.toUpperCase(), address, { [name]: null });
        expect({ name, status, code: body.code }).toEqual({ name, status: 400, code: 'VALIDATION_FAILED' });
        const fault = body.errors.find((error: Json) => error.path === name);
        expect(fault).toMatchObject({ code: name === 'state' ? 'INVALID_VALUE' : 'INVALID_TYPE' });
        expect(fault.message).toBe('must not be null');
        if (method !== 'patch') continue;
        const input = { id: address.split('/').at(-1), [name]: null };
        const [error] = (await acme.post('/graphql', { query: mutations[path], variables: { input } })).body.errors;
        expect(error.extensions.errors).toEqual([fault]);
      }
    },
  );
});

describe('A PATCH that changes nothing', () => {
  const eventsOf = async (company: string): Promise<number> => {
    while (await publishEvents(contextOf(gateway.services, 'test', null)));
    const [row] = await gateway.execute<{ count: number }>(
      `select count(*)::int as count from event where company = '${company}'`,
    );
    return row?.count ?? 0;
  };

  test('leaves a fleet and its updatedAt unchanged, and records no event', async () => {
    const fleet = await createFleet(acme);
    const before = await eventsOf('acme');
    const same = [
      ...Object.entries(fleetFields).map(([name, value]) => ({ [name]: value })),
      { name: `  ${fleetFields.name} ` },
      fleetFields,
      { ...fleetFields, unknown: 1 },
    ];
    for (const fields of same) {
      expect(await acme.patch(`/fleets/${fleet.id}`, fields)).toMatchObject({ status: 200, body: fleet });
      const query = 'mutation ($input: UpdateFleetInput!) { updateFleet(input: $input) { fleet { updatedAt } } }';
      const { unknown: _, ...known } = { unknown: 0, ...fields };
      const { body } = await acme.post('/graphql', { query, variables: { input: { id: fleet.id, ...known } } });
      expect(body.data.updateFleet.fleet.updatedAt).toBe(fleet.updatedAt);
    }
    expect(await eventsOf('acme')).toBe(before);
    const { body: changed } = await acme.patch(`/fleets/${fleet.id}`, { ...fleetFields, name: 'Another' });
    expect(changed.updatedAt > fleet.updatedAt).toBe(true);
    expect(await eventsOf('acme')).toBe(before + 1);
  });

  test('leaves a contract unchanged, and records no event', async () => {
    const { id, ...contract } = await createContract(acme, await addVehicle(acme));
    const { name, description, to } = contract;
    const before = await eventsOf('acme');
    for (const fields of [
      { name },
      { description: ` ${description} ` },
      { to: '2031-01-01T01:00:00+01:00' },
      contract,
    ]) {
      expect(await acme.patch(`/contracts/${id}`, fields)).toMatchObject({ status: 200, body: { id, ...contract } });
    }
    expect(await eventsOf('acme')).toBe(before);
    await acme.patch(`/contracts/${id}`, { name, description, to: '2032-01-01T00:00:00Z' });
    expect([to, await eventsOf('acme')]).toEqual(['2031-01-01T00:00:00.000Z', before + 1]);
  });

  test('leaves a webhook and its updatedAt unchanged, in any state', async () => {
    const url = 'https://example.com/hook';
    const id = await newHook();
    for (const state of ['ACTIVE', 'PAUSED']) {
      const { body: before } = await acme.patch(`/webhooks/${id}`, { state, description: state });
      for (const fields of [
        { url },
        { description: ` ${state} ` },
        { types: [] },
        { state },
        { url, state, types: [] },
      ]) {
        expect((await acme.patch(`/webhooks/${id}`, fields)).body).toEqual(before);
      }
    }
    const { body: before } = await acme.get(`/webhooks/${id}`);
    for (const fields of [
      { url: `${url}s` },
      { description: 'x' },
      { types: ['fleet.created'] },
      { state: 'ACTIVE' },
    ]) {
      const { body: after } = await acme.patch(`/webhooks/${id}`, fields);
      expect(after).toMatchObject(fields);
      expect(after.updatedAt > before.updatedAt).toBe(true);
    }
  });
});

describe('Date-times', () => {
  test('of RFC 3339 and ISO 8601 are accepted by both interfaces for every time', async () => {
    const vehicle = await addVehicle(acme);
    const from = [
      '2030-01-01T00:00Z',
      '2031-01-01T01:00+01:00',
      '2032-01-01t00:00:00.0004z',
      '2033-01-01 05:30:00,0+0530',
    ];
    for (const [at, text] of from.entries()) {
      const to = `${2030 + at}-06-01T00:00Z`;
      const { body } = await acme.post('/contracts', contractFields(vehicle, { from: text, to }));
      expect([body.from, body.to]).toEqual([`${2030 + at}-01-01T00:00:00.000Z`, `${2030 + at}-06-01T00:00:00.000Z`]);
      expect(await acme.get(`/events?from=${encodeURIComponent(text)}`)).toMatchObject({ status: 200, body: [] });
      const query = 'query ($from: DateTime) { events(filter: { from: $from }) { totalCount } }';
      const answer = await acme.post('/graphql', { query, variables: { from: text } });
      expect(answer.body.data.events.totalCount).toBe(0);
    }
  });

  test('that are invalid are refused by both, with the same message', async () => {
    const vehicle = await addVehicle(acme);
    const days = ['2031-02-29T00:00:00Z', '2030-02-30T00:00Z', '2031-04-31T12:00+02:00', '0000-00-00T00:00Z'];
    for (const text of ['2030-01-01T24:01Z', '2030-01-01', '2030-01-01T00:00', '', ...days]) {
      const input = contractFields(vehicle, { from: text, to: '2040-01-01T00:00Z' });
      const { status, body } = await acme.post('/contracts', input);
      expect({ text, status }).toEqual({ text, status: 400 });
      const fault = days.includes(text)
        ? 'is a day that does not exist'
        : 'is not an ISO 8601 date-time with a time zone, such as 2026-01-31T08:00:00Z';
      const message = `${fault}${text && `: "${text}"`}`;
      expect(body.errors).toEqual([{ path: 'from', code: 'INVALID_FORMAT', message }]);
      const query = 'mutation ($input: CreateContractInput!) { createContract(input: $input) { contract { id } } }';
      const [error] = (await acme.post('/graphql', { query, variables: { input } })).body.errors;
      expect(error.extensions.errors).toEqual(body.errors);
    }
    const early = contractFields(vehicle, { from: '1899-12-31T23:59Z', to: '2040-01-01T00:00Z' });
    expect((await acme.post('/contracts', early)).body.errors[0].message).toMatch(/between the years/);
    expect((await createContract(acme, await addVehicle(acme, newVin()))).status).toBe('SCHEDULED');
  });
});

describe('An upload with an empty fleetId', () => {
  const file = new Blob([`vin\n${newVin()}\n`], { type: 'text/csv' });
  const fields: Record<string, (form: FormData) => void> = {
    'is missing': () => {},
    'is empty, before the file': (form) => form.set('fleetId', ''),
    'is blank, before the file': (form) => form.set('fleetId', '  '),
  };
  const send = (form: FormData, query = '') => acme.post(`/vehicles/file${query}`, form);
  const missing = { status: 400, body: { code: 'FLEET_ID_MISSING' } };

  test.each(Object.entries(fields))('FLEET_ID_MISSING if it %s', async (_, add) => {
    for (const query of ['', '?fleetId=', '?fleetId=%20']) {
      const form = new FormData();
      add(form);
      form.append('vins', file, 'vins.csv');
      expect(await send(form, query)).toMatchObject(missing);
    }
  });

  test('FLEET_ID_MISSING after the file; a fleetId in the query counts', async () => {
    const { id } = await createFleet(acme);
    const form = new FormData();
    form.append('fleetId', '');
    form.append('vins', file, 'vins.csv');
    form.append('fleetId', ' ');
    expect(await send(form)).toMatchObject(missing);
    expect(await send(form, `?fleetId=${id}`)).toMatchObject({ status: 201 });
    form.append('fleetId', id);
    expect(await send(form)).toMatchObject({ status: 201 });
  });

  test('GraphQL answers the same', async () => {
    const query = 'mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) { import { id } } }';
    const form = new FormData();
    form.append('operations', JSON.stringify({ query, variables: { input: { fleetId: ' ', file: null } } }));
    form.append('map', '{"0":["variables.input.file"]}');
    form.append('0', file, 'vins.csv');
    const [error] = (await acme.post('/graphql', form)).body.errors;
    expect(error.extensions.code).toBe('FLEET_ID_MISSING');
  });
});
