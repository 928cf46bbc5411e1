/**
 * Measures the bytes that a vehicle takes in PostgreSQL, with indexes: `npx node bench/vehicle-size.ts [--vehicles 50000]`
 * uploads a file of new vehicles and lets a provider answer about each. It prints what is stored per vehicle after the upload
 * and after the first answer, by table, with and without the room that old versions of rows leave; then the mean
 * `eligibility.changed` with its share of the indexes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from '../test/support/client.ts';
import { createFleet, newVins, uploadForm } from '../test/support/factories.ts';
import { eligible, UpstreamServer } from '../test/support/upstream.ts';
import { migrate, openWorld } from './support/world.ts';

const { values } = parseArgs({ options: { vehicles: { type: 'string', default: '50000' } } });
const vehicles = Number(values.vehicles);

// The disk is not measured.
await using world = await openWorld({ server: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } });
migrate(world.url);

/** Bytes of each table with its indexes. */
async function sizes(how = 'vacuum'): Promise<Map<string, number>> {
  await world.sql(how);
  const rows = await world.sql(
    `select relname as name, pg_total_relation_size(oid)::float8 as bytes from pg_class
     where relkind = 'r' and relnamespace = current_schema::regnamespace`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}
const empty = await sizes();

async function report(when: string, how?: string): Promise<Map<string, number>> {
  const now = await sizes(how);
  const each = [...now].map(([name, bytes]) => ({ name, bytes: (bytes - (empty.get(name) ?? 0)) / vehicles }));
  const tables = each.filter(({ bytes }) => bytes >= 1).toSorted((a, b) => b.bytes - a.bytes);
  const total = each.reduce((sum, { bytes }) => sum + bytes, 0);
  const parts = tables.map(({ name, bytes }) => `${name} ${bytes.toFixed(0)}`);
  console.log(`${when}: ${total.toFixed(0)} bytes a vehicle (${parts.join(', ')})`);
  return now;
}

const upstream = await UpstreamServer.start();
upstream.always('eligibility', eligible());
const settings = {
  LOG_LEVEL: 'warn',
  HIGH_MOBILITY_URL: upstream.url,
  HIGH_MOBILITY_CLIENT_ID: 'client',
  HIGH_MOBILITY_CLIENT_SECRET: 'secret',
};
const serving = await world.gateway({ ...settings, WORKERS: 'off' });
const { authorization } = world.headers('acme');
const client = new Client(serving.url, { authorization });
const fleet = await createFleet(client);
const { status } = await client.send(
  'POST',
  '/vehicles/file',
  uploadForm(fleet.id, `vin\n${newVins(vehicles).join('\n')}\n`),
);
if (status !== 201) throw new Error(`The upload was answered with ${status}.`);
const before = await report('after the upload');
await world.gateway(settings);
const left = `select from vehicle where status = 'PENDING' limit 1`;
while ((await world.sql(left)).length > 0) await delay(500);
while ((await world.sql('select from event where position is null limit 1')).length > 0) await delay(500);
await report('after the first answer, with the room of old versions, which later rows take');
const after = await report('after the first answer', 'vacuum full');
const grown = (after.get('event') ?? 0) - (before.get('event') ?? 0);
const [row] = await world.sql(`select count(*)::int from event where type = 'eligibility.changed'`);
console.log(`eligibility.changed: ${(grown / row.count).toFixed(0)} bytes each`);
await upstream.close();
