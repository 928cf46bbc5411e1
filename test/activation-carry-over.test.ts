import { performance } from 'node:perf_hooks';
import { expect, test, vi } from 'vitest';
import { activationWork, inForce, startActivations, stateOf } from './support/activations.ts';
import type { Client } from './support/client.ts';
import { addVehicle } from './support/factories.ts';
import { hasDocuments, unlessMissing } from './support/published.ts';

const { gateway, upstream, work, contract } = await startActivations();

/** A contract in force that was made while manufacturers were not told. */
async function madeBefore(client: Client) {
  const one = await contract(client, await addVehicle(client), inForce);
  await work();
  await gateway.execute(`delete from activation where vin = '${one.vin}'`);
  await gateway.execute(
    `update contract set activation = 'OFF', provider = null, programs = '{}' where id = '${one.id}'`,
  );
  return one;
}

test(`a start tells manufacturers of contracts of a company that it failed for before, and of all others at once${unlessMissing}`, async () => {
  const clients = await Promise.all(['a before', 'broken', 'zz behind'].map((company) => gateway.as(company)));
  const contracts = await Promise.all(clients.map(madeBefore));
  const states = async () =>
    (await Promise.all(contracts.map((one, n) => stateOf(clients[n] as Client, one)))).map(([state]) => state);
  expect(await states()).toEqual(['OFF', 'OFF', 'OFF']);
  await gateway.execute(`create function refuse() returns trigger language plpgsql as $$
    begin if new.company = 'broken' then raise 'no plan'; end if; return new; end $$;
    create trigger refuse before update on contract for each row execute function refuse()`);
  const errors: unknown[] = [];
  const start = activationWork(gateway, (error) => void errors.push(error));
  await start();
  expect([await states(), errors.map(String)]).toEqual([
    ['ACTIVE', 'OFF', 'ACTIVE'],
    [expect.stringContaining('no plan')],
  ]);
  await start();
  expect(errors).toHaveLength(1);
  await gateway.execute('drop trigger refuse on contract');
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 11_000);
  await start();
  vi.restoreAllMocks();
  expect(await states()).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE']);
  if (hasDocuments) expect(upstream.faults).toEqual([]);
});
