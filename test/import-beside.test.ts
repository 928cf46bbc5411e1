import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { Json } from './support/client.ts';
import { createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');

/** Somebody else who has added vehicles and has not committed yet. */
async function addingBeside(fleetId: string, vins: readonly string[]): Promise<pg.Client> {
  const client = new pg.Client(gateway.env.DATABASE_URL);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('begin');
  await client.query(
    `insert into vehicle (company, id, fleet_id, vin, created_at) select 'acme', gen_random_uuid(), $1, vin, now() from unnest($2::text[]) vin`,
    [fleetId, vins],
  );
  return client;
}

/** Resolves when somebody waits for what this connection has not committed. */
async function awaited(client: pg.Client): Promise<void> {
  // On Citus, rows are waited for on the nodes.
  const { cluster } = inject('database');
  const { rows } = await client.query(`select ${cluster ? 'citus_backend_gpid()' : 'pg_backend_pid()'} as id`);
  const waiting = cluster
    ? `select from citus_lock_waits where blocking_gpid = ${rows[0].id}`
    : `select from pg_stat_activity where ${rows[0].id} = any(pg_blocking_pids(pid))`;
  await until(async () => (await gateway.execute(waiting)).length > 0);
}

test.skipIf(gateway.database.kind === 'embedded')(
  'an upload tells of each vehicle that it adds, though others have added some of them meanwhile',
  async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(3000).toSorted();
    const first = await addingBeside(fleet.id, vins.slice(0, 1));
    const second = await addingBeside(fleet.id, vins.slice(1, 1501));
    const uploading = acme.post('/vehicles/file', uploadForm(fleet.id, `vin\n${vins.join('\n')}\n`));
    await awaited(first);
    // Now it begins again, beside those who add the same.
    await first.query('commit');
    await awaited(second);
    await second.query('commit');
    const { status, body } = await uploading;
    expect({ status, summary: body.summary }).toEqual({
      status: 201,
      summary: { received: 3000, created: 1499, existing: 1501, rejected: 0 },
    });
    const told = await until(async () => {
      const { body: events } = await acme.get(`/events?fleetId=${fleet.id}&limit=100`);
      return events.some(({ type }: Json) => type === 'import.completed') ? events : null;
    });
    const added = told.filter(({ type }: Json) => type === 'vehicle.added').flatMap(({ vehicles }: Json) => vehicles);
    expect(added.map(({ vin }: Json) => vin).toSorted()).toEqual(vins.slice(1501));
  },
);
