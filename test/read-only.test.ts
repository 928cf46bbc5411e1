import { expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { createFleet, fleetFields, newVin, newVins } from './support/factories.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { execute } from './support/operator.ts';
import { until } from './support/until.ts';

const given = inject('database');
const isServer = given.kind === 'postgresql';
// One address, whose state is told once.
const { DATABASE_DIRECT_URL: _, ...env } = await databaseEnv();
const name = new URL(env.DATABASE_URL ?? 'postgresql://none/none').pathname.slice(1);

/** Runs a statement as an operator, in another database. */
async function operate(statement: string): Promise<void> {
  await execute(given.kind === 'postgresql' ? given.admin : '', statement);
}

/** Fences the database for new sessions, and ends those that there are. */
async function fence(): Promise<void> {
  await operate(`alter database ${name} set default_transaction_read_only = on`);
  await operate(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
}

const unfence = () => operate(`alter database ${name} reset default_transaction_read_only`);

async function open(): Promise<{ gateway: Gateway; told: string[] }> {
  const told: string[] = [];
  const database = await openDatabase(databaseConfig(env), (message) => told.push(message));
  const gateway = await startGateway({ on: { env, database } });
  onTestFinished(async () => {
    await gateway.close();
    await database.close();
  });
  return { gateway, told };
}

const mutation = `mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id } } }`;
const READ_ONLY = 'The database is read-only. Nothing was changed; try again.';

test.runIf(isServer)('a database that was read-only is written again without a restart', async () => {
  const { gateway, told } = await open();
  const acme = await gateway.as('acme');
  const fleet = await createFleet(acme);
  const writes = {
    'POST /fleets': () => acme.post('/fleets', fleetFields),
    'POST /vehicles, one': () => acme.post('/vehicles', { fleetId: fleet.id, vins: [newVin()] }),
    'POST /vehicles, many': () => acme.post('/vehicles', { fleetId: fleet.id, vins: newVins(40) }),
    PATCH: () => acme.patch(`/fleets/${fleet.id}`, { name: 'Another name' }),
  };
  const mutate = () => acme.post('/graphql', { query: mutation, variables: { input: fleetFields } });
  const metric = async (of: string) =>
    new RegExp(`^fleet_gateway_${of} (\\d)$`, 'm').exec((await gateway.anyone.get('/metrics')).body)?.[1];

  await fence();
  onTestFinished(unfence);
  await until(async () => (await acme.post('/fleets', fleetFields)).body.detail === READ_ONLY);
  for (const [what, write] of Object.entries(writes)) {
    const { status, headers, body } = await write();
    expect({ what, status, body }).toEqual({
      what,
      status: 503,
      body: expect.objectContaining({ code: 'UNAVAILABLE', detail: READ_ONLY }),
    });
    expect(headers.get('retry-after')).toBe('2');
  }
  expect((await mutate()).body.errors[0]).toMatchObject({ message: READ_ONLY, extensions: { code: 'UNAVAILABLE' } });
  // What is there can be read.
  expect((await acme.get(`/fleets/${fleet.id}`)).status).toBe(200);
  await until(async () => (await gateway.anyone.get('/readyz')).body.detail === 'The database is read-only (25006).');
  await until(async () => (await metric('database_read_only')) === '1');
  await until(async () => (await metric('database_up')) === '0');
  const { host, pathname } = new URL(env.DATABASE_URL ?? '');
  expect(told.filter((message) => message.includes('read-only'))).toEqual([
    `The database at ${host}${pathname} is read-only.`,
  ]);

  // Sessions that were opened meanwhile stay read-only, and nobody ends them.
  await unfence();
  for (const [what, write] of Object.entries(writes)) {
    const { status } = await until(async () => {
      const answer = await write();
      return answer.status !== 503 && answer;
    });
    expect({ what, ok: status < 300 }).toEqual({ what, ok: true });
  }
  await until(async () => (await mutate()).body.data);
  await until(async () => (await gateway.anyone.get('/readyz')).status === 200);
  await until(async () => (await metric('database_read_only')) === '0' && (await metric('database_up')) === '1');
  expect(told.at(-1)).toBe(`The database at ${host}${pathname} can be written again.`);
});

test.runIf(isServer)('connections leave a server that has become read-only, those for reads too', async () => {
  const { gateway } = await open();
  const acme = await gateway.as('acme');
  const fleet = await createFleet(acme);
  /** The sessions of the gateway, after work of each kind. */
  const sessions = async () => {
    await acme.get(`/fleets/${fleet.id}`);
    await acme.get('/vehicles?limit=1000');
    await acme.post('/fleets', fleetFields);
    const rows = await gateway.execute<{ pid: number }>(
      `select pid from pg_stat_activity where datname = '${name}' and application_name = 'fleet-gateway' and pid <> pg_backend_pid()`,
    );
    return rows.map(({ pid }) => pid);
  };
  const before = new Set(await sessions());
  await operate(`alter database ${name} set default_transaction_read_only = on`);
  onTestFinished(unfence);
  // As a reload does that makes a whole server read-only, for one session.
  await until(async () => {
    await gateway.execute('set default_transaction_read_only = on').catch(() => {});
    return (await acme.patch(`/fleets/${fleet.id}`, { name: 'Another' })).status === 503;
  });
  await until(async () => (await sessions()).every((pid) => !before.has(pid)));
});
