import { expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { publish } from '../src/jobs/publish-events.ts';
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

test('events are published before all contracts that start at once have their events', async () => {
  const idle = await startGateway();
  const client = await idle.as('company');
  const from = Date.now() + 300_000;
  const period = { from: new Date(from).toISOString(), to: new Date(from + 600_000).toISOString() };
  await createContract(client, await addVehicle(client), period);
  await idle.execute(`
    insert into company select 'company ' || n from generate_series(1, 100) n;
    insert into fleet (company, id, name, company_address, email, vat, created_at, updated_at)
      select company || ' ' || n, gen_random_uuid(), name, company_address, email, vat, created_at, updated_at from fleet, generate_series(1, 100) n;
    insert into vehicle (company, id, fleet_id, vin, status, created_at)
      select f.company, gen_random_uuid(), f.id, vin, 'PENDING', v.created_at from vehicle v, fleet f where f.company <> 'company';
    insert into contract (company, id, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at)
      select v.company, gen_random_uuid(), v.fleet_id, v.id, name, description, pack, starts_at, ends_at, c.created_at, c.due_at
      from contract c, vehicle v where v.company <> 'company';
    insert into schedule (company, kind, due_at) select company, 'contract', due_at from contract where company <> 'company'`);
  idle.passTime(301_000);
  const started: number[] = [];
  const job = publish({
    open: () => contextOf(idle.services, 'job', null),
    onError: (error) => expect.fail(String(error)),
    async withBackoff(step) {
      const done = await step();
      const [state] = await idle.execute<{ waiting: number; started: number }>(`select
        count(*) filter (where position is null and type = 'vehicle.added')::int as waiting,
        count(*) filter (where type = 'contract.started')::int as started from event`);
      if (state?.waiting === 0) started.push(state.started);
      return done;
    },
  });
  await job.run(new AbortController().signal);
  expect(started[0]).toBeLessThan(50);
  expect(started.at(-1)).toBe(101);
});
