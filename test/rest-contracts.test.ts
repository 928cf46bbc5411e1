import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  addVehicle,
  addVehicles,
  contractFields,
  createContract,
  createFleet,
  newVin,
  newVins,
  unknownId,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const catalogue = await startGateway({ on: gateway, settings: { PACKS: 'driving-log, fuel' } });
const acme = await gateway.as('acme');

const listOf = (conditions: unknown, client = acme) =>
  client.get(`/contracts?conditions=${encodeURIComponent(JSON.stringify(conditions))}`);

test('POST /contracts/bulk for more vehicles than a small change has is answered beside other companies', async () => {
  const other = await gateway.as('beside');
  const vehicles = await addVehicles(acme, newVins(201));
  const { vin: _, ...terms } = contractFields(vehicles[0]);
  await other.get('/fleets');
  const { status, body } = await acme.post('/contracts/bulk', { ...terms, vins: vehicles.map(({ vin }) => vin) });
  expect([status, body.contracts?.length, body.rejected]).toEqual([201, 201, []]);
});

test('without a token, each request may name its company for a proxy, and the gateway takes no notice of it', async () => {
  const vehicle = await addVehicle(acme);
  const named = `conditions=${encodeURIComponent('{"company":"acme"}')}`;
  const made = await gateway.anyone.post(`/contracts?${named}`, contractFields(vehicle));
  expect(made.status).toBe(201);
  expect((await gateway.anyone.get(`/contracts/${made.body.id}?${named}`)).status).toBe(200);
  expect((await gateway.anyone.patch(`/contracts/${made.body.id}?${named}`, { name: 'New' })).status).toBe(200);
  expect((await gateway.anyone.delete(`/contracts/${made.body.id}?${named}`)).status).toBe(204);
});

describe('POST /contracts', () => {
  test('answers 201 with the contract and its Location', async () => {
    const vehicle = await addVehicle(acme);
    const fields = contractFields(vehicle);
    const { status, headers, body } = await acme.post('/contracts', fields);
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        ...fields,
        id: expect.any(String),
        company: 'acme',
        manufacturer: 'bmw',
        from: '2030-01-01T00:00:00.000Z',
        to: '2031-01-01T00:00:00.000Z',
        status: 'SCHEDULED',
        activation: {
          ...{ state: 'SCHEDULED', reason: null, nextAttemptAt: null },
          changedAt: expect.stringMatching(/Z$/),
        },
        createdAt: expect.stringMatching(/Z$/),
      },
    });
    expect(headers.get('location')).toBe(`/contracts/${body.id}`);
    expect(await acme.get(`/contracts/${body.id}`)).toMatchObject({ status: 200, body });
  });

  test('times of any zone are returned in UTC', async () => {
    const zoned = { from: '2030-06-01T02:00:00+02:00', to: '2030-06-01T05:30:00.5+05:30' };
    const contract = await createContract(acme, undefined, zoned);
    expect(contract).toMatchObject({ from: '2030-06-01T00:00:00.000Z', to: '2030-06-01T00:00:00.500Z' });
  });

  test('the VIN may be written as people do', async () => {
    const vehicle = await addVehicle(acme);
    const contract = await createContract(acme, vehicle, { vin: ` ${vehicle.vin.toLowerCase()} ` });
    expect(contract.vin).toBe(vehicle.vin);
  });

  test('an unknown or malformed fleet is 404', async () => {
    const { vin } = await addVehicle(acme);
    for (const fleetId of [unknownId, 'not-an-id']) {
      expect(await acme.post('/contracts', contractFields({ fleetId, vin }))).toMatchObject({
        status: 404,
        body: { code: 'FLEET_NOT_FOUND' },
      });
    }
  });

  test('a VIN outside the fleet is 404: of another fleet, unknown or malformed', async () => {
    const { id: fleetId } = await createFleet(acme);
    const elsewhere = await addVehicle(acme);
    for (const [vin, fault] of [
      [elsewhere.vin, ''],
      [newVin(), ''],
      ['nonsense', ' A VIN has 17 characters; this one has 8.'],
    ]) {
      expect(await acme.post('/contracts', contractFields({ fleetId, vin }))).toMatchObject({
        status: 404,
        body: { code: 'VEHICLE_NOT_FOUND', detail: `This fleet has no vehicle with this VIN.${fault}` },
      });
    }
  });

  test('every missing field is named', async () => {
    const { status, body } = await acme.post('/contracts', {});
    expect(status).toBe(400);
    const paths = body.errors.map(({ path }: { path: string }) => path);
    expect(paths).toEqual(['fleetId', 'name', 'description', 'vin', 'from', 'to', 'pack']);
  });

  test.each([
    ['later than to', { from: '2031-01-01T00:00:01Z' }, 'to'],
    ['the same as to', { from: '2031-01-01T00:00:00Z' }, 'to'],
    ['without a time zone', { from: '2030-01-01T00:00:00' }, 'from'],
    ['a date alone', { from: '2030-01-01' }, 'from'],
    ['on 30 February', { from: '2030-02-30T00:00:00Z' }, 'from'],
    ['on 29 February of a common year', { from: '2030-02-29T00:00:00Z' }, 'from'],
    ['in hour 24', { from: '2030-01-01T24:00:00Z' }, 'from'],
    ['a number', { from: 1_893_456_000_000 }, 'from'],
    ['in another notation', { from: 'Tue, 01 Jan 2030 00:00:00 GMT' }, 'from'],
    ['in a year beyond the calendar', { from: '0001-01-01T00:00:00Z' }, 'from'],
  ])('a from that is %s is 400', async (_name, fields, path) => {
    const vehicle = await addVehicle(acme);
    expect(await acme.post('/contracts', contractFields(vehicle, fields))).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ path }] },
    });
  });

  test('the last moment of the calendar is the end of a contract without one', async () => {
    const to = '9999-12-31T23:59:59.999Z';
    const made = await createContract(acme, undefined, { to });
    expect(made.to).toBe(to);
    expect((await acme.get(`/contracts/${made.id}`)).body).toEqual(made);
    const query = `{ contract(id: "${made.id}") { to status } }`;
    expect((await acme.post('/graphql', { query })).body.data).toEqual({ contract: { to, status: made.status } });
  });

  test('29 February of a leap year is a date', async () => {
    const contract = await createContract(acme, undefined, { from: '2028-02-29T00:00:00Z' });
    expect(contract.from).toBe('2028-02-29T00:00:00.000Z');
  });

  test('its status depends on the clock', async () => {
    const vehicle = await addVehicle(acme);
    const contract = (from: string, to: string) => createContract(acme, vehicle, { from, to });
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const soon = new Date(Date.now() + 60_000).toISOString();
    const past = await contract('2020-01-01T00:00:00Z', '2021-01-01T00:00:00Z');
    const now = await contract('2022-01-01T00:00:00Z', soon);
    const next = await contract(soon, '2040-01-01T00:00:00Z');
    expect([past.status, now.status, next.status]).toEqual(['ENDED', 'ACTIVE', 'SCHEDULED']);
    const status = async (one: { id: string }) => (await acme.get(`/contracts/${one.id}`)).body.status;
    vi.setSystemTime(soon);
    expect([await status(now), await status(next)]).toEqual(['ENDED', 'ACTIVE']);
  });

  test('PACKS lists all packs: another pack is 400', async () => {
    const client = await catalogue.as('acme');
    const vehicle = await addVehicle(client);
    expect(await client.post('/contracts', contractFields(vehicle, { pack: 'other' }))).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ path: 'pack', code: 'INVALID_VALUE' }] },
    });
    expect(await client.post('/contracts', contractFields(vehicle, { pack: 'fuel' }))).toMatchObject({ status: 201 });
  });
});

describe('contracts of one vehicle and pack', () => {
  const year = (first: number, last = first + 1) => ({
    from: `${first}-01-01T00:00:00Z`,
    to: `${last}-01-01T00:00:00Z`,
  });

  test('an overlap is 409 and names every contract in conflict', async () => {
    const vehicle = await addVehicle(acme);
    const first = await createContract(acme, vehicle, year(2030));
    const second = await createContract(acme, vehicle, year(2031));
    await createContract(acme, vehicle, year(2040));
    expect(await acme.post('/contracts', contractFields(vehicle, year(2029, 2035)))).toMatchObject({
      status: 409,
      body: { code: 'CONTRACT_OVERLAP', conflicts: [first.id, second.id] },
    });
  });

  test('a period excludes its end: the next may begin there', async () => {
    const vehicle = await addVehicle(acme);
    await createContract(acme, vehicle, year(2030));
    expect(await createContract(acme, vehicle, year(2031))).toMatchObject({ status: 'SCHEDULED' });
    expect(await createContract(acme, vehicle, year(2029))).toMatchObject({ status: 'SCHEDULED' });
  });

  test('another pack or another vehicle may have the same period', async () => {
    const vehicle = await addVehicle(acme);
    await createContract(acme, vehicle);
    expect(await createContract(acme, vehicle, { pack: 'fuel' })).toMatchObject({ pack: 'fuel' });
    expect(await createContract(acme)).toMatchObject({ pack: 'driving-log' });
  });

  test('a deleted contract causes no conflict', async () => {
    const vehicle = await addVehicle(acme);
    const { id } = await createContract(acme, vehicle);
    await acme.delete(`/contracts/${id}`);
    expect(await createContract(acme, vehicle)).toMatchObject({ vin: vehicle.vin });
  });

  test('of concurrent requests one succeeds, and every other is 409', async () => {
    for (let round = 0; round < 10; round++) {
      const vehicle = await addVehicle(acme);
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => acme.post('/contracts', contractFields(vehicle))),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
      const made = answers.find(({ status }) => status === 201)?.body;
      for (const { status, body } of answers) {
        if (status === 409) expect(body).toMatchObject({ code: 'CONTRACT_OVERLAP', conflicts: [made.id] });
      }
    }
  });
});

describe('GET /contracts', () => {
  test("answers 200 with the company's contracts, oldest first", async () => {
    const initech = await gateway.as('initech');
    const contracts = [await createContract(initech), await createContract(initech), await createContract(initech)];
    expect(await listOf({ company: 'initech' }, initech)).toMatchObject({ status: 200, body: contracts });
  });

  test('an unknown company is 200 with an empty list', async () => {
    expect(await listOf({ company: 'nobody' }, gateway.anyone)).toMatchObject({ status: 200, body: [] });
  });

  test.each([
    ['missing', '', 'conditions'],
    ['empty', '?conditions=', 'conditions'],
    ['not JSON', '?conditions={company}', 'conditions'],
    ['a list', '?conditions=[]', 'conditions'],
    ['null', '?conditions=null', 'conditions'],
    ['without company', '?conditions={"vin":"x"}', 'conditions.company'],
    ['with an empty company', '?conditions={"company":""}', 'conditions.company'],
    ['with a company that is no string', '?conditions={"company":7}', 'conditions.company'],
    ['given twice', '?conditions={"company":"a"}&conditions={"company":"b"}', 'conditions'],
  ])('conditions %s: 400', async (_name, query, path) => {
    for (const client of [acme, gateway.anyone]) {
      expect(await client.get(`/contracts${query}`)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', errors: [{ path }] },
      });
    }
  });

  test('a company with invalid characters is 400', async () => {
    expect(await listOf({ company: 'nul\0' }, gateway.anyone)).toMatchObject({ status: 400 });
  });

  test('other keys of the conditions are ignored', async () => {
    expect(await listOf({ company: 'acme', colour: 'red' })).toMatchObject({ status: 200 });
  });
});

describe('DELETE /contracts/{id}', () => {
  test('answers 204 without a body', async () => {
    const { id } = await createContract(acme);
    const { status, headers, body } = await acme.delete(`/contracts/${id}`);
    expect({ status, body, type: headers.get('content-type') }).toEqual({ status: 204, body: null, type: null });
    expect(await acme.get(`/contracts/${id}`)).toMatchObject({ status: 404, body: { code: 'CONTRACT_NOT_FOUND' } });
  });

  test.each([unknownId, 'not-an-id'])('answers 404 for %s', async (id) => {
    for (const method of ['GET', 'DELETE']) {
      expect(await acme.send(method, `/contracts/${id}`)).toMatchObject({
        status: 404,
        body: { code: 'CONTRACT_NOT_FOUND' },
      });
    }
  });
});
