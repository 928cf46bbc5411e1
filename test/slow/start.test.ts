// Starts that are refused, stopped by signals or killed.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, inject, test } from 'vitest';
import type { Json } from '../support/client.ts';
import { databaseEnv } from '../support/database.ts';
import { addVehicle, createFleet, newVin } from '../support/factories.ts';
import { askingAt, identityOf, runGateway, spawnGateway, testIssuer } from '../support/gateway.ts';
import { silence, UpstreamServer } from '../support/upstream.ts';

const { kind, folder } = inject('database');
const env = await databaseEnv();
/** For vehicles that a provider answers about. */
const ofProvider = await databaseEnv();
const issuer = await testIssuer();
/** A server needs an issuer; with the embedded database the gateway issues tokens. */
const identity = kind === 'postgresql' ? { issuer } : {};
const company = kind === 'postgresql' ? 'acme' : 'demo';
const sh = promisify(execFile);

const complete = { ...env, ...(kind === 'postgresql' && { AUTH_ISSUER: issuer.issuer, CONTRACTS_AUTH: 'open' }) };

/** The output and exit code of a start that must fail. */
async function refusal(settings: Parameters<typeof runGateway>[0]) {
  const { exited, output } = runGateway(settings);
  return { code: await exited, lines: output() };
}

describe('the process', () => {
  test('data survives a restart and kill -9', async () => {
    let gateway = await spawnGateway(env, identity);
    const fleet = await createFleet(gateway.as(company));
    expect(await gateway.stop()).toBe(0);
    gateway = await spawnGateway(env, identity);
    expect((await gateway.as(company).get('/fleets')).body).toEqual([fleet]);
    const second = await createFleet(gateway.as(company));
    await gateway.stop('SIGKILL');
    gateway = await spawnGateway(env, identity);
    expect((await gateway.as(company).get('/fleets')).body).toEqual([fleet, second]);
    expect(await gateway.anyone.get('/readyz')).toMatchObject({ status: 200 });
  });

  test('npm start serves, and Ctrl-C in its terminal ends all processes', async () => {
    await rm('node_modules/.cache/compiled', { recursive: true, force: true, maxRetries: 10 });
    const gateway = await spawnGateway(
      { ...env, LOG_LEVEL: 'info', NODE_COMPILE_CACHE: undefined },
      { ...identity, command: ['npm', 'start'] },
    );
    expect(await gateway.anyone.get('/livez')).toMatchObject({ status: 200 });
    await gateway.stop('SIGINT');
    expect(gateway.output()).toContain('SIGINT: finishing what is under way');
    await expect(gateway.anyone.get('/livez')).rejects.toThrow();
    // The next start can use the compiled code.
    expect(await readdir('node_modules/.cache/compiled')).not.toEqual([]);
  });

  test('the process frees the memory that only its start needed', async () => {
    const gateway = await spawnGateway(
      { ...env, NODE_COMPILE_CACHE: undefined },
      { ...identity, command: ['npm', 'start'] },
    );
    const heap = async () => {
      const { body } = await gateway.anyone.get('/metrics');
      return Number(/^nodejs_heap_size_total_bytes (\d+)/m.exec(body)?.[1]);
    };
    const atFirst = await heap();
    await expect.poll(heap, { interval: 1_000 }).toBeLessThan(0.75 * atFirst);
    await gateway.stop('SIGINT');
  });

  // `script` provides a terminal on most Linux systems.
  test.skipIf(!existsSync('/usr/bin/script'))('npm start serves if its output is a terminal', async () => {
    const gateway = await spawnGateway(
      { ...env, LOG_LEVEL: 'info' },
      { ...identity, command: ['script', '-qefc', 'npm start', '/dev/null'] },
    );
    expect(await gateway.anyone.get('/livez')).toMatchObject({ status: 200 });
    await expect.poll(gateway.output).toMatch(/^\[\d\d:\d\d:\d\d\].* INFO.*: .*request/m);
    await gateway.stop();
  });

  test('the log names the providers, and what it means if there is none or if they are invented', async () => {
    const logged = async (settings: NodeJS.ProcessEnv, line: string) => {
      const gateway = await spawnGateway({ ...env, LOG_LEVEL: 'info', ...settings }, identity);
      await expect.poll(gateway.output).toContain('these providers answer about vehicles');
      await expect.poll(gateway.output).toContain(line);
      await gateway.stop();
    };
    await logged({ SANDBOX: 'off' }, 'every vehicle is UNSUPPORTED until one is');
    // An unset SANDBOX: off on a server, on in development.
    await logged({ SANDBOX: '' }, kind === 'postgresql' ? '"providers":[]' : '"providers":["sandbox"]');
    const upstream = await UpstreamServer.start();
    await logged({ ...askingAt(upstream) }, '"providers":["high-mobility"]');
    await upstream.close();
  });

  test('SIGTERM ends the process at once if it is idle', async () => {
    const gateway = await spawnGateway(env, identity);
    const start = performance.now();
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - start).toBeLessThan(3_000);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('%s ends the process during its start', async (signal) => {
    const { child, output, exited, signalGroup } = runGateway({ ...env, ...identityOf(issuer) });
    child.stdout.once('data', () => signalGroup(signal));
    expect(await exited).toBe(0);
    expect(output()).not.toContain('ready on');
  });

  test('SIGTERM lets running requests end, and refuses new ones', async () => {
    const gateway = await spawnGateway({ ...env, WORKERS: 'off' }, identity);
    const client = gateway.as(company);
    const { vin } = await addVehicle(client);
    const waiting = client.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=2' });
    await client.get('/livez');
    const stopped = gateway.stop();
    expect(await waiting).toMatchObject({ status: 409 });
    expect(await stopped).toBe(0);
    await expect(gateway.anyone.get('/livez')).rejects.toThrow();
  });

  test('SIGTERM does not wait for a silent manufacturer; the vehicle is asked about later', async () => {
    const upstream = await UpstreamServer.start();
    upstream.always('eligibility', silence);
    const gateway = await spawnGateway({ ...ofProvider, ...askingAt(upstream) }, identity);
    const { vin } = await addVehicle(gateway.as(company), newVin());
    await expect.poll(() => upstream.count('eligibility'), { interval: 10 }).toBeGreaterThan(0);
    const start = performance.now();
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - start).toBeLessThan(6_000);
    upstream.always('eligibility', undefined);
    const next = await spawnGateway({ ...ofProvider, ...askingAt(upstream) }, identity);
    const answer = await next.as(company).get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=20' });
    expect(answer).toMatchObject({ status: 200 });
    await upstream.close();
  });

  test('a port in use is reported in a line, with exit code 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const { code, lines } = await refusal({ ...complete, PORT: String(port) });
    taken.close();
    expect(code).toBe(1);
    expect(lines).toMatch(/EADDRINUSE/);
    expect(lines).not.toMatch(/^ +at /m);
  });
});

test.each([
  ['192.0.2.1', 'EADDRNOTAVAIL'],
  ['no-host.invalid', '(?:ENOTFOUND|EAI_AGAIN)'],
])('HOST=%s is reported in a line, with exit code 1', async (HOST, reason) => {
  const { code, lines } = await refusal({ ...complete, HOST });
  expect(code).toBe(1);
  expect(lines).toMatch(new RegExp(`^The gateway cannot listen on HOST=${HOST}, PORT=.*${reason}.*\n`, 'm'));
  expect(lines).not.toMatch(/^ +at /m);
});

describe('missing or invalid settings', () => {
  test('on a server, all required settings are named at once, with exit code 1', async () => {
    const { code, lines } = await refusal({ DATABASE_URL: 'postgresql://127.0.0.1:1/none' });
    expect(code).toBe(1);
    expect(lines).toContain('AUTH_ISSUER: is required');
    expect(lines).toContain('CONTRACTS_AUTH: is required');
  });

  test('invalid and missing values are listed together', async () => {
    const { code, lines } = await refusal({
      DATABASE_URL: 'mysql://x',
      PORT: 'http',
      AUTH_SCOPES: 'maybe',
      HIGH_MOBILITY_URL: 'https://example.com',
    });
    expect(code).toBe(1);
    for (const name of [
      'PORT',
      'DATABASE_URL',
      'AUTH_SCOPES',
      'HIGH_MOBILITY_CLIENT_ID',
      'HIGH_MOBILITY_CLIENT_SECRET',
    ]) {
      expect(lines).toContain(`- ${name}: `);
    }
    expect(lines).not.toMatch(/^ +at /m);
  });

  test('an unreachable database is reported in a line, with exit code 1', async () => {
    const settings = { AUTH_ISSUER: 'https://issuer.example', CONTRACTS_AUTH: 'open' };
    const { code, lines } = await refusal({ ...settings, DATABASE_URL: 'postgresql://me:secret@127.0.0.1:1/fleets' });
    expect(code).toBe(1);
    expect(lines).toMatch(/^Cannot connect to the database at 127\.0\.0\.1:1\/fleets/m);
    expect(lines).not.toContain('secret');
  });
});

describe.runIf(kind === 'embedded')('embedded', () => {
  test('an empty folder suffices: the printed curl line works, and the data is the company demo’s', async () => {
    const DATA_DIR = join(await mkdtemp(join(folder, 'start-')), 'not', 'there', 'yet');
    afterAll(() => rm(DATA_DIR, { recursive: true, force: true }));
    const gateway = await spawnGateway({ DATA_DIR });
    const line = gateway
      .output()
      .split('\n')
      .find((printed) => printed.startsWith('curl '));
    const { stdout } = await sh('sh', ['-c', line ?? '']);
    const fleet: Json = JSON.parse(stdout);
    expect(fleet).toMatchObject({ id: expect.any(String), company: 'demo', vehicleCount: 0 });
    expect((await gateway.as('demo').get('/fleets')).body).toEqual([fleet]);
    expect(gateway.output()).toContain(`${gateway.url}/graphql`);
  });

  test('its tokens work after a restart, and more can be made while it runs', async () => {
    let gateway = await spawnGateway(env);
    const demo = gateway.as('demo');
    const made = await sh('npm', ['run', '--silent', 'token', '--', '--company', 'acme'], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: env.DATA_DIR },
    });
    const acme = { authorization: `Bearer ${made.stdout.trim()}` };
    expect(await gateway.anyone.get('/fleets', acme)).toMatchObject({ status: 200, body: [] });
    await gateway.stop();
    gateway = await spawnGateway(env);
    for (const headers of [demo.headers, acme]) {
      expect(await gateway.anyone.get('/fleets', headers)).toMatchObject({ status: 200 });
    }
  });

  test('a second process on the same DATA_DIR is refused with a clear message and exit code 1', async () => {
    const gateway = await spawnGateway(env);
    const { code, lines } = await refusal(env);
    expect(code).toBe(1);
    expect(lines).toMatch(new RegExp(`^DATA_DIR ${env.DATA_DIR} is in use by another process`, 'm'));
    expect(lines).not.toMatch(/^ +at /m);
    // The first process still serves.
    expect(await createFleet(gateway.as('demo'))).toMatchObject({ company: 'demo' });
  });
});

test('npm start runs what the container runs', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
  const [, command = ''] = /^CMD (.*)$/m.exec(await readFile('Dockerfile', 'utf8')) ?? [];
  expect(scripts.start.split(' && ').at(-1)).toBe(JSON.parse(command).join(' '));
});
