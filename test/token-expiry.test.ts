import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Client, type Headed } from './support/client.ts';
import { bearer, startGateway, testIssuer } from './support/gateway.ts';

const issuer = await testIssuer();
const gateway = await startGateway({ issuer });
const sse = { accept: 'text/event-stream' };
const subscribe = (query: string): RequestInit => ({
  method: 'POST',
  headers: { ...sse, 'content-type': 'application/json' },
  body: JSON.stringify({ query }),
});

/** What is told of a stream, and in how many ms it ended; 'open' when it has not after 5 seconds. */
async function followed({ headers }: Client, path: string, init: RequestInit = { headers: sse }) {
  const gone = new AbortController();
  const start = performance.now();
  const response = await fetch(new URL(path, gateway.url), {
    ...init,
    headers: { ...(init.headers as Headed), ...headers },
    signal: gone.signal,
  });
  const text = response.text().catch(() => 'open');
  const told = await Promise.race([text, delay(5_000, 'open')]);
  gone.abort();
  return { status: response.status, told, ms: performance.now() - start };
}

const streams: Record<string, [path: string, init?: RequestInit]> = {
  'GET /events/stream': ['/events/stream'],
  'GET /imports/{id}/events': [`/imports/${randomUUID()}/events`],
  'subscription events': ['/graphql', subscribe('subscription { events { id } }')],
  'subscription eligibilityChanged': ['/graphql', subscribe('subscription { eligibilityChanged { vin } }')],
  'subscription importProgress': [
    '/graphql',
    subscribe(`subscription { importProgress(importId: "${randomUUID()}") { id } }`),
  ],
};

test.concurrent.each(Object.entries(streams))('%s ends with its token, and not before', async (_name, [path, init]) => {
  // Clocks may differ by 5 s: this one is good for 3 more.
  const brief = new Client(gateway.url, bearer(issuer.sign({ exp: Math.floor(Date.now() / 1000) - 2 })));
  const [short, long] = await Promise.all([
    followed(brief, path, init),
    followed(await gateway.as('acme'), path, init),
  ]);
  expect({ status: short.status, told: long.told }).toEqual({ status: 200, told: 'open' });
  expect(short.ms).toBeGreaterThan(1_000);
  expect(short.ms).toBeLessThan(5_000);
  // Not complete: its client comes back, with a new token, or is refused.
  expect(short.told).not.toContain('event: complete');
  expect(await brief.get('/fleets')).toMatchObject({ status: 401 });
});
