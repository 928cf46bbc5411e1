// What deploy/haproxy.cfg does with a slow client: it waits for a small body as long as the gateway does. Left out without HAProxy.
import { text } from 'node:stream/consumers';
import { describe, expect, inject, test } from 'vitest';
import { databaseEnv } from '../support/database.ts';
import { fleetFields } from '../support/factories.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';
import { hasHaproxy, startHaproxy } from '../support/haproxy.ts';
import { openRaw } from '../support/raw.ts';
import { stagger } from '../support/until.ts';

const PAUSE_MS = 2_000;

describe.skipIf(!hasHaproxy || inject('database').kind === 'embedded')('behind HAProxy', async () => {
  const [env, issuer] = [await databaseEnv(), await testIssuer()];

  test('a client may pause before and in a small body', async () => {
    const gateway = await spawnGateway(env, { issuer });
    const proxy = await startHaproxy({ a: gateway.url, b: gateway.url });
    const body = JSON.stringify(fleetFields);
    const socket = await openRaw(proxy.url);
    socket.write(
      `POST /fleets HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: ${gateway.as('acme').headers.authorization}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`,
    );
    for (const half of [body.slice(0, 20), body.slice(20)]) {
      await stagger(PAUSE_MS);
      socket.write(half);
    }
    expect(await text(socket)).toMatch(/^HTTP\/1.1 201 /);
  });
});
