import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFleet, newVin, uploadForm } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';

const gateway = await startGateway();
const client = await gateway.as('acme');

test('who waits for a row on a node waits for seconds, and an upload as long as it takes', async () => {
  const fleet = await createFleet(client);
  const vin = newVin();
  const { em } = gateway.database.orm;
  await em.fork().transactional(async (held) => {
    const its = `company = 'acme' and id = '${fleet.id}'`;
    await held.execute(`select from fleet where ${its} for update`);
    const since = performance.now();
    const { status } = await client.patch(`/fleets/${fleet.id}`, { name: 'Another' });
    expect([status, performance.now() - since < 15_000]).toEqual([503, true]);
  });
  const upload = await em.fork().transactional(async (held) => {
    await held.execute(`insert into vehicle (company, id, fleet_id, vin, created_at)
      values ('acme', '01980000-0000-7000-8000-000000000001', '${fleet.id}', '${vin}', now())`);
    const answer = client.send('POST', '/vehicles/file', uploadForm(fleet.id, `vin\n${vin}\n`));
    await delay(6000);
    await held.execute(`delete from vehicle where company = 'acme' and vin = '${vin}'`);
    return { answer };
  });
  expect((await upload.answer).status).toBe(201);
});
