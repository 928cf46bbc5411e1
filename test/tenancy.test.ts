import { beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../src/rest/router.ts';
import type { Answer, Json } from './support/client.ts';
import { addVehicle, contractFields, createContract, createFleet, newVin, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');

/** The names of one company's things. */
interface Names {
  fleetId: string;
  vehicleId: string;
  vin: string;
  contractId: string;
  importId: string;
  eventId: string;
  webhookId: string;
  deliveryId: string;
}

interface Call {
  path: string;
  body?: unknown;
}

const conditions = (company: string) => `/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}`;

/** How each operation is called with these names. A new route needs a row here. */
const calls: Record<string, (names: Names) => Call> = {
  'GET /fleets': () => ({ path: '/fleets' }),
  'POST /fleets': () => ({ path: '/fleets', body: {} }),
  'GET /fleets/:fleetId': ({ fleetId }) => ({ path: `/fleets/${fleetId}` }),
  'PATCH /fleets/:fleetId': ({ fleetId }) => ({ path: `/fleets/${fleetId}`, body: { name: 'Taken over' } }),
  'DELETE /fleets/:fleetId': ({ fleetId }) => ({ path: `/fleets/${fleetId}` }),
  'GET /fleets/:fleetId/vehicles': ({ fleetId }) => ({ path: `/fleets/${fleetId}/vehicles` }),
  'POST /vehicles': ({ fleetId }) => ({ path: '/vehicles', body: { fleetId, vins: [newVin()] } }),
  'POST /vehicles/file': ({ fleetId }) => ({
    path: '/vehicles/file',
    body: uploadForm(fleetId, `vin\n${newVin()}\n`),
  }),
  'GET /vehicles/:vehicleId': ({ vehicleId }) => ({ path: `/vehicles/${vehicleId}` }),
  'DELETE /vehicles/:vehicleId': ({ vehicleId }) => ({ path: `/vehicles/${vehicleId}` }),
  'DELETE /vehicles': ({ fleetId, vehicleId, vin }) => ({
    path: '/vehicles',
    body: { fleetId, ids: [vehicleId], vins: [vin] },
  }),
  'POST /vehicles/delete': ({ fleetId, vehicleId, vin }) => ({
    path: '/vehicles/delete',
    body: { fleetId, ids: [vehicleId], vins: [vin] },
  }),
  'GET /vehicles/eligibility/:vin': ({ vin }) => ({ path: `/vehicles/eligibility/${vin}` }),
  'POST /vehicles/eligibility/:vin/refresh': ({ vin }) => ({ path: `/vehicles/eligibility/${vin}/refresh` }),
  'POST /contracts': ({ fleetId, vin }) => ({
    path: '/contracts',
    body: contractFields({ fleetId, vin }, { pack: 'other' }),
  }),
  'GET /contracts': () => ({ path: conditions('globex') }),
  'GET /contracts/:id': ({ contractId }) => ({ path: `/contracts/${contractId}` }),
  'DELETE /contracts/:id': ({ contractId }) => ({ path: `/contracts/${contractId}` }),
  'GET /imports/:id': ({ importId }) => ({ path: `/imports/${importId}` }),
  'GET /imports/:id/events': ({ importId }) => ({ path: `/imports/${importId}/events` }),
  'GET /imports/:id/rejected.csv': ({ importId }) => ({ path: `/imports/${importId}/rejected.csv` }),
  'GET /manufacturers': () => ({ path: '/manufacturers' }),
  'GET /events': () => ({ path: '/events' }),
  'GET /events/stream': ({ fleetId }) => ({ path: `/events/stream?fleetId=${fleetId}` }),
  'GET /events/:id': ({ eventId }) => ({ path: `/events/${eventId}` }),
  'POST /webhooks': () => ({ path: '/webhooks', body: {} }),
  'GET /webhooks': () => ({ path: '/webhooks' }),
  'GET /webhooks/:id': ({ webhookId }) => ({ path: `/webhooks/${webhookId}` }),
  'PATCH /webhooks/:id': ({ webhookId }) => ({ path: `/webhooks/${webhookId}`, body: { state: 'PAUSED' } }),
  'DELETE /webhooks/:id': ({ webhookId }) => ({ path: `/webhooks/${webhookId}` }),
  'POST /webhooks/:id/rotate': ({ webhookId }) => ({ path: `/webhooks/${webhookId}/rotate` }),
  'POST /webhooks/:id/test': ({ webhookId }) => ({ path: `/webhooks/${webhookId}/test` }),
  'GET /webhooks/:id/deliveries': ({ webhookId }) => ({ path: `/webhooks/${webhookId}/deliveries` }),
  'POST /webhooks/:id/deliveries/:deliveryId/redeliver': ({ webhookId, deliveryId }) => ({
    path: `/webhooks/${webhookId}/deliveries/${deliveryId}/redeliver`,
  }),
};

/** What may be asked for before it is there: an unknown id is waited for, in silence. */
const mayComeLater = ['GET /imports/:id/events'];

const nobodys: Names = {
  fleetId: '01980000-0000-7000-8000-0000000000f1',
  vehicleId: '01980000-0000-7000-8000-0000000000f2',
  vin: newVin(),
  contractId: '01980000-0000-7000-8000-0000000000f3',
  importId: '01980000-0000-7000-8000-0000000000f4',
  eventId: '01980000-0000-7000-8000-0000000000f5',
  webhookId: '01980000-0000-7000-8000-0000000000f6',
  deliveryId: '01980000-0000-7000-8000-0000000000f7',
};
const malformed: Names = {
  fleetId: 'no-fleet',
  vehicleId: 'no-vehicle',
  vin: 'no-vin',
  contractId: 'no-contract',
  importId: 'no-import',
  eventId: 'no-event',
  webhookId: 'no-webhook',
  deliveryId: 'no-delivery',
};

let acmes: Names;
let before: Json;

/** Everything that acme can see of its own. */
async function everythingOfAcme(): Promise<Json> {
  const { fleetId, vin, importId, eventId, webhookId } = acmes;
  const paths = ['/fleets', `/fleets/${fleetId}/vehicles`, conditions('acme'), `/imports/${importId}`];
  paths.push(`/events/${eventId}`, '/webhooks', `/webhooks/${webhookId}/deliveries`);
  const seen = await Promise.all(
    [...paths, `/imports/${importId}/rejected.csv`, `/vehicles/eligibility/${vin}`].map((path) => acme.get(path)),
  );
  return seen.map(({ status, body }) => ({ status, body: { ...body, requestId: '' } }));
}

beforeAll(async () => {
  const vehicle = await addVehicle(acme);
  const contract = await createContract(acme, vehicle);
  const form = uploadForm(vehicle.fleetId, `vin\n${newVin()}\nbad\n`);
  const { body: upload } = await acme.post('/vehicles/file', form);
  const { body: webhook } = await acme.post('/webhooks', { url: 'https://example.com/events' });
  const { body: delivery } = await acme.post(`/webhooks/${webhook.id}/test`);
  acmes = {
    fleetId: vehicle.fleetId,
    vehicleId: vehicle.id,
    vin: vehicle.vin,
    contractId: contract.id,
    importId: upload.importId,
    eventId: delivery.eventId,
    webhookId: webhook.id,
    deliveryId: delivery.id,
  };
  before = await everythingOfAcme();
});

/** An answer with the names in it replaced by what they name. */
function neutral({ status, body }: Answer, names: Names): unknown {
  let text = JSON.stringify({ status, body: typeof body === 'object' ? { ...body, requestId: '' } : body });
  for (const [key, value] of Object.entries(names)) text = text.replaceAll(value, key);
  return JSON.parse(text);
}

test('every REST operation is walked here', () => {
  expect(Object.keys(calls).sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
});

describe.each(Object.entries(calls))('%s', (operation, call) => {
  const send = (names: Names) => {
    const { path, body } = call(names);
    return globex.send(operation.split(' ')[0] ?? '', path, body);
  };

  test("another company's ids are answered exactly as unknown and as malformed ones", async () => {
    const unknown = neutral(await send(nobodys), nobodys);
    const theirs = await send(acmes);
    expect(neutral(theirs, acmes)).toEqual(unknown);
    expect(JSON.stringify(theirs.body ?? '')).not.toContain('acme');
    if (mayComeLater.includes(operation)) return;
    expect(neutral(await send(malformed), malformed)).toEqual(unknown);
    if (Object.values(acmes).some((id) => JSON.stringify(call(acmes)).includes(id))) expect(theirs.status).toBe(404);
  });

  test('and nothing of that company is changed', async () => {
    expect(await everythingOfAcme()).toEqual(before);
  });
});

describe("with a fleet of one's own", () => {
  test("another company's vehicles cannot be deleted", async () => {
    const { id: fleetId } = await createFleet(globex);
    const names = { ids: [acmes.vehicleId], vins: [acmes.vin] };
    expect((await globex.delete('/vehicles', { fleetId, ...names })).body).toEqual({ deleted: [], notFound: names });
    expect(await everythingOfAcme()).toEqual(before);
  });

  test("another company's vehicle gets no contract", async () => {
    const { id: fleetId } = await createFleet(globex);
    expect(await globex.post('/contracts', contractFields({ fleetId, vin: acmes.vin }))).toMatchObject({
      status: 404,
      body: { code: 'VEHICLE_NOT_FOUND' },
    });
  });

  test('the same VIN is another vehicle, with an eligibility of its own', async () => {
    const vehicle = await addVehicle(globex, acmes.vin);
    expect(vehicle.id).not.toBe(acmes.vehicleId);
    await gateway.execute(`update vehicle set status = 'INELIGIBLE' where company = 'globex'`);
    expect(await globex.get(`/vehicles/eligibility/${acmes.vin}`)).toMatchObject({ status: 200 });
    expect(await everythingOfAcme()).toEqual(before);
    await globex.delete(`/fleets/${vehicle.fleetId}`);
    expect(await everythingOfAcme()).toEqual(before);
  });

  test("another company's answer does not end a wait", async () => {
    const vehicle = await addVehicle(globex, acmes.vin);
    const waiting = globex.get(`/vehicles/eligibility/${vehicle.vin}`, { prefer: 'wait=1' });
    await gateway.execute(`select pg_notify('eligibility',
      '{"company":"acme","vehicles":[["${acmes.vehicleId}","${acmes.vin}"]]}')`);
    expect(await waiting).toMatchObject({ status: 409 });
  });
});
