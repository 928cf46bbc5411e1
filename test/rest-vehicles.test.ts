import { describe, expect, test } from 'vitest';
import {
  addVehicle,
  addVehicles,
  createContract,
  createFleet,
  newVin,
  newVins,
  unknownId,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway({ settings: { LIMIT_VINS: '100' } });
const acme = await gateway.as('acme');

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const vehiclesOf = async (fleet: { id: string }) => (await acme.get(`/fleets/${fleet.id}/vehicles`)).body;

describe('POST /vehicles', () => {
  test('answers 201 with a summary and the vehicles, in the order of the list', async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(3);
    const { status, body } = await acme.post('/vehicles', { fleetId: fleet.id, vins });
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        summary: { received: 3, created: 3, existing: 0, rejected: 0 },
        vehicles: vins.map((vin) => ({
          id: expect.any(String),
          fleetId: fleet.id,
          vin,
          manufacturer: 'bmw',
          eligibility: { status: 'PENDING', eligible: null, verifiedAt: null },
          warnings: [],
          createdAt: time,
        })),
        rejected: [],
      },
    });
    expect(await vehiclesOf(fleet)).toEqual(body.vehicles);
  });

  test.each([unknownId, 'not-an-id', ''])('an unknown fleet is 404: "%s"', async (fleetId) => {
    expect(await acme.post('/vehicles', { fleetId, vins: [newVin()] })).toMatchObject({
      status: 404,
      body: { code: 'FLEET_NOT_FOUND' },
    });
  });

  test('valid VINs are stored and others refused, each with its path, code and message', async () => {
    const fleet = await createFleet(acme);
    const [first, last] = [newVin(), newVin()];
    const vins = [first, 'WBA123', 'WBA0000000000O00I', '1.0E+16', '', last];
    const { status, body } = await acme.post('/vehicles', { fleetId: fleet.id, vins });
    expect(status).toBe(201);
    expect(body.summary).toEqual({ received: 6, created: 2, existing: 0, rejected: 4 });
    expect(body.vehicles.map((vehicle: { vin: string }) => vehicle.vin)).toEqual([first, last]);
    expect(body.rejected).toEqual([
      { index: 1, value: 'WBA123', code: 'VIN_INVALID_LENGTH', message: expect.stringContaining('17') },
      { index: 2, value: 'WBA0000000000O00I', code: 'VIN_INVALID_CHARACTER', message: expect.stringContaining('O') },
      { index: 3, value: '1.0E+16', code: 'VIN_SPREADSHEET_DAMAGE', message: expect.any(String) },
      { index: 4, value: '', code: 'VIN_INVALID_LENGTH', message: expect.stringContaining('empty') },
    ]);
    expect(await vehiclesOf(fleet)).toHaveLength(2);
  });

  test('a VIN already in this fleet counts as existing, in any spelling', async () => {
    const fleet = await createFleet(acme);
    const vin = newVin();
    const [vehicle] = await addVehicles(acme, [vin], fleet);
    const spellings = [vin.toLowerCase(), ` ${vin} `, `${vin.slice(0, 3)}-${vin.slice(3, 9)} ${vin.slice(9)}`];
    const { status, body } = await acme.post('/vehicles', { fleetId: fleet.id, vins: spellings });
    expect(status).toBe(201);
    expect(body).toMatchObject({ summary: { received: 3, created: 0, existing: 3, rejected: 0 }, vehicles: [vehicle] });
  });

  test('a VIN twice in one list makes one vehicle', async () => {
    const fleet = await createFleet(acme);
    const vin = newVin();
    const { body } = await acme.post('/vehicles', { fleetId: fleet.id, vins: [vin, vin] });
    expect(body.summary).toEqual({ received: 2, created: 1, existing: 1, rejected: 0 });
    expect(body.vehicles).toHaveLength(1);
  });

  test('a VIN of another fleet of the company is refused, and the others are stored', async () => {
    const taken = await addVehicle(acme);
    const fleet = await createFleet(acme);
    const { body } = await acme.post('/vehicles', { fleetId: fleet.id, vins: [newVin(), taken.vin] });
    expect(body.summary).toEqual({ received: 2, created: 1, existing: 0, rejected: 1 });
    expect(body.rejected).toMatchObject([{ index: 1, value: taken.vin, code: 'VIN_IN_ANOTHER_FLEET' }]);
    expect((await acme.get(`/vehicles/${taken.id}`)).body.fleetId).toBe(taken.fleetId);
  });

  test('a VIN is unique per company: another company may have it, too', async () => {
    const { vin } = await addVehicle(acme);
    expect(await addVehicles(await gateway.as('globex'), [vin])).toHaveLength(1);
  });

  test('if all are refused it is 400 with the same details', async () => {
    const fleet = await createFleet(acme);
    const { status, body } = await acme.post('/vehicles', { fleetId: fleet.id, vins: ['short', 'WBA'] });
    expect({ status, body }).toMatchObject({
      status: 400,
      body: {
        code: 'VALIDATION_FAILED',
        summary: { received: 2, created: 0, existing: 0, rejected: 2 },
        rejected: [
          { index: 0, value: 'short', code: 'VIN_INVALID_LENGTH' },
          { index: 1, value: 'WBA', code: 'VIN_INVALID_LENGTH' },
        ],
        errors: [
          { path: 'vins.0', code: 'VIN_INVALID_LENGTH' },
          { path: 'vins.1', code: 'VIN_INVALID_LENGTH' },
        ],
      },
    });
  });

  test('mode=atomic: any refused VIN is 400 and nothing is stored', async () => {
    const fleet = await createFleet(acme);
    const good = newVin();
    expect(await acme.post('/vehicles?mode=atomic', { fleetId: fleet.id, vins: [good, 'bad'] })).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', summary: { created: 0, rejected: 1 }, rejected: [{ index: 1, value: 'bad' }] },
    });
    expect(await vehiclesOf(fleet)).toEqual([]);
    expect(await acme.post('/vehicles?mode=atomic', { fleetId: fleet.id, vins: [good] })).toMatchObject({
      status: 201,
    });
  });

  test('mode=atomic: a VIN of another fleet is refused, too', async () => {
    const { vin } = await addVehicle(acme);
    const fleet = await createFleet(acme);
    expect(await acme.post('/vehicles?mode=atomic', { fleetId: fleet.id, vins: [newVin(), vin] })).toMatchObject({
      status: 400,
      body: { rejected: [{ index: 1, code: 'VIN_IN_ANOTHER_FLEET' }] },
    });
    expect(await vehiclesOf(fleet)).toEqual([]);
  });

  test('dryRun=true: 200 with the expected result, and nothing is stored', async () => {
    const fleet = await createFleet(acme);
    const [there] = await addVehicles(acme, newVins(1), fleet);
    const vins = [newVin(), there.vin, 'bad'];
    expect(await acme.post('/vehicles?dryRun=true', { fleetId: fleet.id, vins })).toMatchObject({
      status: 200,
      body: { summary: { received: 3, created: 1, existing: 1, rejected: 1 }, rejected: [{ index: 2 }] },
    });
    expect(await vehiclesOf(fleet)).toEqual([there]);
    const refused = await acme.post('/vehicles?dryRun=true&mode=atomic', { fleetId: fleet.id, vins: ['bad'] });
    expect(refused).toMatchObject({ status: 200, body: { summary: { rejected: 1 } } });
    expect(await acme.post('/vehicles?dryRun=true', { fleetId: unknownId, vins })).toMatchObject({ status: 404 });
  });

  test.each([{ dryRun: true }, { mode: 'atomic' }])(
    '%j in the body, not in the address, is 400 and stores nothing',
    async (option) => {
      const fleet = await createFleet(acme);
      const [name] = Object.keys(option);
      expect(await acme.post('/vehicles', { fleetId: fleet.id, vins: [newVin(), 'bad'], ...option })).toMatchObject({
        status: 400,
        body: { errors: [{ path: name, message: `belongs in the address, as in ?${name}=…` }] },
      });
      expect(await vehiclesOf(fleet)).toEqual([]);
    },
  );

  test.each(['mode=everything', 'dryRun=yes', 'mode=atomic&mode=partial'])('?%s is 400', async (query) => {
    const { id: fleetId } = await createFleet(acme);
    expect(await acme.post(`/vehicles?${query}`, { fleetId, vins: [newVin()] })).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ path: query.split('=')[0] }] },
    });
  });

  test.each([
    [{}, ['fleetId', 'vins']],
    [{ fleetId: unknownId, vins: [] }, ['vins']],
    [{ fleetId: 5, vins: 'WBA00000000000000' }, ['fleetId', 'vins']],
    [{ fleetId: unknownId, vins: [1, null, 'x'] }, ['vins.0', 'vins.1']],
  ])('a body of %j is 400', async (body, paths) => {
    expect(await acme.post('/vehicles', body)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: paths.map((path) => ({ path })) },
    });
  });

  test('more VINs than LIMIT_VINS are 413, with the limit', async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(101);
    expect(await acme.post('/vehicles', { fleetId: fleet.id, vins })).toMatchObject({
      status: 413,
      body: { code: 'PAYLOAD_TOO_LARGE', detail: expect.stringContaining('100') },
    });
    expect(await acme.post('/vehicles', { fleetId: fleet.id, vins: vins.slice(1) })).toMatchObject({ status: 201 });
  });

  test('a wrong check digit is a warning if the VIN must have one, never an error', async () => {
    const vins = ['1M8GDM9AXKP042788', '1M8GDM9A0KP042788', 'WBA00000000000000'];
    const vehicles = await addVehicles(await gateway.as('warned'), vins);
    expect(vehicles.map(({ warnings }) => warnings)).toEqual([[], ['VIN_CHECK_DIGIT'], []]);
  });

  test('a VIN of an unknown maker is stored; its manufacturer is null', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'ZZZ'));
    expect(vehicle).toMatchObject({ manufacturer: null, eligibility: { status: 'UNSUPPORTED', eligible: null } });
  });

  test('concurrent requests with the same list create each vehicle once', async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(20);
    const lists = Array.from({ length: 10 }, (_, at) => (at % 2 ? vins : vins.toReversed()));
    const answers = await Promise.all(lists.map((list) => acme.post('/vehicles', { fleetId: fleet.id, vins: list })));
    expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 201));
    expect(answers.map(({ body }) => body.summary.created).reduce((sum, count) => sum + count)).toBe(20);
    expect(await vehiclesOf(fleet)).toHaveLength(20);
    expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(20);
  });
});

describe('GET /fleets/{fleetId}/vehicles', () => {
  test("answers 200 with the fleet's vehicles, oldest first, and none of another fleet", async () => {
    const fleet = await createFleet(acme);
    await addVehicle(acme);
    expect(await acme.get(`/fleets/${fleet.id}/vehicles`)).toMatchObject({ status: 200, body: [] });
    const [one, two] = [await addVehicles(acme, newVins(2), fleet), await addVehicles(acme, newVins(2), fleet)];
    expect(await vehiclesOf(fleet)).toEqual([...one, ...two]);
  });

  test.each([unknownId, 'not-an-id'])('answers 404 for %s', async (fleetId) => {
    expect(await acme.get(`/fleets/${fleetId}/vehicles`)).toMatchObject({
      status: 404,
      body: { code: 'FLEET_NOT_FOUND' },
    });
  });
});

describe('GET /vehicles/{vehicleId}', () => {
  test('answers 200 with the vehicle', async () => {
    const vehicle = await addVehicle(acme);
    expect(await acme.get(`/vehicles/${vehicle.id}`)).toMatchObject({ status: 200, body: vehicle });
    expect((await acme.get(`/vehicles/${vehicle.id.toUpperCase()}`)).body).toEqual(vehicle);
  });

  test.each([unknownId, 'not-an-id'])('answers 404 for %s', async (id) => {
    expect(await acme.get(`/vehicles/${id}`)).toMatchObject({ status: 404, body: { code: 'VEHICLE_NOT_FOUND' } });
  });
});

describe('DELETE /vehicles/{vehicleId}', () => {
  test('answers 200 with the deleted vehicle; its contracts are deleted, too', async () => {
    const vehicle = await addVehicle(acme);
    const contract = await createContract(acme, vehicle);
    expect(await acme.delete(`/vehicles/${vehicle.id}`)).toMatchObject({ status: 200, body: vehicle });
    expect(await acme.get(`/vehicles/${vehicle.id}`)).toMatchObject({ status: 404 });
    expect(await acme.get(`/contracts/${contract.id}`)).toMatchObject({ status: 404 });
    expect(await acme.delete(`/vehicles/${vehicle.id}`)).toMatchObject({
      status: 404,
      body: { code: 'VEHICLE_NOT_FOUND' },
    });
  });

  test('a malformed id is 404', async () => {
    expect(await acme.delete('/vehicles/not-an-id')).toMatchObject({ status: 404 });
  });
});

describe.each([
  ['DELETE /vehicles', (body: unknown) => acme.delete('/vehicles', body)],
  ['POST /vehicles/delete', (body: unknown) => acme.post('/vehicles/delete', body)],
])('%s', (_name, deleteVehicles) => {
  test('answers 200 and deletes the union of ids and vins', async () => {
    const fleet = await createFleet(acme);
    const [a, b, c, d] = await addVehicles(acme, newVins(4), fleet);
    const vins = [b.vin, c.vin.toLowerCase()];
    const { status, body } = await deleteVehicles({ fleetId: fleet.id, ids: [a.id, b.id], vins });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        deleted: [a, b, c].map(({ id, vin }) => ({ id, vin })),
        notFound: { ids: [], vins: [] },
      },
    });
    expect(await vehiclesOf(fleet)).toEqual([d]);
  });

  test.each(['ids', 'vins'])('%s alone suffice, with the other absent or empty', async (named) => {
    const fleet = await createFleet(acme);
    const [a, b] = await addVehicles(acme, newVins(2), fleet);
    const key = named === 'ids' ? 'id' : 'vin';
    expect(await deleteVehicles({ fleetId: fleet.id, [named]: [a[key]] })).toMatchObject({ status: 200 });
    const empty = named === 'ids' ? 'vins' : 'ids';
    expect(await deleteVehicles({ fleetId: fleet.id, [named]: [b[key]], [empty]: [] })).toMatchObject({ status: 200 });
    expect(await vehiclesOf(fleet)).toEqual([]);
  });

  test.each([{}, { ids: [] }, { vins: [] }, { ids: [], vins: [] }, { ids: null, vins: null }])(
    'neither ids nor vins is 400: %j',
    async (names) => {
      const { id: fleetId } = await createFleet(acme);
      expect(await deleteVehicles({ fleetId, ...names })).toMatchObject({
        status: 400,
        body: { code: 'NOTHING_TO_DELETE' },
      });
    },
  );

  test('ids and VINs outside the fleet are listed as given', async () => {
    const fleet = await createFleet(acme);
    const elsewhere = await addVehicle(acme);
    const ids = [elsewhere.id, unknownId, 'not-an-id'];
    const vins = [elsewhere.vin, 'nonsense', ` ${newVin()}`];
    expect(await deleteVehicles({ fleetId: fleet.id, ids, vins })).toMatchObject({
      status: 200,
      body: { deleted: [], notFound: { ids, vins } },
    });
    expect(await acme.get(`/vehicles/${elsewhere.id}`)).toMatchObject({ status: 200 });
  });

  test.each([unknownId, 'not-an-id'])('an unknown fleet is 404: %s', async (fleetId) => {
    expect(await deleteVehicles({ fleetId, ids: [unknownId] })).toMatchObject({
      status: 404,
      body: { code: 'FLEET_NOT_FOUND' },
    });
  });

  test('a missing fleetId, or ids and vins that are no lists of strings, are 400', async () => {
    expect(await deleteVehicles({ ids: 'x', vins: [1] })).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ path: 'fleetId' }, { path: 'ids' }, { path: 'vins.0' }] },
    });
  });
});

describe('GET /manufacturers', () => {
  test('answers 200 with every brand, its provider and whether it is supported', async () => {
    const { status, body } = await acme.get('/manufacturers');
    expect(status).toBe(200);
    const bySlug = Object.fromEntries(body.map((one: { id: string }) => [one.id, one]));
    expect(bySlug.bmw).toMatchObject({ id: 'bmw', name: 'BMW', provider: 'sandbox', supported: true });
    expect(bySlug.ferrari).toMatchObject({ name: 'Ferrari', provider: null, supported: false });
  });
});
