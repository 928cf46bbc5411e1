import { expect, test } from 'vitest';
import { addVehicle, addVehicles, contractFields, createContract, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

// An index of PostgreSQL can lose an entry (docs/decisions/periods.md): without its constraint, no row stops an overlap.

const gateway = await startGateway();
const acme = await gateway.as('acme');
await gateway.execute('alter table contract drop constraint contract_no_overlap');

const refused = (id: string) => ({ status: 409, body: { code: 'CONTRACT_OVERLAP', conflicts: [id] } });

test('a new contract is refused by the vehicle’s other contracts', async () => {
  const vehicle = await addVehicle(acme);
  const { id } = await createContract(acme, vehicle);
  expect(await acme.post('/contracts', contractFields(vehicle))).toMatchObject(refused(id));
  // Another pack, and the day on which the first one ends, are free.
  await createContract(acme, vehicle, { pack: 'charging' });
  await createContract(acme, vehicle, { from: '2031-01-01T00:00:00Z', to: '2032-01-01T00:00:00Z' });
});

test('contracts of several vehicles are refused for those that have one', async () => {
  const vins = newVins(2);
  const [, taken] = await addVehicles(acme, vins);
  const { id } = await createContract(acme, taken);
  const { vin, ...fields } = contractFields(taken);
  expect(await acme.post('/contracts/bulk', { ...fields, vins })).toMatchObject({
    status: 201,
    body: { rejected: [{ vin, code: 'CONTRACT_OVERLAP', conflicts: [id] }] },
  });
});

test('a contract’s end does not move into another one', async () => {
  const vehicle = await addVehicle(acme);
  const { id } = await createContract(acme, vehicle);
  const later = await createContract(acme, vehicle, { from: '2032-01-01T00:00:00Z', to: '2033-01-01T00:00:00Z' });
  expect(await acme.send('PATCH', `/contracts/${id}`, { to: '2032-06-01T00:00:00Z' })).toMatchObject(refused(later.id));
});
