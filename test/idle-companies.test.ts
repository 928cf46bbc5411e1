import { describe, expect, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { explainAll } from './support/explained.ts';
import { addVehicle, createContract, createFleet, recount } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { looks } from './support/plans.ts';
import { scheduleAll } from './support/schedule.ts';
import { until } from './support/until.ts';
import { WebhookReceiver } from './support/webhook-receiver.ts';

// Idle companies have fleets, vehicles due in a month, contracts that end in a year, and webhooks. Background work for
// another company must not read their rows.

const IDLE = 2000;
/** Rows that a statement of background work may read; each idle company has one row of each kind. */
const FEW = 1000;

const env = await databaseEnv();
const isServer = env.DATABASE_URL !== undefined;
const plans = isServer ? await explainAll(env) : [];
const database = await openDatabase(databaseConfig(env));
const settings = { WEBHOOK_LOOPBACK: 'on' };
const gateway = await startGateway({ on: { env, database }, workers: isServer, settings });
const receiver = await WebhookReceiver.start();

const idle = `
  insert into company select 'idle ' || n from generate_series(1, ${IDLE}) n;
  insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    select new_uuid(), company, 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now() from company;
  insert into vehicle (id, company, fleet_id, vin, manufacturer, status, created_at, verified_at, due_at)
    select new_uuid(), company, id, 'WBA' || lpad((row_number() over ())::text, 14, '0'), 'bmw', 'ELIGIBLE', now(), now(),
      now() + interval '30 days'
    from fleet;
  insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at)
    select new_uuid(), company, fleet_id, id, 'Log', 'Log', 'driving-log', now() - interval '1 day', now() + interval '1 year',
      now(), now() + interval '1 year'
    from vehicle;
  insert into webhook (id, company, url, secret, created_at, updated_at)
    select new_uuid(), company, 'http://127.0.0.1/', 'secret', now(), now() from company;
  ${recount};
  ${scheduleAll}`;

/** Statements that read more than FEW rows, with the numbers. */
const muchLookedAt = () =>
  plans.flatMap((one) => {
    const found = Object.entries(looks(one.Plan)).filter(([, rows]) => rows > FEW);
    return found.map(([what, rows]) => `${what}: ${rows}, ${one['Query Text'].slice(0, 200)}`);
  });

describe.runIf(isServer)('idle companies', () => {
  test('are not read when another company has events, deliveries, vehicles, contracts and counts', async () => {
    await gateway.execute(idle);
    await gateway.execute('analyze');
    const client = await gateway.as('busy');
    await client.post('/webhooks', { url: receiver.url('/') });
    plans.length = 0;

    await createFleet(client);
    await createContract(client, await addVehicle(client));
    gateway.database.notify('due', 'upkeep');
    expect((await client.get('/providers')).status).toBe(200);
    expect((await fetch(`${gateway.url}/metrics`)).status).toBe(200);
    const sent = ['fleet.created', 'vehicle.added', 'contract.created'];
    await until(async () => {
      const rows = await gateway.execute<{ type: string }>(
        `select e.type from delivery d join event e on e.id = d.event_id where d.state = 'SUCCEEDED'`,
      );
      return sent.every((type) => rows.some((row) => row.type === type)) ? rows : null;
    });

    await until(() => plans.some((one) => /from "vehicle_tally" where/.test(one['Query Text'])));
    expect(muchLookedAt()).toEqual([]);
  });
});
