import { describe, expect, test } from 'vitest';
import type { Answer, Client, Json } from './support/client.ts';
import { createContract, createFleet, newVin, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

// Without background work the rows of a large deleted fleet stay: no answer may show them.

const gateway = await startGateway();
const acme = await gateway.as('acme');
const VEHICLES = 6000;

interface Large {
  fleet: Json;
  vins: string[];
  vehicle: Json;
  contract: Json;
  importId: string;
}

async function largeFleet(acme: Client): Promise<Large> {
  const fleet = await createFleet(acme);
  const vins = newVins(VEHICLES);
  const { body } = await acme.send('POST', '/vehicles/file', uploadForm(fleet.id, `vin\n${vins.join('\n')}\n`));
  expect(body.summary.created).toBe(VEHICLES);
  const { body: page } = await acme.get(`/fleets/${fleet.id}/vehicles?limit=1`);
  const [vehicle] = page as [Json];
  return { fleet, vins, vehicle, contract: await createContract(acme, vehicle), importId: body.importId };
}

const graphql = async (query: string, variables: Json = {}) => (await acme.post('/graphql', { query, variables })).body;

describe('a large deleted fleet', async () => {
  const other = await createFleet(acme);
  const large = await largeFleet(acme);
  const { fleet, vins, vehicle, contract } = large;
  const deleted = await acme.delete(`/fleets/${fleet.id}`);

  test('is answered like a small one, while its vehicles are still stored', async () => {
    expect(deleted.status).toBe((await acme.delete(`/fleets/${(await createFleet(acme)).id}`)).status);
    const [row] = await gateway.execute<Json>(
      `select count(*)::int as vehicles from vehicle where fleet_id = '${fleet.id}'`,
    );
    expect(row).toEqual({ vehicles: VEHICLES });
  });

  const gone: Record<string, () => Promise<Answer>> = {
    'GET /fleets/{id}': () => acme.get(`/fleets/${fleet.id}`),
    'GET /fleets/{id}/vehicles': () => acme.get(`/fleets/${fleet.id}/vehicles`),
    'PATCH /fleets/{id}': () => acme.patch(`/fleets/${fleet.id}`, { name: 'Another' }),
    'DELETE /fleets/{id}': () => acme.delete(`/fleets/${fleet.id}`),
    'POST /vehicles': () => acme.post('/vehicles', { fleetId: fleet.id, vins: [newVin()] }),
    'POST /vehicles/file': () => acme.send('POST', '/vehicles/file', uploadForm(fleet.id, `vin\n${newVin()}\n`)),
    'POST /vehicles/move': () => acme.post('/vehicles/move', { fleetId: fleet.id, vins: [newVin()] }),
    'GET /vehicles/{id}': () => acme.get(`/vehicles/${vehicle.id}`),
    'GET /vehicles/eligibility/{vin}': () => acme.get(`/vehicles/eligibility/${vehicle.vin}`),
    'DELETE /vehicles/{id}': () => acme.delete(`/vehicles/${vehicle.id}`),
    'GET /contracts/{id}': () => acme.get(`/contracts/${contract.id}`),
    'DELETE /contracts/{id}': () => acme.delete(`/contracts/${contract.id}`),
    'GET /contracts/{id} without a token': () => gateway.anyone.get(`/contracts/${contract.id}`),
    'DELETE /contracts/{id} without a token': () => gateway.anyone.delete(`/contracts/${contract.id}`),
    'POST /contracts': () =>
      acme.post('/contracts', { ...contract, id: undefined, vin: vehicle.vin, fleetId: fleet.id, company: undefined }),
    'GET /imports/{id}': () => acme.get(`/imports/${large.importId}`),
  };
  test.each(Object.entries(gone))('is not found by %s', async (_, send) => {
    const { status, body } = await send();
    expect([status, body.code]).toEqual([404, expect.stringMatching(/_NOT_FOUND$/)]);
  });

  test('is in no list and no count', async () => {
    expect((await acme.get('/fleets')).body).toMatchObject([{ id: other.id }]);
    expect((await acme.get('/vehicles')).body).toEqual([]);
    const conditions = encodeURIComponent(JSON.stringify({ company: 'acme' }));
    expect((await acme.get(`/contracts?conditions=${conditions}`)).body).toEqual([]);
    const answered = await graphql(
      `query ($fleet: ID!, $ids: [ID!]!) {
        fleets { totalCount nodes { id } }
        contracts { totalCount nodes { id } }
        vehicles { totalCount nodes { id } }
        some: vehicles(filter: { fleetIds: [$fleet] }) { totalCount nodes { id } }
        pending: vehicles(filter: { eligibility: [PENDING, UNSUPPORTED] }) { totalCount }
        nodes(ids: $ids) { id }
        wba: vehicles(filter: { vin: "WBA" }) { totalCount }
      }`,
      { fleet: fleet.id, ids: [fleet.id, vehicle.id, contract.id, large.importId] },
    );
    const none = { totalCount: 0, nodes: [] };
    expect(answered.errors).toBeUndefined();
    expect(answered.data).toEqual({
      fleets: { totalCount: 1, nodes: [{ id: other.id }] },
      contracts: none,
      vehicles: none,
      some: none,
      pending: { totalCount: 0 },
      nodes: [null, null, null, null],
      wba: { totalCount: 0 },
    });
  });

  test('leaves its VINs to other fleets, and records each vehicle once', async () => {
    const [added, ...inFile] = vins.slice(0, 3);
    const asked = { fleetId: other.id, vins: [added] };
    const { body: dry } = await acme.post('/vehicles?dryRun=true', asked);
    expect(dry.summary).toMatchObject({ created: 1, existing: 0, rejected: 0 });
    expect((await acme.post('/vehicles', asked)).body.summary).toMatchObject({ created: 1, existing: 0, rejected: 0 });
    const csv = `vin\n${[added, ...inFile].join('\n')}\n`;
    const { body: moved } = await acme.post('/vehicles/move', { fleetId: other.id, vins: [vins[4]] });
    expect(moved).toMatchObject({ moved: [], notFound: { vins: [vins[4]] } });
    const { body: file } = await acme.send('POST', '/vehicles/file', uploadForm(other.id, csv));
    expect(file.summary).toMatchObject({ created: 2, existing: 1, rejected: 0 });
    expect((await acme.get(`/fleets/${other.id}`)).body.vehicleCount).toBe(3);
    const again = await acme.send(
      'POST',
      '/vehicles/file',
      uploadForm(other.id, `vin\n${vins.slice(0, 5500).join('\n')}\n`),
    );
    expect(again.body.summary).toMatchObject({ created: 5497, existing: 3, rejected: 0 });

    await startGateway({ workers: true, on: gateway });
    await until(async () => (await gateway.execute('select from fleet where deletion is not null')).length === 0);
    const [left] = await gateway.execute<Json>(`select (select count(*)::int from vehicle) as vehicles,
      (select count(*)::int from contract) as contracts, (select count(*)::int from import) as imports`);
    expect(left).toEqual({ vehicles: 5500, contracts: 0, imports: 2 });
    const told = await gateway.execute<Json>(`select type, actor, vins from event where fleet_id = '${fleet.id}'
      and type in ('vehicle.removed', 'fleet.deleted', 'contract.deleted') order by seq`);
    const of = (wanted: string) => told.filter(({ type }) => type === wanted);
    expect(of('fleet.deleted')).toHaveLength(1);
    expect(of('contract.deleted').map((event) => event.vins)).toEqual([[vehicle.vin]]);
    const removed = of('vehicle.removed').flatMap((event) => event.vins);
    expect(removed.toSorted()).toEqual(vins.toSorted());
    expect(new Set(told.map(({ actor }) => actor))).toEqual(new Set(['development']));
  });
});

test('a large fleet that a mutation deletes has no vehicles in its payload', async () => {
  const globex = await gateway.as('globex');
  const { fleet } = await largeFleet(globex);
  const fields =
    'vehicleCount vehicles { totalCount nodes { id } } eligibilitySummary { eligible pending unsupported }';
  const query = `mutation ($id: ID!) { deleteFleet(input: { id: $id }) { fleet { ${fields} } } }`;
  const { body } = await globex.post('/graphql', { query, variables: { id: fleet.id } });
  expect(body.data.deleteFleet.fleet).toEqual({
    vehicleCount: VEHICLES,
    vehicles: { totalCount: 0, nodes: [] },
    eligibilitySummary: { eligible: 0, pending: 0, unsupported: 0 },
  });
});

test('a small fleet with large reports of rejected rows is deleted in steps, too', async () => {
  const fleet = await createFleet(acme);
  const { body } = await acme.send('POST', '/vehicles/file', uploadForm(fleet.id, `vin\n${newVin()}\nSHORT\n`));
  await gateway.execute(`update import set rejected = 20001 where id = '${body.importId}'`);
  expect((await acme.delete(`/fleets/${fleet.id}`)).status).toBe(200);
  expect((await acme.get(`/fleets/${fleet.id}`)).status).toBe(404);
  const left = () => gateway.execute(`select from import where id = '${body.importId}'`);
  expect(await left()).toHaveLength(1);
  await startGateway({ workers: true, on: gateway });
  await until(async () => (await left()).length === 0);
});
