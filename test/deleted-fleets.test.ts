import { afterAll, expect, test } from 'vitest';
import { addVehicle, createContract, createFleet, newVins, uploadForm } from './support/factories.ts';
import { askingAt, startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { UpstreamServer, vinOf } from './support/upstream.ts';

const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());
const gateway = await startGateway();
const acme = await gateway.as('acme');

// A large deleted fleet, whose vehicles are deleted in steps, with a contract that has started since; and a vehicle of
// another fleet that came due later.
const fleet = await createFleet(acme);
await acme.send('POST', '/vehicles/file', uploadForm(fleet.id, `vin\n${newVins(12_000).join('\n')}\n`));
const { body: vehicles } = await acme.get(`/fleets/${fleet.id}/vehicles?limit=1`);
const from = Date.now() + 500;
await createContract(acme, vehicles[0], { from: new Date(from).toISOString() });
const { vin } = await addVehicle(acme);
await acme.delete(`/fleets/${fleet.id}`);
await until(() => Date.now() > from);
await startGateway({ workers: true, on: gateway, settings: askingAt(upstream) });

test('vehicles of a deleted fleet are not asked about, and its contracts do not start', async () => {
  await until(async () => (await acme.get(`/vehicles/eligibility/${vin}`)).body.status === 'ELIGIBLE');
  await until(async () => (await gateway.execute('select from fleet where deletion is not null')).length === 0);
  const asked = upstream.received.filter(({ endpoint }) => endpoint === 'eligibility').map(vinOf);
  expect(asked).toEqual([vin]);
  const told = await gateway.execute(`select distinct type from event
    where fleet_id = '${fleet.id}' and type like 'contract.%' order by type`);
  expect(told).toEqual([{ type: 'contract.created' }, { type: 'contract.deleted' }]);
});
