// Kills the gateway with -9 under writes: no acknowledged write is lost.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, inject, test } from 'vitest';
import { difference, writeAll } from '../support/acknowledged-writes.ts';
import { databaseEnv } from '../support/database.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';
import { durable, startServer } from '../support/postgres-server.ts';

const { kind } = inject('database');
const env = await databaseEnv();
const issuer = await testIssuer();
// A separate server, which the test kills.
const server = kind === 'postgresql' ? await startServer(durable) : null;
afterAll(() => server?.stop());
const settings = { ...env, ...(server && { DATABASE_URL: server.url, DATABASE_DIRECT_URL: server.direct }) };
const start = (PORT: string) => spawnGateway({ ...settings, PORT }, kind === 'postgresql' ? { issuer } : {});

test('kill -9 during writes loses no acknowledged write and repeats none', {
  timeout: 180_000,
}, async () => {
  let gateway = await start('0');
  const { url } = gateway;
  const company = kind === 'postgresql' ? 'acme' : 'demo';
  for (const victim of ['gateway', ...(server ? ['server'] : []), 'gateway']) {
    const writing = writeAll({ url, headers: () => gateway.as(company).headers, writes: 200 });
    await delay(200 + Math.random() * 300);
    if (victim === 'server') {
      await server?.end('SIGKILL');
      await server?.start();
    } else {
      await gateway.stop('SIGKILL');
      gateway = await start(new URL(url).port);
    }
    const written = await writing;
    expect(written.faults).toEqual([]);
    expect(written.acknowledged.size).toBe(200);
    const { body: stored } = await gateway.as(company).get('/fleets');
    expect(difference(written, stored)).toEqual({ missing: 0, twice: 0, changed: 0 });
  }
  expect(await gateway.stop()).toBe(0);
});
