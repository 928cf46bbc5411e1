import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { databaseConfig } from './support/database.ts';
import { createFleet } from './support/factories.ts';
import { type Gateway, spawnGateway, startGateway, testIssuer } from './support/gateway.ts';
import { passwordOf, rolesOf } from './support/operator.ts';
import { childrenOf, type Server, startServer } from './support/postgres-server.ts';
import { newWorld } from './support/worlds.ts';

const given = inject('database');
const issuer = await testIssuer();

describe.runIf(given.kind === 'postgresql')('the address of a server', () => {
  let server: Server;
  beforeAll(async () => {
    // A client that stays silent during its handshake is seen.
    server = await startServer({ authentication_timeout: '600s' });
  });
  afterAll(() => server.stop());

  const env = (address: string) => ({ DATA_DIR: given.folder, DATABASE_URL: address });
  const refusal = (address: string) =>
    openDatabase(databaseConfig(env(address))).then(
      () => 'opened',
      (error: Error) => error.message,
    );

  async function started(address: string): Promise<Gateway> {
    const config = { ...databaseConfig(env(address)), DATABASE_DIRECT_URL: address, DATABASE_READ_URLS: [address] };
    const database = await openDatabase(config);
    const gateway = await startGateway({ on: { env: env(address), database } });
    onTestFinished(async () => {
      await gateway.close();
      await database.close();
    });
    return gateway;
  }

  const { service } = rolesOf();
  const password = encodeURIComponent(passwordOf(service));
  const known = `${service}:${password}`;

  /** Ways to name a socket, by its folder and the port in its name. */
  const sockets: Record<string, (folder: string, port: string) => string> = {
    'by host=': (folder, port) => `postgresql://${known}@/fleets?host=${folder}&port=${port}`,
    'by host=, beside a host': (folder, port) => `postgresql://${known}@localhost:${port}/fleets?host=${folder}`,
    'by host=, without a user before it': (folder, port) =>
      `postgres:///fleets?user=${service}&password=${password}&host=${folder}&port=${port}`,
    'instead of a host': (folder, port) => `postgresql://${known}@${encodeURIComponent(folder)}:${port}/fleets`,
    'with a mode of TLS, which sockets have not': (folder, port) =>
      `postgresql://${known}@/fleets?host=${folder}&port=${port}&sslmode=verify-full`,
  };
  const port = () => new URL(server.url).port;

  test.each(Object.entries(sockets))('a socket %s', async (_, addressOf) => {
    const gateway = await started(addressOf(server.folder, port()));
    const { client, fleetId } = await newWorld(gateway, 'acme');
    expect(await gateway.anyone.get('/readyz')).toMatchObject({ status: 200 });
    expect(await client.get(`/fleets/${fleetId}/vehicles`, { accept: 'text/csv' })).toMatchObject({ status: 200 });
    const { body } = await client.post('/graphql', { query: '{ fleets { nodes { vehicles { totalCount } } } }' });
    expect(body.errors).toBeUndefined();
    const sessions = `select distinct application_name as name, client_port from pg_stat_activity
      where application_name like 'fleet-gateway%' order by name`;
    expect(await gateway.execute(sessions)).toEqual([
      { name: 'fleet-gateway', client_port: -1 },
      { name: 'fleet-gateway listening', client_port: -1 },
    ]);
  });

  test('a socket, for the process and its commands', async () => {
    const DATABASE_URL = sockets['by host=']?.(server.folder, port());
    const all = { DATABASE_URL, DATABASE_DIRECT_URL: DATABASE_URL, DATABASE_READ_URLS: DATABASE_URL };
    const gateway = await spawnGateway(all, { issuer });
    expect(gateway.output()).toContain(`it opens the database at ${server.folder}:${port()}/fleets`);
    const fleet = await createFleet(gateway.as('globex'));
    expect(await gateway.as('globex').get(`/fleets/${fleet.id}`)).toMatchObject({ status: 200, body: fleet });
    const { stdout } = await promisify(execFile)(process.execPath, ['src/commands/migrate.ts', 'status'], {
      env: { PATH: process.env.PATH, DATABASE_URL },
    });
    expect(stdout).toBe(`Nothing is pending in the database at ${server.folder}:${port()}/fleets.\n`);
  });

  test('settings in an address stand beside those of the gateway', async () => {
    const gateway = await started(`${server.url}&options=-c%20work_mem%3D7MB%20-c%20jit%3Don&application_name=ours`);
    const [show] = await gateway.execute(`select current_setting('work_mem') as memory, current_setting('jit') as jit,
      array(select distinct application_name from pg_stat_activity where client_port > 0 order by 1) as names`);
    expect(show).toEqual({ memory: '7MB', jit: 'off', names: ['fleet-gateway listening', 'ours'] });
  });

  test('a server that says nothing on its socket is noticed', async () => {
    const gateway = await started(sockets['by host=']?.(server.folder, port()) ?? '');
    const acme = await gateway.as('acme');
    expect(await acme.get('/fleets')).toMatchObject({ status: 200 });
    const postmaster = Number(readFileSync(join(server.data, 'postmaster.pid'), 'utf8').split('\n')[0]);
    const all = [postmaster, ...childrenOf(postmaster)];
    for (const pid of all) process.kill(pid, 'SIGSTOP');
    try {
      expect(await acme.get('/fleets')).toMatchObject({ status: 503 });
    } finally {
      for (const pid of all) process.kill(pid, 'SIGCONT');
    }
    await expect.poll(async () => (await acme.get('/fleets')).status).toBe(200);
  });

  describe('without TLS', () => {
    let plain: Server;
    beforeAll(async () => {
      plain = await startServer({}, { tls: false });
    });
    afterAll(() => plain.stop());

    test.each(['require', 'prefer', 'verify-full', 'verify-ca', 'require&uselibpqcompat=true'])(
      'sslmode=%s ends a command in one sentence, which says what to do',
      async (mode) => {
        const DATABASE_URL = `${plain.url}?sslmode=${mode}`;
        const ended = promisify(execFile)(process.execPath, ['src/commands/migrate.ts', 'status'], {
          env: { PATH: process.env.PATH, DATABASE_URL },
        });
        const stderr = expect.stringMatching(
          /^Cannot connect to the database at \S+: it has no TLS.*sslmode=disable.*\n$/,
        );
        await expect(ended).rejects.toMatchObject({ code: 2, stderr });
      },
    );
  });

  describe('that asks for a password', () => {
    const at = (credentials: string, query = '') => `postgresql://${credentials}@localhost:${port()}/fleets${query}`;
    const status = (DATABASE_URL: string) =>
      promisify(execFile)(process.execPath, ['src/commands/migrate.ts', 'status'], {
        env: { PATH: process.env.PATH, DATABASE_URL },
      });

    test('all connections send it: primary, replicas, the direct address, and the one that looks for a lost server', async () => {
      const gateway = await started(at(known, `?sslmode=verify-full&sslrootcert=${server.authority?.certificate}`));
      const { client, fleetId } = await newWorld(gateway, 'acme');
      expect(await gateway.anyone.get('/readyz')).toMatchObject({ status: 200 });
      expect(await client.get(`/fleets/${fleetId}/vehicles`, { accept: 'text/csv' })).toMatchObject({ status: 200 });
      const users = `select distinct usename as user from pg_stat_activity where application_name like 'fleet-gateway%'`;
      expect(await gateway.execute(users)).toEqual([{ user: service }]);
    });

    // As psql takes them: credentials go to the @, a plus is a plus, and words may hold everything.
    const raw = passwordOf(service).replaceAll('%', '%25');
    const written: Record<string, () => string> = {
      'with ?, # and blanks in its password': () =>
        at(`${service}:${raw.replaceAll('@', '%40').replaceAll('/', '%2F')}`),
      'whose words hold all': () =>
        `postgresql:///?host=localhost&port=${port()}&dbname=fleets&user=${service}&password=${raw.replaceAll('&', '%26')}`,
      'with words beside a blank': () => at(known, '?options=-c work_mem=7MB&application_name=a b'),
    };
    test.each(Object.entries(written))('an address %s is that of psql', async (_, address) => {
      const { stdout } = await status(address());
      expect(stdout).toMatch(/(?:Pending|Nothing is pending).* in the database at localhost:\d+\/fleets/s);
    });

    test('what an address leaves out is in the variables of libpq', async () => {
      const own = { PGHOST: 'localhost', PGPORT: port(), PGUSER: service, PGPASSWORD: passwordOf(service) };
      const PGOPTIONS = '-c search_path=nowhere';
      const migrating = promisify(execFile)(process.execPath, ['src/commands/migrate.ts', 'status'], {
        env: { PATH: process.env.PATH, ...own, PGOPTIONS, DATABASE_URL: 'postgresql:///fleets' },
      });
      const stderr = expect.stringMatching(
        /names no schema that exists at localhost\/fleets, or that the role may use: /,
      );
      await expect(migrating).rejects.toMatchObject({ code: 2, stderr });
    });

    test('the process and its commands send it', async () => {
      const all = { DATABASE_URL: at(known), DATABASE_DIRECT_URL: at(known), DATABASE_READ_URLS: at(known) };
      const gateway = await spawnGateway(all, { issuer });
      expect(await gateway.as('acme').get('/fleets')).toMatchObject({ status: 200 });
      expect((await status(all.DATABASE_URL)).stdout).toMatch(/^Nothing is pending/);
    });

    test('an address without it ends the start and commands, with a sentence that says so', async () => {
      const sentence = 'it asks for a password, and the address has none';
      expect(await refusal(at(service))).toContain(sentence);
      // The server waits ten minutes for the rest of the handshake.
      await expect(status(at(service))).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) });
    });
  });

  describe('with a certificate of an authority of its own', () => {
    const at = (host: string, query: string) => `postgresql://${known}@${host}:${port()}/fleets?${query}`;

    test.each(['require', 'prefer', 'verify-ca', 'verify-full'])(
      'sslmode=%s refuses it, and says what to do',
      async (mode) => {
        const reason = await refusal(at('localhost', `sslmode=${mode}`));
        expect(reason).toMatch(
          /^Cannot connect to the database at localhost:\d+\/fleets: its certificate is of no authority/,
        );
        expect(reason).toMatch(/sslrootcert=.*uselibpqcompat=true.*SELF_SIGNED_CERT_IN_CHAIN/);
        expect(reason).not.toMatch(/node|--/i);
      },
    );

    test.each(['require', 'verify-ca', 'verify-full'])('sslmode=%s accepts it by sslrootcert', async (mode) => {
      expect(await refusal(at('localhost', `sslmode=${mode}&sslrootcert=${server.authority?.certificate}`))).toBe(
        'opened',
      );
    });

    test('another name is refused, also by verify-ca, unless libpq is followed', async () => {
      const query = `sslmode=verify-ca&sslrootcert=${server.authority?.certificate}`;
      const reason = await refusal(at('127.0.0.1', query));
      expect(reason).toMatch(/its certificate names another server: .*uselibpqcompat=true.*ALTNAME/);
      expect(await refusal(at('127.0.0.1', `${query}&uselibpqcompat=true`))).toBe('opened');
    });

    test.each(['sslmode=require&uselibpqcompat=true', 'sslmode=no-verify'])('%s checks nothing', async (query) => {
      expect(await refusal(at('127.0.0.1', query))).toBe('opened');
    });
  });
});
