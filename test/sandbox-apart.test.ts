import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inForce } from './support/activations.ts';
import { type DatabaseEnv, databaseEnv } from './support/database.ts';
import { addVehicles, createContract, newVin } from './support/factories.ts';
import { askingAt, identityOf, runGateway, type SpawnedGateway, spawnGateway, testIssuer } from './support/gateway.ts';
import { until } from './support/until.ts';
import { UpstreamServer } from './support/upstream.ts';

// What the sandbox invented and what providers answer are never in one database.

const issuer = await testIssuer();
const [toys, real, fresh] = [await databaseEnv(), await databaseEnv(), await databaseEnv()];
let upstream: UpstreamServer;
beforeAll(async () => {
  upstream = await UpstreamServer.start();
});
afterAll(() => upstream.close());

const start = (env: DatabaseEnv, settings: NodeJS.ProcessEnv = {}) =>
  spawnGateway({ ...env, CONTRACTS_ACTIVATION: 'on', ...settings }, { issuer });
const askedOf = () => upstream.received.filter(({ endpoint }) => endpoint !== 'token').length;

/** A vehicle that a provider has answered about, with a contract that it was told of. */
async function answered(gateway: SpawnedGateway) {
  const client = gateway.as('acme');
  const [vehicle] = await addVehicles(client, [newVin()]);
  await createContract(client, vehicle, inForce);
  expect(await client.get(`/vehicles/eligibility/${vehicle.vin}`, { prefer: 'wait=20' })).toMatchObject({
    body: { status: 'ELIGIBLE' },
  });
  return vehicle;
}

/** The last line of a start that fails. */
async function refusal(env: DatabaseEnv, settings: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { exited, output } = runGateway({ ...identityOf(issuer), ...env, ...settings });
  expect(await exited, output()).toBe(1);
  return output().trim().split('\n').at(-1);
}

async function plan(env: DatabaseEnv, settings: NodeJS.ProcessEnv) {
  const { PATH } = process.env;
  const child = spawn(process.execPath, ['src/commands/activations.ts', '--plan'], {
    env: { PATH, ...identityOf(issuer), ...env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { output, errors: errors.trim(), code };
}

test('a database of the sandbox is refused without the sandbox, until nothing of it is left', async () => {
  const sandbox = await start(toys);
  const vehicle = await answered(sandbox);
  const eventOf = async (gateway: SpawnedGateway, type: string) =>
    (await gateway.as('acme').get(`/events?type=${type}`)).body.length > 0;
  await until(() => eventOf(sandbox, 'contract.activated'));
  await sandbox.stop();

  const sentence =
    /^The (embedded )?database (at|in) \S+ holds what the sandbox invented .* delete those vehicles first\.$/;
  const provider = askingAt(upstream);
  const refused = await refusal(toys, provider);
  expect(refused).toMatch(sentence);
  expect(await refusal(toys, { SANDBOX: 'off' })).toBe(refused);
  expect(await plan(toys, provider)).toEqual({ output: '', errors: refused, code: 2 });
  expect(askedOf()).toBe(0);

  const again = await start(toys);
  const client = again.as('acme');
  expect((await client.get(`/vehicles/${vehicle.id}`)).body.eligibility).toMatchObject({ status: 'ELIGIBLE' });
  await client.delete(`/vehicles/${vehicle.id}`);
  // Its clearance is ended first.
  await until(() => eventOf(again, 'contract.deactivated'));
  await again.stop();
  const after = await start(toys, provider);
  expect((await after.as('acme').get('/providers')).body).toMatchObject([{ name: 'high-mobility' }]);
  await after.stop();
});

test('a database of a provider is refused by the sandbox, and goes on without both', async () => {
  const gateway = await start(real, askingAt(upstream));
  await answered(gateway);
  await gateway.stop();
  const sentence =
    /^The (embedded )?database (at|in) \S+ holds answers of high-mobility, .* or start with SANDBOX=off\.$/;
  const refused = await refusal(real, { SANDBOX: 'on' });
  expect(refused).toMatch(sentence);
  expect(await plan(real, { SANDBOX: 'on' })).toEqual({ output: '', errors: refused, code: 2 });

  const none = await start(real, { SANDBOX: 'off' });
  await none.stop();
});

test('the database of a new installation takes either', async () => {
  const sandbox = await start(fresh);
  await sandbox.stop();
  const gateway = await start(fresh, askingAt(upstream));
  await gateway.stop();
});
