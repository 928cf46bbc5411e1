import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
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

/** Opens a stream and collects its text; `ended` resolves at its end. */
async function followed({ headers }: Client, path: string, init: RequestInit = { headers: sse }) {
  const gone = new AbortController();
  const response = await fetch(new URL(path, gateway.url), {
    ...init,
    headers: { ...(init.headers as Headed), ...headers },
    signal: gone.signal,
  });
  const stream = { status: response.status, ended: false, told: '', leave: () => gone.abort() };
  const text = response.text().then((told) => Object.assign(stream, { told, ended: true }));
  text.catch(() => {});
  return { stream, text };
}

const streams: Record<string, [path: string, init?: RequestInit]> = {
  'GET /events/stream': ['/events/stream'],
  'GET /imports/{id}/events': [`/imports/${randomUUID()}/events`],
  'subscription events': ['/graphql', subscribe('subscription { events { id } }')],
  'subscription eligibilityChanged': [
    '/graphql',
    subscribe('subscription { eligibilityChanged { eligibility { vin } } }'),
  ],
  'subscription importProgress': [
    '/graphql',
    subscribe(`subscription { importProgress(importId: "${randomUUID()}") { id } }`),
  ],
};

/** The clock is stopped, so that the lifetime of a token does not depend on request times. */
const now = Math.floor(Date.now() / 1000) * 1000;
vi.useFakeTimers({ toFake: ['Date'], now });
const timers = vi.spyOn(globalThis, 'setTimeout');
afterAll(() => {
  timers.mockRestore();
  vi.useRealTimers();
});
beforeEach(() => void timers.mockClear());

test.each(Object.entries(streams))('%s ends with its token, and not before', async (_name, [path, init]) => {
  // Tokens are accepted 5 s after their expiry, so this token is valid for one more second.
  const exp = now / 1000 - 4;
  const brief = new Client(gateway.url, bearer(issuer.sign({ exp })));
  const [short, long] = await Promise.all([
    followed(brief, path, init),
    followed(await gateway.as('acme'), path, init),
  ]);
  expect(short.stream.status).toBe(200);
  await short.text;
  expect(timers.mock.calls.map(([, ms]) => ms)).toContain(1000);
  // The stream does not complete, so its client reconnects with a new token, or is refused.
  expect(short.stream.told).not.toContain('event: complete');
  vi.setSystemTime(now + 1000);
  expect(await brief.get('/fleets')).toMatchObject({ status: 401 });
  vi.setSystemTime(now);
  expect(long.stream.ended).toBe(false);
  long.stream.leave();
});
