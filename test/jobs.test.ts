import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway({ workers: true });

test('background work that has nothing to do wakes nobody, itself least of all', async () => {
  const acme = await gateway.as('acme');
  const { body: fleet } = await acme.post('/fleets', {
    name: 'Berlin',
    companyAddress: 'Main Street 1',
    email: 'fleet@example.com',
    vat: 'DE1',
  });
  await acme.post('/vehicles', { fleetId: fleet.id, vins: ['WBA00000000000001'] });
  await acme.get('/vehicles/eligibility/WBA00000000000001', { prefer: 'wait=10' });
  await delay(500);
  let wakings = 0;
  gateway.services.changes.on('due', () => {
    wakings += 1;
  });
  await delay(1000);
  expect(wakings).toBe(0);
});
