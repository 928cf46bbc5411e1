// All commands of the project; imports are interrupted by Ctrl-C.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { createFleet, newVin, newVins, unknownId } from '../support/factories.ts';
import { startGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const issuer = await testIssuer();
const gateway = await startGateway({ issuer });
const client = await gateway.as('acme');
const token = client.headers.authorization?.slice('Bearer '.length) ?? '';
const folder = mkdtempSync(join(inject('database').folder, 'commands-'));

/** Runs a command as npm does, by default against the gateway's URL. */
async function run(command: 'import' | 'demo' | 'token' | 'migrate', args: string[], env: NodeJS.ProcessEnv = {}) {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [`src/commands/${command}.ts`, ...args], {
    env: { PATH, FLEET_GATEWAY_URL: gateway.url, FLEET_GATEWAY_TOKEN: token, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, output, errors };
}

function fileOf(name: string, lines: string[]): string {
  const path = join(folder, name);
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

test.each(['token', 'demo', 'import', 'migrate'] as const)(
  'npm run %s -- --help says how it is used',
  async (command) => {
    const { code, output, errors } = await run(command, ['--help']);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).toContain(`npm run ${command === 'token' ? '-s token' : command} `);
  },
);

test.each(['token', 'demo', 'import'] as const)('npm run %s names unknown options', async (command) => {
  const { code, output, errors } = await run(command, ['--flet', 'x']);
  expect(code).toBe(command === 'import' ? 2 : 1);
  expect(output).toBe('');
  expect(errors).toMatch(/Unknown option '--flet'[\s\S]*Usage: npm run/);
});

test('a page that answers in place of the gateway is called so', async () => {
  const server = createServer((_, answer) => answer.end('<!doctype html>')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await run('demo', ['--url', url])).toEqual({
    code: 1,
    output: '',
    errors: `No gateway answers at ${url}: see that the address is the gateway's own.\n`,
  });
});

test('commands find the gateway by its settings', async () => {
  const { port } = new URL(gateway.url);
  const { code, output } = await run('demo', [], { FLEET_GATEWAY_URL: '', PORT: port });
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('contracts created') });
});

describe('npm run import', () => {
  test('takes the name of the column, which the error about several asks for', async () => {
    const fleet = await createFleet(client);
    const [own, other] = newVins(2);
    const args = ['--fleet', fleet.id, '--file', fileOf('two.csv', ['old,new', `${other},${own}`])];
    expect((await run('import', args)).errors).toContain('Several columns of the file hold VINs: "old", "new".');
    const { code, output } = await run('import', [...args, '--column', 'New']);
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('1 created') });
    const { body } = await client.get(`/fleets/${fleet.id}/vehicles`);
    expect(body).toMatchObject([{ vin: own }]);
  });

  test('exits 0 if every row was accepted, new or known', async () => {
    const fleet = await createFleet(client);
    const file = fileOf('gute Fahrzeuge – März.csv', ['vin', ...newVins(20)]);
    const first = await run('import', ['--fleet', fleet.id, '--file', file]);
    expect(first).toMatchObject({ code: 0, output: expect.stringContaining('20 created, 0 existing, 0 rejected') });
    expect(first.output).toContain(`"${fleet.name}"`);
    const again = await run('import', ['--fleet', fleet.id, '--file', file]);
    expect(again).toMatchObject({ code: 0, output: expect.stringContaining('0 created, 20 existing, 0 rejected') });
    expect(existsSync(join(folder, 'gute Fahrzeuge – März.rejected.csv'))).toBe(false);
    const names = await gateway.execute(`select file_name as name from import where fleet_id = '${fleet.id}'`);
    expect(names).toEqual(Array(2).fill({ name: 'gute Fahrzeuge – März.csv' }));
  });

  test('Ctrl-C stores nothing, and the command says how to continue', async () => {
    const fleet = await createFleet(client);
    const file = fileOf('stopped.csv', ['vin', ...newVins(1_500_000)]);
    const { PATH } = process.env;
    const args = ['src/commands/import.ts', '--fleet', fleet.id, '--file', file];
    const env = { PATH, FLEET_GATEWAY_URL: gateway.url, FLEET_GATEWAY_TOKEN: token };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = text(child.stdout);
    const imports = async () =>
      (await gateway.execute<{ received: number }>(`select received from import where fleet_id = '${fleet.id}'`))[0];
    await until(async () => ((await imports())?.received ?? 0) > 0);
    child.kill('SIGINT');
    const [code] = await once(child, 'close');
    expect({ code, output: await output }).toEqual({
      code: 130,
      output: expect.stringContaining(
        'Nothing was stored: the fleet is as it was. To import the file, repeat the command.',
      ),
    });
    expect((await client.get(`/fleets/${fleet.id}`)).body).toMatchObject({ vehicleCount: 0 });
  });

  test('exits 1 if rows were refused, and writes them to a file for correction', async () => {
    const fleet = await createFleet(client);
    const file = fileOf('mixed.csv', ['Plate;VIN', `A;${newVin()}`, 'B;WBA', `C;${newVin()}`]);
    const { code, output } = await run('import', ['--fleet', fleet.id, '--file', file]);
    expect(code).toBe(1);
    expect(output).toContain('2 created, 0 existing, 1 rejected');
    const report = readFileSync(join(folder, 'mixed.rejected.csv'), 'utf8');
    expect(report).toMatch(/^\uFEFFPlate;VIN;error_code;error_message\r?\nB;WBA;VIN_INVALID_LENGTH;/);
    writeFileSync(join(folder, 'mixed.rejected.csv'), report.replace('B;WBA;', `B;${newVin()};`));
    const mended = await run('import', ['--fleet', fleet.id, '--file', join(folder, 'mixed.rejected.csv')]);
    expect(mended).toMatchObject({ code: 0, output: expect.stringContaining('1 created') });
  });

  test('exits 1 if every row was refused', async () => {
    const fleet = await createFleet(client);
    const { code } = await run('import', ['--fleet', fleet.id, '--file', fileOf('bad.csv', ['vin', 'X', 'Y'])]);
    expect(code).toBe(1);
    expect(readFileSync(join(folder, 'bad.rejected.csv'), 'utf8').trim().split('\n')).toHaveLength(3);
  });

  test('exits 2 with the reason in a line: no such fleet, no such file, a folder, a pipe, no CSV, no token, no gateway', async () => {
    const fleet = await createFleet(client);
    const file = fileOf('one.csv', ['vin', newVin()]);
    const picture = fileOf('picture.csv', ['\x89PNG\r\n\x1a\n\0\0\0\0']);
    const cases: [string[], NodeJS.ProcessEnv, RegExp][] = [
      [['--fleet', unknownId, '--file', file], {}, /FLEET_NOT_FOUND/],
      [['--fleet', fleet.id, '--file', join(folder, 'none.csv')], {}, /ENOENT/],
      [['--fleet', fleet.id, '--file', folder], {}, /^\S+ is no file: the import needs one, .*\n$/],
      [['--fleet', fleet.id, '--file', '-'], {}, /^- is no file/],
      [['--fleet', fleet.id, '--file', '/dev/stdin'], {}, /^\/dev\/stdin is no file/],
      [['--fleet', fleet.id, '--file', picture], {}, /UNSUPPORTED_MEDIA_TYPE/],
      [['--fleet', fleet.id, '--file', file, '--token', 'x'], {}, /UNAUTHENTICATED/],
      [['--fleet', fleet.id, '--file', file, '--url', 'http://127.0.0.1:9'], {}, /No answer from/],
      [['--fleet', fleet.id, '--file', file], { FLEET_GATEWAY_TOKEN: '', AUTH_ISSUER: 'http://x' }, /--token/],
      [['--file', file], {}, /Usage: npm run import/],
    ];
    for (const [args, env, reason] of cases) {
      const { code, errors } = await run('import', args, env);
      expect({ args, code, errors }).toMatchObject({ code: 2, errors: expect.stringMatching(reason) });
      expect(errors).not.toMatch(/^ +at /m);
    }
  });

  test('an upload whose connection breaks is retried, and each row is stored once', async () => {
    const fleet = await createFleet(client);
    const file = fileOf('broken.csv', ['vin', ...newVins(2_000)]);
    let broken = 0;
    const url = await startProxy((incoming) => {
      if (incoming.method !== 'POST' || broken === 1) return true;
      broken += 1;
      incoming.once('data', () => incoming.destroy());
      return false;
    });
    const { code, output, errors } = await run('import', ['--fleet', fleet.id, '--file', file, '--url', url]);
    expect({ code, errors }).toMatchObject({ code: 0, errors: expect.stringContaining('Trying again.') });
    expect(output).toContain('2000 created, 0 existing, 0 rejected');
  });

  test('a lost response does no harm: the command finds the completed import', async () => {
    const fleet = await createFleet(client);
    const file = fileOf('lost.csv', ['vin', ...newVins(10)]);
    let lost = 0;
    const url = await startProxy((incoming) => incoming.method !== 'POST' || ++lost > 1, { dropAnswers: true });
    const { code, output } = await run('import', ['--fleet', fleet.id, '--file', file, '--url', url]);
    expect({ code, lost }).toEqual({ code: 0, lost: 2 });
    expect(output).toContain('10 created, 0 existing, 0 rejected');
    expect((await client.get(`/fleets/${fleet.id}`)).body).toMatchObject({ vehicleCount: 10 });
  });
});

/** A proxy to the gateway that cuts requests unless `passes`, before they arrive or (`dropAnswers`) after. */
async function startProxy(passes: (incoming: IncomingMessage) => boolean, { dropAnswers = false } = {}) {
  const forward = (incoming: IncomingMessage, answer: ServerResponse, drop: boolean) => {
    const { method, headers } = incoming;
    const onward = request(new URL(incoming.url ?? '/', gateway.url), { method, headers }, (given) => {
      if (drop) return void given.resume().on('end', () => answer.destroy());
      answer.writeHead(given.statusCode ?? 502, given.headers);
      given.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    incoming.pipe(onward);
  };
  const server = createServer((incoming, answer) => {
    const through = passes(incoming);
    if (through || dropAnswers) forward(incoming, answer, !through);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('npm run demo', () => {
  test('makes fleets, vehicles of many brands and contracts, once', async () => {
    const demo = await gateway.as('demo');
    const env = { FLEET_GATEWAY_TOKEN: demo.headers.authorization?.slice('Bearer '.length) };
    const first = await run('demo', [], env);
    expect(first).toMatchObject({ code: 0, output: expect.stringContaining(`${gateway.url}/graphql`) });
    const query = first.output.match(/^ {2}(\{.*\})$/m)?.[1];
    const { body } = await demo.post('/graphql', { query });
    const fleets = body.data.fleets.nodes;
    expect(fleets).toHaveLength(4);
    expect(fleets.every((fleet: { vehicleCount: number }) => fleet.vehicleCount > 0)).toBe(true);
    expect(
      fleets.some((fleet: { eligibilitySummary: { unsupported: number } }) => fleet.eligibilitySummary.unsupported > 0),
    ).toBe(true);
    const again = await run('demo', [], env);
    expect(again.output.match(/ 0 vehicles created, .* 0 contracts created/g)).toHaveLength(4);
    const contracts = await demo.get(`/contracts?conditions=${encodeURIComponent('{"company":"demo"}')}`);
    const [one] = contracts.body;
    await demo.delete('/vehicles', { fleetId: one.fleetId, vins: [one.vin] });
    expect((await run('demo', [], env)).output).toMatch(/ 1 vehicle created, .* 1 contract created$/m);
    const statuses = new Set(contracts.body.map(({ status }: { status: string }) => status));
    expect(statuses).toEqual(new Set(['ACTIVE', 'ENDED', 'SCHEDULED']));
  });
});
