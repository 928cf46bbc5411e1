import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { inForce } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { databaseEnv } from './support/database.ts';
import { addVehicles, createContract, newVin, newVins } from './support/factories.ts';
import { identityOf, spawnGateway, testIssuer } from './support/gateway.ts';
import { until } from './support/until.ts';

const issuer = await testIssuer();
const env = await databaseEnv();
const start = (CONTRACTS_ACTIVATION: 'on' | 'off') =>
  spawnGateway({ ...env, CONTRACTS_ACTIVATION, LOG_LEVEL: 'info' }, { issuer });

async function plan(settings: NodeJS.ProcessEnv, args = ['--plan']) {
  const { PATH } = process.env;
  const child = spawn(process.execPath, ['src/commands/activations.ts', ...args], {
    env: { PATH, ...identityOf(issuer), ...env, SANDBOX: 'on', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, output, errors };
}

test('the plan and the start say what is carried out, and what stays active', async () => {
  const before = await start('off');
  const client = before.as('acme');
  const vehicles = await addVehicles(client, [...newVins(3), newVin(0, 'ZFF')]);
  const contracts: Json[] = [];
  for (const vehicle of vehicles) contracts.push(await createContract(client, vehicle, inForce));
  await createContract(client, vehicles[0], { pack: 'later' });
  expect((await client.get(`/contracts/${contracts[0].id}`)).body.activation.state).toBe('OFF');
  expect(before.output()).not.toContain('What stays');
  await before.stop();

  // It asks nothing and changes nothing, whatever the setting.
  for (const setting of ['off', 'on', 'off']) {
    const { code, output, errors } = await plan({ CONTRACTS_ACTIVATION: setting });
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).toContain(`CONTRACTS_ACTIVATION is ${setting}, on `);
    expect(output).toContain('3 of pack driving-log for 3 vehicles of bmw: sandbox is asked for a clearance');
    expect(output).toContain('1 of pack driving-log for 1 vehicle of ferrari: nobody is asked');
    expect(output).not.toContain('asked for:');
  }
  expect(await plan({}, [])).toMatchObject({ code: 2, errors: expect.stringContaining('npm run activations') });

  const carrying = await start('on');
  await until(async () => {
    const states = await Promise.all(
      contracts.map(async ({ id }) => (await carrying.as('acme').get(`/contracts/${id}`)).body.activation.state),
    );
    return states.join() === 'ACTIVE,ACTIVE,ACTIVE,UNSUPPORTED';
  });
  expect(carrying.output()).toContain(
    'CONTRACTS_ACTIVATION is on. Carried out at manufacturers now: 3 contracts in force.',
  );
  expect(carrying.output()).toContain('3 of pack driving-log for 3 vehicles of bmw: sandbox is asked for a clearance');
  await carrying.stop();
  const { output } = await plan({ CONTRACTS_ACTIVATION: 'on' });
  expect(output).toContain('sandbox: 3 ACTIVE, 0 of them due');

  const after = await start('off');
  await until(() =>
    after.output().includes('CONTRACTS_ACTIVATION is off: nothing is asked or ended. What stays: 3 programs ACTIVE.'),
  );
  await after.stop();
});
