import { expect, test } from 'vitest';
import type { Json } from './support/client.ts';
import { addVehicles, createContract, newVin } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');

const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const inForce = { from: day(-1), to: day(30) };

const stateOf = async (id: string): Promise<Json> => (await acme.get(`/contracts/${id}`)).body.activation;
const becomes = (id: string, state: string) =>
  until(async () => {
    const found = await stateOf(id);
    return found.state === state ? found : null;
  });

test('a contract is carried out: approved, rejected, scheduled', async () => {
  const [approved, rejected, later] = await addVehicles(
    acme,
    ['0', '7', '1'].map((last) => newVin(0, 'WBA').slice(0, 16) + last),
  );
  const first = await createContract(acme, approved, inForce);
  expect(first.activation).toMatchObject({ state: 'PENDING', reason: null });
  const second = await createContract(acme, rejected, inForce);
  const third = await createContract(acme, later, { from: day(1), to: day(2) });
  expect(await stateOf(third.id)).toMatchObject({ state: 'SCHEDULED', reason: null, nextAttemptAt: null });
  expect(await becomes(first.id, 'ACTIVE')).toMatchObject({ reason: null });
  expect(await becomes(second.id, 'REJECTED')).toMatchObject({
    reason: { code: 'ACTIVATION_REJECTED', actor: 'MANUFACTURER' },
  });
});
