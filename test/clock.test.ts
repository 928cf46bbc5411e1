import { expect, test } from 'vitest';
import { addVehicle, createContract, createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const DAY_MS = 86_400_000;

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');

test('due work and recorded times use the clock of the service', async () => {
  const vehicle = await addVehicle(acme);
  const verified = () => acme.get(`/vehicles/eligibility/${vehicle.vin}`, { prefer: 'wait=10' });
  const { body: first } = await verified();
  const now = Date.now();
  const period = { from: new Date(now + DAY_MS).toISOString(), to: new Date(now + 2 * DAY_MS).toISOString() };
  const { id } = await createContract(acme, vehicle, period);
  const status = async () => (await acme.get(`/contracts/${id}`)).body.status;
  expect(await status()).toBe('SCHEDULED');

  // Answers are valid for 30 days, and up to a tenth more.
  gateway.passTime(40 * DAY_MS);
  const again = await until(async () => {
    const { body } = await verified();
    return body.verifiedAt !== first.verifiedAt && body;
  });
  expect(Date.parse(again.verifiedAt) - Date.parse(first.verifiedAt)).toBeGreaterThan(39 * DAY_MS);
  await until(async () => {
    const { body } = await acme.get(`/events?contractId=${id}`);
    return body.at(-1)?.type === 'contract.ended';
  });
  expect(await status()).toBe('ENDED');
});

test('the response of a creation equals a later read', async () => {
  const idle = await startGateway();
  const client = await idle.as('acme');
  let looks = 0;
  idle.services.clock = () => Date.now() + 1000 * ++looks;
  const fleet = await createFleet(client);
  const vehicle = await addVehicle(client);
  const contract = await createContract(client, vehicle);
  const { body: webhook } = await client.post('/webhooks', { url: 'https://example.com/hook' });
  const { secret: _, ...shown } = webhook;
  for (const [path, made] of Object.entries({
    [`/fleets/${fleet.id}`]: fleet,
    [`/vehicles/${vehicle.id}`]: vehicle,
    [`/contracts/${contract.id}`]: contract,
    [`/webhooks/${webhook.id}`]: shown,
  }))
    expect((await client.get(path)).body).toEqual(made);
});
