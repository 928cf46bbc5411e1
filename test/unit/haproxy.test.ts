import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mapCompany } from '../../src/core/moves/proxy-map.ts';
import { haproxyProgram, writeHaproxyConfig } from '../support/haproxy-config.ts';
import { runProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

// How deploy/haproxy.cfg chooses an installation; test/slow/moves.test.ts has the rest, with gateways.

const folder = await mkdtemp(join(tmpdir(), 'haproxy-'));
afterAll(() => rm(folder, { recursive: true }));

/** Says which installation it is of. */
async function installation(name: string) {
  const server = createServer((_req, res) => void res.end(name));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  afterAll(() => void server.close());
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** What a suite does outside its tests is done even where it is left out. */
async function startHaproxy() {
  const [a, b] = [await installation('a'), await installation('b')];
  const { command, ...proxy } = await writeHaproxyConfig(folder, { a: a.url, b: b.url }, ['acme%20corp']);
  await runProgram({ name: 'HAProxy', command, isUp: async () => (await fetch(`${proxy.url}/readyz`)).ok });
  return { b, ...proxy };
}

describe.skipIf(!existsSync(haproxyProgram))('a request', () => {
  let proxy: Awaited<ReturnType<typeof startHaproxy>>;
  beforeAll(async () => {
    proxy = await startHaproxy();
  });
  const conditions = `conditions=${encodeURIComponent('{"company":"acme corp"}')}`;
  const asked = async (path: string, method = 'GET') => (await fetch(`${proxy.url}${path}`, { method })).text();
  const base64 = (text: string) => Buffer.from(text).toString('base64url');
  /** Of a token with this payload. */
  const sent = async (payload: string) => {
    const authorization = `Bearer ${base64('{"alg":"RS256"}')}.${base64(payload)}.${base64('signature')}`;
    return (await fetch(`${proxy.url}/fleets`, { headers: { authorization } })).text();
  };

  test('without a token finds the installation of the company in its conditions', async () => {
    expect(await asked(`/contracts?${conditions}`)).toBe('b');
    expect(await asked(`/contracts?limit=1&${conditions}`, 'POST')).toBe('b');
    expect(await asked(`/contracts/0198c0de-0000-7000-8000-000000000001?${conditions}`, 'DELETE')).toBe('b');
    expect(await asked('/contracts')).toBe('a');
    expect(await asked(`/contracts?conditions=${encodeURIComponent('{"company":"other"}')}`)).toBe('a');
  });

  test('with a token finds the installation of its company, however the issuer writes it', async () => {
    expect(await sent('{"company":"acme corp"}')).toBe('b');
    expect(await sent('{"company":"acme"}')).toBe('a');
    for (const company of ['Müller', '中文', `a:b%41/../"c"#;<<`])
      await mapCompany({ file: proxy.map, sockets: [proxy.socket] }, company, 'b');
    expect(await sent('{"company":"Müller"}')).toBe('b');
    expect(await sent(String.raw`{"company":"M\u00fcller"}`)).toBe('b');
    expect(await sent(String.raw`{"company":"M\u00FCller"}`)).toBe('b');
    expect(await sent('{"company":"中文"}')).toBe('b');
    expect(await sent('{"company":"-\\u0087"}')).toBe('a');
    expect(await sent(JSON.stringify({ company: `a:b%41/../"c"#;<<` }))).toBe('b');
  });

  test('to an installation that does not answer is to be tried again', async () => {
    proxy.b.server.close();
    proxy.b.server.closeAllConnections();
    const answer = await until(async () => {
      // HAProxy closes a connection after an error.
      const response = await fetch(`${proxy.url}/contracts?${conditions}`).catch(() => null);
      return response?.status === 503 && response;
    });
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('retry-after')).toBe('1');
    const requestId = answer.headers.get('x-request-id');
    expect(await answer.json()).toMatchObject({ status: 503, code: 'UNAVAILABLE', requestId });
    await until(() =>
      asked('/contracts')
        .then((name) => name === 'a')
        .catch(() => false),
    );
  });
});
