import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { databaseEnv } from './support/database.ts';
import { newVin } from './support/factories.ts';
import { spawnGateway, startGateway, testIssuer } from './support/gateway.ts';
import { until } from './support/until.ts';

const PATH = '/providers/high-mobility/events';
const SECRET = 'a secret of High Mobility’s page';
const signatureOf = (body: string) => `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`;
let sent = 0;
const newEvent = () => JSON.stringify({ event: { id: ++sent }, vin: newVin() });
const deliver = (url: string, body: string, headers: Record<string, string> = {}) =>
  fetch(url + PATH, { method: 'POST', body, headers: { 'x-hm-signature-256': signatureOf(body), ...headers } });

/** News of a provider that one installation of several passes on; the embedded database has one. */
describe.skipIf(inject('database').kind === 'embedded')('news of a provider', async () => {
  const received: { body: string; headers: IncomingHttpHeaders }[] = [];
  let answers = true;
  const other = createServer(async (req, res) => {
    received.push({ body: String(await buffer(req)), headers: req.headers });
    if (answers) res.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  afterAll(() => other.closeAllConnections());
  const { port } = other.address() as AddressInfo;
  const issuer = await testIssuer();
  const settings = {
    INSTALLATION: 'a',
    INSTALLATIONS: `a=https://a.example.com,b=http://127.0.0.1:${port}`,
    HIGH_MOBILITY_WEBHOOK_SECRET: SECRET,
    CONTRACTS_AUTH: 'required',
  };
  const started = (installation: string) =>
    startGateway({
      issuer,
      settings: { ...settings, INSTALLATION: installation, DATABASE_URL: 'postgresql://ignored' },
    });
  const passedOn = (body: string) => received.filter((one) => one.body === body);

  test('is passed on once, also if the process is killed before it is', async () => {
    const env = { ...(await databaseEnv()), ...settings };
    const killed = await spawnGateway(env, { issuer });
    const event = newEvent();
    answers = false;
    const unanswered = deliver(killed.url, event).catch(() => null);
    await until(() => passedOn(event).length === 1);
    await killed.stop('SIGKILL');
    await unanswered;
    answers = true;

    const next = await spawnGateway(env, { issuer });
    for (let times = 0; times < 3; times++) expect((await deliver(next.url, event)).status).toBe(204);
    expect(passedOn(event)).toHaveLength(2);
  });

  test('is taken from another installation however much it passes on, and from nobody who says to be one', async () => {
    const [first, second] = [await started('a'), await started('b')];
    const event = newEvent();
    expect((await deliver(first.url, event)).status).toBe(204);
    const [{ headers = {} } = {}] = passedOn(event);
    const mark = { 'x-forwarded-installation': String(headers['x-forwarded-installation']) };
    const statusesOf = async (url: string, body: string, marked: Record<string, string>) => {
      const found = new Map<number, number>();
      // The minute of the clock may change meanwhile.
      for (let left = 1300; left > 0 && !found.has(429); left -= 20)
        for (const { status } of await Promise.all(Array.from({ length: 20 }, () => deliver(url, body, marked))))
          found.set(status, (found.get(status) ?? 0) + 1);
      return [...found.keys()].sort();
    };
    expect(await statusesOf(second.url, event, mark)).toEqual([204]);
    // What has been passed on is not passed on again, and the mark of one delivery is that of no other.
    expect(passedOn(event)).toHaveLength(1);
    expect(await statusesOf(second.url, newEvent(), mark)).toEqual([204, 429]);
  });
});
