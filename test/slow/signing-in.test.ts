// Signing in to PostgreSQL: md5 passwords, PGPASSFILE, the account on a socket, a client certificate.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { databaseConfig } from '../support/database.ts';
import { createFleet } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { createRole, execute, passwordOf, rolesOf, SCHEMA } from '../support/operator.ts';
import { type Server, startServer } from '../support/postgres-server.ts';

const given = inject('database');

describe.runIf(given.kind === 'postgresql')('A server is signed in to', () => {
  const { service } = rolesOf();
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  /** Has this line of pg_hba.conf count before all others. */
  async function rule(line: string): Promise<void> {
    const file = join(server.data, 'pg_hba.conf');
    writeFileSync(file, `${line}\n${readFileSync(file, 'utf8')}`);
    await execute(server.admin, 'select pg_reload_conf()');
  }

  /** The command and a gateway with each kind of connection work at this address. */
  async function expectWorking(DATABASE_URL: string, own: NodeJS.ProcessEnv = {}): Promise<void> {
    const { stdout } = await promisify(execFile)(process.execPath, ['src/commands/migrate.ts', 'up'], {
      env: { PATH: process.env.PATH, ...own, DATABASE_URL },
    });
    expect(stdout).toMatch(/^(?:Applied|Nothing was pending)/);
    const env = { DATABASE_URL, DATA_DIR: given.folder };
    const database = await openDatabase({ ...databaseConfig(env), DATABASE_READ_URLS: [DATABASE_URL] });
    const gateway = await startGateway({ on: { env, database } });
    onTestFinished(async () => {
      await gateway.close();
      await database.close();
    });
    const acme = await gateway.as('acme');
    const { id } = await createFleet(acme);
    expect(await acme.get(`/fleets/${id}`)).toMatchObject({ status: 200 });
    expect(await acme.patch(`/fleets/${id}`, { name: 'Renamed' })).toMatchObject({ status: 200 });
    expect(await gateway.anyone.get('/readyz')).toMatchObject({ status: 200 });
  }

  test('with a password that it keeps as md5', async () => {
    await execute(
      server.admin,
      "set password_encryption = 'md5'",
      `alter role "${service}" password '${passwordOf(service)}'`,
    );
    await rule(`host all "${service}" 127.0.0.1/32 md5`);
    await expectWorking(server.url);
    await execute(server.admin, `alter role "${service}" password '${passwordOf(service)}'`);
  });

  test('with the password of PGPASSFILE', async () => {
    const PGPASSFILE = join(given.folder, 'pgpass');
    const address = Object.assign(new URL(server.url), { password: '' });
    const escaped = passwordOf(service).replaceAll(/[\\:]/g, '\\$&');
    writeFileSync(PGPASSFILE, `localhost:${address.port}:fleets:${service}:${escaped}\n`, { mode: 0o600 });
    process.env.PGPASSFILE = PGPASSFILE;
    onTestFinished(() => void delete process.env.PGPASSFILE);
    await expectWorking(address.href, { PGPASSFILE });
  });

  test('with the account of the process, on a socket', async () => {
    const { username } = userInfo();
    await execute(
      server.admin,
      ...createRole(username, { search_path: SCHEMA, role: service }),
      `grant "${service}" to "${username}"`,
      `grant connect on database fleets to "${username}"`,
    );
    await rule(`local all "${username}" peer`);
    const { port } = new URL(server.url);
    await expectWorking(`postgresql://${username}@/fleets?host=${server.folder}&port=${port}`);
  });

  test('with a certificate alone', async () => {
    const { key = '', certificate = '' } = server.authority?.issue(service, 'extendedKeyUsage=clientAuth') ?? {};
    await rule(`hostssl all "${service}" 127.0.0.1/32 cert`);
    const address = Object.assign(new URL(server.url), { password: '' });
    await expect(openDatabase(databaseConfig({ DATABASE_URL: address.href, DATA_DIR: '' }))).rejects.toThrow(
      'certificate',
    );
    address.searchParams.set('sslcert', certificate);
    address.searchParams.set('sslkey', key);
    await expectWorking(address.href);
  });
});
