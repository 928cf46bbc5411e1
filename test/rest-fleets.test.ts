import { describe, expect, test } from 'vitest';
import {
  addVehicles,
  createContract,
  createFleet,
  fleetFields,
  newVin,
  newVins,
  unknownId,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');

const id = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('POST /fleets', () => {
  test('answers 201 with the fleet and its Location', async () => {
    const { status, headers, body } = await acme.post('/fleets', fleetFields);
    expect({ status, body }).toEqual({
      status: 201,
      body: { id, company: 'acme', ...fleetFields, vehicleCount: 0, createdAt: time, updatedAt: time },
    });
    expect(headers.get('location')).toBe(`/fleets/${body.id}`);
    expect(await acme.get(`/fleets/${body.id}`)).toMatchObject({ status: 200, body });
  });

  test('names all missing and invalid fields at once', async () => {
    expect(await acme.post('/fleets', { name: 5, email: 'nobody', vat: ' ' })).toMatchObject({
      status: 400,
      body: {
        code: 'VALIDATION_FAILED',
        errors: [
          { path: 'name', code: 'INVALID_TYPE' },
          { path: 'companyAddress', code: 'INVALID_TYPE' },
          { path: 'email', code: 'INVALID_FORMAT' },
          { path: 'vat', code: 'TOO_SMALL' },
        ],
      },
    });
  });

  test.each(['null', '[]', '"fleet"', '7', '{}'])('a body of %s is 400', async (body) => {
    const answer = await acme.post('/fleets', body, { 'content-type': 'application/json' });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  test('text may be in any script and is trimmed', async () => {
    const { body } = await acme.post('/fleets', { ...fleetFields, name: '  車隊 Zürich 🚗 ', vat: '\tATU1\n' });
    expect(body).toMatchObject({ name: '車隊 Zürich 🚗', vat: 'ATU1' });
  });

  test('text is 1 to 255 characters', async () => {
    expect(await acme.post('/fleets', { ...fleetFields, name: 'x'.repeat(255) })).toMatchObject({ status: 201 });
    for (const name of ['x'.repeat(256), '', '   ', 'nul\0']) {
      expect(await acme.post('/fleets', { ...fleetFields, name })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'name' }] },
      });
    }
  });

  test('names need not be unique', async () => {
    const [one, other] = [await createFleet(acme, { name: 'Twin' }), await createFleet(acme, { name: 'Twin' })];
    expect(one.id).not.toBe(other.id);
  });

  test('unknown fields, such as id and company, are ignored', async () => {
    const { status, body } = await acme.post('/fleets', { ...fleetFields, id: unknownId, company: 'globex', x: 1 });
    expect(status).toBe(201);
    expect(body).toMatchObject({ company: 'acme', ...fleetFields });
    expect(body.id).not.toBe(unknownId);
    expect(body).not.toHaveProperty('x');
  });
});

describe('GET /fleets', () => {
  test("answers 200 with the company's fleets, oldest first", async () => {
    const initech = await gateway.as('initech');
    expect(await initech.get('/fleets')).toMatchObject({ status: 200, body: [] });
    const fleets = [];
    for (const name of ['one', 'two', 'three']) fleets.push(await createFleet(initech, { name }));
    expect((await initech.get('/fleets')).body).toEqual(fleets);
  });

  test('vehicleCount follows every change', async () => {
    const fleet = await createFleet(acme);
    const count = async () => (await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount;
    const vehicles = await addVehicles(acme, newVins(5), fleet);
    await acme.post('/vehicles', { fleetId: fleet.id, vins: [vehicles[0].vin, newVin()] });
    expect(await count()).toBe(6);
    await acme.delete(`/vehicles/${vehicles[0].id}`);
    await acme.delete('/vehicles', { fleetId: fleet.id, ids: [vehicles[1].id], vins: [vehicles[2].vin] });
    expect(await count()).toBe(3);
  });
});

describe('GET /fleets/{fleetId}', () => {
  test.each([unknownId, 'not-an-id', '%00', '1'])('answers 404 for %s', async (fleetId) => {
    expect(await acme.get(`/fleets/${fleetId}`)).toMatchObject({ status: 404, body: { code: 'FLEET_NOT_FOUND' } });
  });
});

describe('PATCH /fleets/{fleetId}', () => {
  test('answers 200 with the changed fleet and keeps the other fields', async () => {
    const fleet = await createFleet(acme);
    const { status, body } = await acme.patch(`/fleets/${fleet.id}`, { name: ' New name ' });
    expect({ status, body }).toEqual({ status: 200, body: { ...fleet, name: 'New name', updatedAt: time } });
    expect(body.updatedAt >= fleet.updatedAt).toBe(true);
    expect((await acme.get(`/fleets/${fleet.id}`)).body).toEqual(body);
  });

  test('changes all fields at once and ignores unknown ones', async () => {
    const fleet = await createFleet(acme);
    const fields = { name: 'n', companyAddress: 'a', email: 'e@example.com', vat: 'v' };
    const { body } = await acme.patch(`/fleets/${fleet.id}`, { ...fields, company: 'globex', id: unknownId, other: 1 });
    expect(body).toMatchObject({ ...fields, id: fleet.id, company: 'acme' });
  });

  test.each([{}, { colour: 'red' }, null, []])('without a known field it is 400: %j', async (fields) => {
    const fleet = await createFleet(acme);
    expect(await acme.patch(`/fleets/${fleet.id}`, fields)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED' },
    });
  });

  test('an invalid field is 400 and nothing is changed', async () => {
    const fleet = await createFleet(acme);
    expect(await acme.patch(`/fleets/${fleet.id}`, { name: 'ok', email: 'no' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'email', code: 'INVALID_FORMAT' }] },
    });
    expect(await acme.patch(`/fleets/${fleet.id}`, { vat: null })).toMatchObject({ status: 400 });
    expect((await acme.get(`/fleets/${fleet.id}`)).body).toEqual(fleet);
  });

  test.each([unknownId, 'not-an-id'])('answers 404 for %s', async (fleetId) => {
    expect(await acme.patch(`/fleets/${fleetId}`, { name: 'x' })).toMatchObject({
      status: 404,
      body: { code: 'FLEET_NOT_FOUND' },
    });
  });
});

describe('DELETE /fleets/{fleetId}', () => {
  test('answers 200 with the deleted fleet; its vehicles and contracts are deleted, too', async () => {
    const fleet = await createFleet(acme);
    const [vehicle] = await addVehicles(acme, newVins(2), fleet);
    const contract = await createContract(acme, vehicle);
    const { status, body } = await acme.delete(`/fleets/${fleet.id}`);
    expect({ status, body }).toEqual({ status: 200, body: { ...fleet, vehicleCount: 2 } });
    for (const path of [`/fleets/${fleet.id}`, `/vehicles/${vehicle.id}`, `/contracts/${contract.id}`]) {
      expect(await acme.get(path)).toMatchObject({ status: 404 });
    }
    expect(await acme.get(`/vehicles/eligibility/${vehicle.vin}`)).toMatchObject({ status: 404 });
    expect(await acme.delete(`/fleets/${fleet.id}`)).toMatchObject({ status: 404 });
  });

  test('its VINs are free for another fleet', async () => {
    const fleet = await createFleet(acme);
    const vin = newVin();
    await addVehicles(acme, [vin], fleet);
    await acme.delete(`/fleets/${fleet.id}`);
    expect(await addVehicles(acme, [vin])).toHaveLength(1);
  });

  test.each([unknownId, 'not-an-id'])('answers 404 for %s', async (fleetId) => {
    expect(await acme.delete(`/fleets/${fleetId}`)).toMatchObject({ status: 404, body: { code: 'FLEET_NOT_FOUND' } });
  });
});
