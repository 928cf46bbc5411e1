import { expect, test } from 'vitest';
import { openPlaces } from '../src/fairness/slots.ts';
import { HighMobility } from '../src/manufacturers/high-mobility.ts';
import { Mercedes } from '../src/manufacturers/mercedes.ts';
import { manufacturersOf } from '../src/manufacturers/registry.ts';
import type { Client, Json } from './support/client.ts';
import {
  addVehicle,
  addVehicles,
  contractFields,
  createContract,
  createFleet,
  newVin,
  newVins,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const upstream = { url: 'http://127.0.0.1:9', clientId: 'client', clientSecret: 'secret' };
const mercedes = new Mercedes({
  openPlaces,
  ...upstream,
  tokenUrl: upstream.url,
  packs: { basic: ['1001'], 'driving-log': ['2'] },
});
const highMobility = new HighMobility({ openPlaces, ...upstream, brands: ['bmw'] });
const gateway = await startGateway({ manufacturers: manufacturersOf([mercedes, highMobility]) });
const on = { on: gateway };
const catalogue = await startGateway({
  ...on,
  manufacturers: manufacturersOf([mercedes]),
  settings: { PACKS: 'basic: Odometer and fuel, driving-log' },
});
const none = await startGateway({ ...on, manufacturers: manufacturersOf([]) });
const acme = await gateway.as('acme');

async function graphql(client: Client, query: string, variables: Json = {}): Promise<Json> {
  const { body } = await client.post('/graphql', { query, variables });
  expect(body.errors).toBeUndefined();
  return body.data;
}
const codesOf = ({ body }: Json) => (body.warnings ?? []).map(({ code, vin }: Json) => [code, vin]);

test('packs are those of the settings and of the company’s contracts, with who offers them', async () => {
  const client = await gateway.as('packs');
  const vehicle = await addVehicle(client);
  await createContract(client, vehicle, { pack: 'driving log' });
  await createContract(client, vehicle, { pack: 'basic' });
  await createContract(client, await addVehicle(client), { pack: 'basic' });
  await createContract(await gateway.as('other packs'), undefined, { pack: 'secret' });
  const { body } = await client.get('/packs');
  const of = (name: string) => body.find((one: Json) => one.name === name);
  expect(body.map(({ name }: Json) => name)).toEqual(['basic', 'driving log', 'driving-log']);
  expect(of('basic')).toMatchObject({ isOffered: true, contracts: 2, description: null });
  expect(of('driving-log')).toMatchObject({ isOffered: true, contracts: 0 });
  // A clearance of High Mobility is for the vehicle, whatever the pack.
  expect(of('driving log')).toMatchObject({ isOffered: false, contracts: 1 });
  expect(of('driving log').manufacturers).toContain('bmw');
  expect(of('driving log').manufacturers).not.toContain('mercedes-benz');
  expect(of('basic').manufacturers).toContain('mercedes-benz');
  const named = await catalogue.as('packs');
  const { packs } = await graphql(named, '{ packs { name description isOffered contracts manufacturers { id } } }');
  expect(packs).toEqual([
    {
      ...{ name: 'basic', description: 'Odometer and fuel', isOffered: true, contracts: 2 },
      manufacturers: [{ id: 'mercedes-benz' }],
    },
    { name: 'driving log', description: null, isOffered: false, contracts: 1, manufacturers: [] },
    {
      ...{ name: 'driving-log', description: null, isOffered: true, contracts: 0 },
      manufacturers: [{ id: 'mercedes-benz' }],
    },
  ]);
});

test('packs need a token, since they are those of a company', async () => {
  expect(await gateway.anyone.get('/packs')).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
});

test('manufacturers say whether contracts are possible', async () => {
  const { body } = await acme.get('/manufacturers');
  const of = (id: string) => body.find((one: Json) => one.id === id).contracts;
  expect([of('bmw'), of('mercedes-benz'), of('ferrari')]).toEqual([true, true, false]);
});

test('a pack that nobody offers is a warning, and nothing is refused for it', async () => {
  const vehicle = await addVehicle(acme, newVin(0, 'WBA'));
  const answer = await acme.post('/contracts', contractFields(vehicle, { pack: 'driving log' }));
  expect(answer).toMatchObject({ status: 201, body: { pack: 'driving log' } });
  expect(codesOf(answer)).toEqual([['PACK_NOT_OFFERED', vehicle.vin]]);
  const offered = await acme.post('/contracts', contractFields(vehicle, { pack: 'basic' }));
  expect(codesOf(offered)).toEqual([]);
});

test('a vehicle without a provider, and one that is not eligible, are warnings', async () => {
  const client = await none.as('acme');
  const vehicle = await addVehicle(acme, newVin(0, 'WBA'));
  const without = await client.post('/contracts', contractFields(vehicle, { pack: 'basic' }));
  expect(codesOf(without)).toContainEqual(['MANUFACTURER_NOT_SUPPORTED', vehicle.vin]);
  const other = await addVehicle(acme, newVin(0, 'WBA'));
  await gateway.execute(`update vehicle set status = 'INELIGIBLE', due_at = null where vin = '${other.vin}'`);
  const answer = await acme.post('/contracts', contractFields(other, { pack: 'basic' }));
  expect(codesOf(answer)).toEqual([['VEHICLE_NOT_ELIGIBLE', other.vin]]);
});

test('a dry run checks everything, warns, and stores nothing', async () => {
  const vehicle = await addVehicle(acme);
  const fields = contractFields(vehicle, { pack: 'driving log' });
  const answer = await acme.post('/contracts?dryRun=true', fields);
  expect(answer).toMatchObject({ status: 200, body: { vin: vehicle.vin, pack: 'driving log', status: 'SCHEDULED' } });
  expect(codesOf(answer)).toContainEqual(['PACK_NOT_OFFERED', vehicle.vin]);
  expect(await acme.get(`/contracts/${answer.body.id}`)).toMatchObject({ status: 404 });
  const made = await createContract(acme, vehicle, { pack: 'driving log' });
  expect(await acme.post('/contracts?dryRun=true', fields)).toMatchObject({
    status: 409,
    body: { code: 'CONTRACT_OVERLAP', conflicts: [made.id] },
  });
  expect(await acme.post('/contracts', { ...fields, dryRun: true })).toMatchObject({ status: 400 });
  const { body: events } = await acme.get(`/events?vin=${vehicle.vin}&type=contract.created&limit=10`);
  expect(events.length).toBeLessThan(2);
  const mutation = `mutation ($input: CreateContractInput!) {
    createContract(input: $input) { contract { id vehicle { vin } fleet { id } } warnings { code } }
  }`;
  const { createContract: dry } = await graphql(acme, mutation, { input: { ...fields, pack: 'other', dryRun: true } });
  expect(dry).toMatchObject({ contract: { vehicle: { vin: vehicle.vin }, fleet: { id: vehicle.fleetId } } });
  expect(await acme.get(`/contracts/${dry.contract.id}`)).toMatchObject({ status: 404 });
});

test('a dry run of several says which are covered already, and warns of the others', async () => {
  const fleet = await createFleet(acme);
  const [one, other] = (await addVehicles(acme, newVins(2), fleet)) as [Json, Json];
  await createContract(acme, one, { pack: 'driving log' });
  const { vin: _, ...terms } = contractFields(one, { pack: 'driving log' });
  const input = { ...terms, vins: [one.vin, other.vin, 'SHORT'] };
  const answer = await acme.post('/contracts/bulk?dryRun=true', input);
  expect(answer).toMatchObject({
    status: 200,
    body: { contracts: [{ vin: other.vin }], rejected: [{ vin: one.vin, code: 'CONTRACT_OVERLAP' }, { vin: 'SHORT' }] },
  });
  expect(codesOf(answer)).toContainEqual(['PACK_NOT_OFFERED', other.vin]);
  const { body } = await acme.post('/graphql', { query: `{ fleet(id: "${fleet.id}") { contracts { totalCount } } }` });
  expect(body.data.fleet.contracts.totalCount).toBe(1);
});
