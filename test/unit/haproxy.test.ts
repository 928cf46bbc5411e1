import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { haproxyProgram, writeHaproxyConfig } from '../support/haproxy-config.ts';
import { runProgram } from '../support/program.ts';

// What deploy/haproxy.cfg reads of a request without a token; test/slow/moves.test.ts has the rest, with gateways.

const folder = await mkdtemp(join(tmpdir(), 'haproxy-'));
afterAll(() => rm(folder, { recursive: true }));

/** Says which installation it is of. */
async function installation(name: string): Promise<string> {
  const server = createServer((_req, res) => void res.end(name));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  afterAll(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.skipIf(!existsSync(haproxyProgram))(
  'without a token, a request finds the installation of the company in its conditions',
  async () => {
    const gateways = { a: await installation('a'), b: await installation('b') };
    const { url, command } = await writeHaproxyConfig(folder, gateways, ['acme%20corp']);
    await runProgram({ name: 'HAProxy', command, isUp: async () => (await fetch(`${url}/readyz`)).ok });
    const conditions = `conditions=${encodeURIComponent('{"company":"acme corp"}')}`;
    const asked = async (path: string, method = 'GET') => (await fetch(`${url}${path}`, { method })).text();
    expect(await asked(`/contracts?${conditions}`)).toBe('b');
    expect(await asked(`/contracts?limit=1&${conditions}`, 'POST')).toBe('b');
    expect(await asked(`/contracts/0198c0de-0000-7000-8000-000000000001?${conditions}`, 'DELETE')).toBe('b');
    expect(await asked('/contracts')).toBe('a');
    expect(await asked(`/contracts?conditions=${encodeURIComponent('{"company":"other"}')}`)).toBe('a');
  },
);
