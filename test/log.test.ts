import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openLog } from '../src/http/observability/open-log.ts';
import { databaseEnv } from './support/database.ts';
import { createFleet, newVin } from './support/factories.ts';
import { spawnGateway, testIssuer } from './support/gateway.ts';

const env = await databaseEnv();
const issuer = await testIssuer();

/** Runs a process that logs lines as the service does, and then ends in this way. */
function runLogging(format: string, lines: number, end: string) {
  const log = new URL('../src/http/observability/open-log.ts', import.meta.url);
  const code = `import { openLog } from '${log}';
    process.stdout; // After this first use, as by console.log, the pipe does not block.
    const log = openLog({ LOG_LEVEL: 'info', LOG_FORMAT: '${format}' });
    for (let line = 0; line < ${lines}; line++) log.info({ line }, 'one of many');
    ${end}`;
  return spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['ignore', 'pipe', 'pipe'] });
}

describe('the log', () => {
  test('has one line per request: id, company, operation, status, ms; no token, no full VIN, no e-mail', async () => {
    const gateway = await spawnGateway({ ...env, LOG_LEVEL: 'info' }, { issuer });
    const acme = gateway.as('acme');
    const vin = newVin();
    const fleet = await createFleet(acme);
    await acme.post('/vehicles', { fleetId: fleet.id, vins: [vin] }, { 'x-request-id': 'mine' });
    await acme.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=5' });
    await acme.get(`/contracts?conditions=${encodeURIComponent(JSON.stringify({ company: fleet.email }))}`);
    await acme.get('/fleets', { authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJhIjoxfQ.x' });
    await gateway.stop();
    const output = gateway.output();
    const lines = output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
    expect(lines).toContainEqual(
      expect.objectContaining({
        requestId: 'mine',
        company: 'acme',
        operation: 'POST /vehicles',
        status: 201,
        ms: expect.any(Number),
        msg: 'request',
      }),
    );
    expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(5);
    expect(output).not.toContain(vin);
    expect(output).not.toContain(fleet.email);
    expect(output).not.toMatch(/eyJ[\w-]+\./);
  });

  test.each(['json', 'pretty'] as const)('quoted values in an error are masked everywhere: %s', async (LOG_FORMAT) => {
    const written = new PassThrough({ encoding: 'utf8' });
    const error = Object.assign(
      new Error('duplicate key\nWDB1234561A123456 of driver@example.com and müller@bücher.de'),
      {
        detail: 'Key (company, vin)=(acme, wdb1234561a123456) Bearer eyJhbGciOiJFUzI1NiJ9.eyJjb21wYW55IjoiYSJ9.c2ln',
      },
    );
    openLog({ LOG_LEVEL: 'info', LOG_FORMAT }, written).error(
      { err: error, requestId: '0198c0de-0000-7000-8000-123456789012' },
      'failed',
    );
    const [line] = await once(written, 'data');
    expect(line).not.toMatch(/WDB1234561A123456|eyJ|@example|müller|bücher/i);
    expect(line).toContain('[VIN]…3456');
    if (LOG_FORMAT === 'pretty') expect(line).toMatch(/ERROR.*failed/);
    else expect(JSON.parse(line)).toMatchObject({ requestId: '0198c0de-0000-7000-8000-123456789012', msg: 'failed' });
  });

  const ends = [
    ['it goes on', 'setTimeout(() => {}, 50)'],
    ['it exits at once', 'process.exit(0)'],
    ['it crashes', 'throw new Error("out of luck")'],
  ] as const;
  const formats = ['json', 'pretty'] as const;
  const cases = ends.flatMap(([name, end]) => formats.map((format) => [name, format, end] as const));
  // Both formats write to the log's own output.
  test.each(cases)('every line of a process is written if %s: %s', async (_, format, end) => {
    const written = (await runLogging(format, 2_000, end).stdout.toArray()).join('').trim().split('\n');
    const numbers = written.map((line) => Number(/"line":(\d+)/.exec(line)?.[1]));
    expect(numbers).toEqual(Array.from({ length: 2_000 }, (_, line) => line));
  });

  test('every line is written to a reader that pauses', async () => {
    const child = runLogging('json', 20_000, 'process.stderr.write("logged"); setTimeout(() => {}, 2_000)');
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stderr, 'data');
    const written = (await child.stdout.toArray()).join('').trim().split('\n');
    expect(written.map((line) => JSON.parse(line).line)).toEqual(Array.from({ length: 20_000 }, (_, line) => line));
  });

  const read = (output: Readable) => output.once('data', () => output.destroy());
  const readers = [
    ['has gone', 'json', read],
    ['has gone', 'pretty', read],
    ['takes nothing', 'json', () => {}],
  ] as const;
  test.each(readers)('a process ends if the reader of its log %s: %s', async (_, format, read) => {
    const child = runLogging(format, 20_000, 'process.exit(3)');
    onTestFinished(() => void child.kill('SIGKILL'));
    read(child.stdout);
    expect(await once(child, 'exit')).toEqual([3, null]);
  });
});
