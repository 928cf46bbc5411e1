// The gateway has no more connections than documents promise, and where PostgreSQL allows fewer, it says so and goes on.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, inject, test } from 'vitest';
import type { Answer, Client } from '../support/client.ts';
import { asAdmin, databaseEnv } from '../support/database.ts';
import {
  addVehicles,
  contractFields,
  createFleet,
  fleetFields,
  newVin,
  newVins,
  uploadForm,
} from '../support/factories.ts';
import { type SpawnedGateway, spawnGateway, testIssuer } from '../support/gateway.ts';
import { execute } from '../support/operator.ts';
import { until } from '../support/until.ts';

const { kind } = inject('database');
const env = await databaseEnv();
const issuer = await testIssuer();
const database = env.DATABASE_URL ? new URL(env.DATABASE_URL).pathname.slice(1) : '';

/** "up to 14 to the primary, 11 for short statements, one for notifications, …, 17 to each replica; two more while it starts" */
function promised(): number {
  const operations = readFileSync('docs/operations.md', 'utf8');
  const [, kinds = ''] = /\| connections \| (.*), \d+ to each replica; two more while it starts/.exec(operations) ?? [];
  return kinds.split(',').reduce((sum, one) => sum + Number(/\d+/.exec(one)?.[0] ?? 1), 0);
}

/** PostgreSQL refuses the service more connections than these to its database. */
const allow = (connections: number) =>
  execute(asAdmin(env), `alter database ${database} connection limit ${connections}`);

async function used(): Promise<number> {
  const [row] = await execute<{ used: number }>(
    asAdmin(env),
    `select count(*)::int as used from pg_stat_activity where datname = '${database}' and pid <> pg_backend_pid()`,
  );
  return row?.used ?? 0;
}

/** What one company does at once: small and large reads, searches, changes, files and contracts. */
async function prepare(client: Client): Promise<() => Promise<Answer>[]> {
  const fleet = await createFleet(client);
  const vehicles = await addVehicles(client, newVins(300), fleet);
  const csv = `vin\n${newVins(500).join('\n')}`;
  const query =
    '{ vehicles(first: 1000) { nodes { vin fleet { name } contracts { totalCount } } } search(text: "WBA") { total } }';
  return () => [
    // A company may have four at a time.
    ...[1, 2, 3].map(() => client.post('/vehicles/file', uploadForm(fleet.id, csv))),
    ...vehicles
      .slice(0, 20)
      .flatMap((vehicle) => [
        client.get(`/fleets/${fleet.id}/vehicles?limit=300`),
        client.get('/vehicles?limit=1000'),
        client.get('/vehicles?manufacturer=zzz&sort=-verifiedAt'),
        client.get(`/vehicles/${vehicle.id}`),
        client.post('/graphql', { query }),
        client.post('/fleets', fleetFields),
        client.patch(`/fleets/${fleet.id}`, { name: vehicle.vin }),
        client.post('/vehicles', { fleetId: fleet.id, vins: [newVin()] }),
        client.post('/contracts', contractFields(vehicle)),
      ]),
  ];
}

const companies = ['acme', 'beta', 'gamma', 'delta'];
const prepareAll = (gateway: SpawnedGateway) => Promise.all(companies.map((company) => prepare(gateway.as(company))));
const isDone = ({ status }: Answer) => status < 300;

describe.skipIf(kind === 'embedded')('connections', () => {
  test('are no more than promised, with all kinds of work at once', async () => {
    const gateway = await spawnGateway(env, { issuer });
    await allow(promised());
    const works = await prepareAll(gateway);
    const working = Promise.all(works.flatMap((work) => work()));
    const counts: number[] = [];
    for (let isOver = false; !isOver; ) {
      isOver = await Promise.race([working.then(() => true), delay(20, false)]);
      counts.push(await used());
    }
    const answers = await working;
    expect(answers.filter((answer) => !isDone(answer))).toEqual([]);
    expect(Math.max(...counts)).toBeLessThanOrEqual(promised());
    // Most are used.
    expect(Math.max(...counts)).toBeGreaterThan(promised() * 0.7);
    expect(gateway.output()).not.toContain('too many connections');
    await gateway.stop();
  });

  test('that are too few are said, and requests answered; with enough, all is as before', async () => {
    const gateway = await spawnGateway(env, { issuer });
    const works = await prepareAll(gateway);
    await allow(1);
    await execute(
      asAdmin(env),
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'
      and pid <> pg_backend_pid() and query not like 'listen%' and pid % 3 > 0`,
    );
    const answers = await Promise.all(works.flatMap((work) => work()));
    const refused = answers.filter((answer) => !isDone(answer));
    for (const { status, headers, body } of refused) {
      expect({ status, detail: body.detail, retryAfter: headers.get('retry-after') }).toEqual({
        status: 503,
        detail: expect.stringContaining('no connection left'),
        retryAfter: expect.stringMatching(/^\d+$/),
      });
    }
    expect(refused.length).toBeGreaterThan(0);
    expect(gateway.output()).toContain('too many connections');
    await allow(-1);
    await until(async () => {
      const again = await prepareAll(gateway).catch(() => []);
      return again.length > 0 && (await Promise.all(again.flatMap((work) => work()))).every(isDone);
    });
  });
});
