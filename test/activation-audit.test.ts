import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { connectDatabase } from '../src/database/open-database.ts';
import { HOUR, inForce, MINUTE } from './support/activations.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { addVehicles, createContract, newVin, newVins } from './support/factories.ts';
import { askingAt, identityOf, spawnGateway, testIssuer } from './support/gateway.ts';
import { until } from './support/until.ts';
import { json, UpstreamServer } from './support/upstream.ts';

const HEADER = 'provider,vin,brand,program,status,state';
const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());
upstream.endsAfterMs = 1;
const issuer = await testIssuer();
const env = {
  ...(await databaseEnv()),
  ...askingAt(upstream),
  MERCEDES_URL: upstream.url,
  MERCEDES_TOKEN_URL: upstream.tokenUrl,
  MERCEDES_CLIENT_ID: 'client',
  MERCEDES_CLIENT_SECRET: 'secret',
  MERCEDES_PACKS: 'driving-log:1001',
  CONTRACTS_ACTIVATION: 'on',
};
const start = () => spawnGateway({ ...env, LOG_LEVEL: 'info' }, { issuer });

async function command(args: string[], settings: NodeJS.ProcessEnv = {}) {
  const { PATH } = process.env;
  const child = spawn(process.execPath, ['src/commands/activations.ts', ...args], {
    env: { PATH, ...identityOf(issuer), ...env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, errors, rows: output.trimEnd().split('\n') };
}

/** Clearances of which the gateway has never heard. */
async function clear(vins: readonly string[]) {
  upstream.tokens.add('of another client');
  const answer = await fetch(`${upstream.url}/v1/fleets/vehicles`, {
    method: 'POST',
    headers: { authorization: 'Bearer of another client', 'content-type': 'application/json' },
    body: JSON.stringify({ vehicles: vins.map((vin) => ({ vin, brand: 'bmw' })) }),
  });
  expect(answer.status).toBe(200);
}

function serve(vin: string, service: string, status: 'ACTIVE' | 'ACTIVATION_PENDING' | 'INACTIVE' = 'ACTIVE') {
  upstream.account.add(vin);
  upstream.services.set(`${vin} ${service}`, { status, orderTime: Date.now(), next: null, log: [] });
}

const statusOf = (vin: string) => upstream.clearanceOf(vin)?.status;
const from = (ms: number) => ({ from: new Date(Date.now() + ms).toISOString(), to: inForce.to });

const [soon = '', later = '', never = '', decided = ''] = newVins(4).sort();
const [own = '', stranger = '', ended = ''] = newVins(3, undefined, 'W1K').sort();

test('what is active at manufacturers, and no contract needs, is found by the start and listed', async () => {
  upstream.decide = (vin) => ({ status: vin === decided ? 'rejected' : 'approved', afterMs: 0 });
  await clear([soon, later, never, decided]);
  serve(own, '2001');
  serve(stranger, '1001', 'ACTIVATION_PENDING');
  serve(ended, '1001', 'INACTIVE');

  const first = await start();
  await until(() => first.output().includes('nobody here needs'));
  const client = first.as('acme');
  const [bmw, mercedes, ofSoon, ofLater] = await addVehicles(client, [newVin(), own, soon, later]);
  for (const vehicle of [bmw, mercedes]) await createContract(client, vehicle, inForce);
  await createContract(client, ofSoon, from(30 * MINUTE));
  await createContract(client, ofLater, from(2 * HOUR));
  await until(() => statusOf(bmw.vin) === 'approved' && upstream.serviceOf(own, '1001')?.status === 'ACTIVE');
  await first.stop();

  const { code, errors, rows } = await command(['--audit']);
  expect(rows).toEqual([
    HEADER,
    ...[later, never].sort().map((vin) => `high-mobility,${vin},bmw,,approved,`),
    ...[`${own},mercedes-benz,2001,ACTIVE,`, `${stranger},mercedes-benz,1001,ACTIVATION_PENDING,`]
      .sort()
      .map((row) => `connect-your-fleet,${row}`),
  ]);
  expect(errors).toContain('high-mobility: of 4 programs, no contract needs 2.');
  expect(errors).toContain('connect-your-fleet: of 3 programs, no contract needs 2.');
  expect(code).toBe(0);
  expect(upstream.faults).toEqual([]);

  // A start within a day does not ask about each vehicle again; a later one finds the same, ends nothing, and counts it.
  const before = upstream.count('vehicle-list');
  const second = await start();
  await until(() => second.output().includes('compared once a day'));
  await second.stop();
  expect(upstream.count('vehicle-list')).toBe(before);
  const database = await connectDatabase(databaseConfig(env));
  await database.send(
    `update idempotency_key set created_at = created_at - interval '25 hours' where key like 'compared %'`,
    [],
  );
  await database.close();
  const third = await start();
  const metrics = async () => (await fetch(`${third.url}/metrics`)).text();
  await until(async () => /activations_found\{provider="high-mobility"\} 2/.test(await metrics()));
  await until(async () => /activations_found\{provider="connect-your-fleet"\} 2/.test(await metrics()));
  await third.stop();
  expect(upstream.count('clearance-end')).toBe(0);
  expect([statusOf(never), upstream.serviceOf(stranger, '1001')?.status]).toEqual(['approved', 'ACTIVATION_PENDING']);
});

test('what is found is ended like any end, and nothing else', async () => {
  for (const [settings, words] of [
    [{ CONTRACTS_ACTIVATION: 'off' }, 'CONTRACTS_ACTIVATION is off'],
    [{ INSTALLATION: 'a', INSTALLATIONS: 'a=http://a.example.com' }, 'other installations'],
  ] as const) {
    const refused = await command(['--audit', '--end'], { DATABASE_URL: env.DATABASE_URL, ...settings });
    expect([refused.code, refused.rows]).toEqual([2, ['']]);
    if (env.DATABASE_URL || settings.CONTRACTS_ACTIVATION) expect(refused.errors).toContain(words);
  }
  const { code, errors, rows } = await command(['--audit', '--end']);
  expect([code, rows.length], errors).toEqual([0, 5]);
  // Again: rows that wait are no more rows.
  expect((await command(['--audit', '--end'])).rows).toContain(`high-mobility,${never},bmw,,approved,ACTIVE`);

  const gateway = await start();
  await until(() => statusOf(never) === 'revoked' && statusOf(later) === 'revoked');
  await until(() => upstream.serviceOf(stranger, '1001')?.status === 'INACTIVE');
  await until(() => upstream.serviceOf(own, '2001')?.status === 'INACTIVE');
  expect([statusOf(soon), upstream.serviceOf(own, '1001')?.status]).toEqual(['approved', 'ACTIVE']);
  await gateway.stop();
  expect((await command(['--audit'])).rows).toEqual([HEADER]);
  expect(upstream.faults).toEqual([]);
});

test('a list that cannot be read ends the comparison with that provider, and says so', async () => {
  await clear([newVin()]);
  const noPermission = { type: '/vehicles/services/no-permission', statusCode: 400, services: ['1001'] };
  for (const [endpoint, refuses] of [
    ['vehicle-list', json(403, {})],
    ['service-status', json(400, noPermission)],
  ] as const) {
    upstream.always(endpoint, refuses);
    const { code, errors, rows } = await command(['--audit']);
    expect(code).toBe(2);
    expect(errors).toContain('connect-your-fleet: the list broke off after 0 programs.');
    expect(errors).toContain('credentials');
    // The other provider is compared all the same.
    expect(rows).toHaveLength(2);
    upstream.always(endpoint, undefined);
  }
  // A refusal of single vehicles concerns no other.
  upstream.always('service-status', json(403, { type: '/vehicle/blacklist', statusCode: 403, vins: [own] }));
  expect(await command(['--audit'])).toMatchObject({ code: 0, rows: { length: 2 } });
  upstream.always('service-status', undefined);
  upstream.always('clearance-list', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(`[{"vin":"${never}","brand":"bmw","sta`);
  });
  expect((await command(['--audit'])).errors).toContain('high-mobility: the list broke off');
});

test('thousands of clearances are compared page by page', async () => {
  upstream.always('vehicle-list', undefined);
  const vins = newVins(5000);
  const clearanceOf = (vin: string) =>
    JSON.stringify({ vin, brand: 'bmw', status: 'approved', tags: { a: '[{",\\' }, changelog: [] });
  upstream.always('clearance-list', (response) => {
    const whole = `[ ${vins.map(clearanceOf).join(' , ')} ]`;
    response.writeHead(200, { 'content-type': 'application/json' });
    for (let at = 0; at < whole.length; at += 10_007) response.write(whole.slice(at, at + 10_007));
    response.end();
  });
  const { code, rows } = await command(['--audit']);
  expect(code).toBe(0);
  expect(new Set(rows.slice(1).map((row) => row.split(',')[1]))).toEqual(new Set(vins));
});

test('the sandbox has nothing to compare', async () => {
  const none = { HIGH_MOBILITY_URL: '', MERCEDES_URL: '', SANDBOX: 'on' };
  expect(await command(['--end'], none)).toMatchObject({ code: 2, errors: expect.stringContaining('--audit') });
});
