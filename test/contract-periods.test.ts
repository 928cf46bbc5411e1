import { expect, test } from 'vitest';
import { addVehicle, createContract } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });

/** Creates a contract that starts in five minutes and ends ten minutes later. */
async function contractOf(company: string) {
  const client = await gateway.as(company);
  const from = Date.now() + 300_000;
  const period = { from: new Date(from).toISOString(), to: new Date(from + 600_000).toISOString() };
  await createContract(client, await addVehicle(client), period);
}

test('a company whose contracts all start at once delays no other company', async () => {
  await contractOf('a giant');
  await contractOf('beside it');
  await gateway.execute(`insert into contract
      (company, id, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at)
    select company, gen_random_uuid(), fleet_id, vehicle_id, name, description, 'pack ' || n, starts_at, ends_at, created_at, due_at
    from contract, generate_series(1, 2000) n where company = 'a giant'`);
  gateway.passTime(301_000);
  const order = await until(async () => {
    const rows = await gateway.execute<{ company: string; place: number; published: boolean }>(
      `select company, row_number() over (order by seq)::int as place, position is not null as published
       from event where type = 'contract.started' order by seq`,
    );
    return rows.length === 2002 && rows.every(({ published }) => published) ? rows : null;
  });
  const other = order.find(({ company }) => company === 'beside it');
  expect(other?.place).toBeLessThanOrEqual(501);
});
