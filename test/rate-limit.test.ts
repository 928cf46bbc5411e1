import { afterAll, describe, expect, test, vi } from 'vitest';
import type { Answer } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const limited = await startGateway({ on: gateway, settings: { RATE_LIMIT_PER_MINUTE: '3' } });
const twins = [
  await startGateway({ on: gateway, settings: { RATE_LIMIT_PER_MINUTE: '20' } }),
  await startGateway({ on: gateway, settings: { RATE_LIMIT_PER_MINUTE: '20' } }),
] as const;
const RESPONSE = 'application/graphql-response+json';

// Limits apply per minute of the clock, which is stopped so that no test ends in another minute.
vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
afterAll(() => void vi.useRealTimers());

const leftIn = ({ headers }: Answer) => Number(/"company";r=(\d+);t=\d+$/.exec(headers.get('ratelimit') ?? '')?.[1]);

describe('RATE_LIMIT_PER_MINUTE', () => {
  test('applies to each company, with the time to retry', async () => {
    const globex = await limited.as('globex');
    for (const left of [2, 1, 0]) {
      const answer = await globex.get('/manufacturers');
      expect(answer).toMatchObject({ status: 200 });
      expect(leftIn(answer)).toBe(left);
      expect(answer.headers.get('ratelimit-policy')).toBe('"company";q=3;w=60');
    }
    const { status, headers, body } = await globex.get('/manufacturers');
    expect({ status, code: body.code }).toEqual({ status: 429, code: 'RATE_LIMITED' });
    expect(headers.get('ratelimit')).toBe(`"company";r=0;t=${headers.get('retry-after')}`);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(await (await limited.as('initech')).get('/manufacturers')).toMatchObject({ status: 200 });
    expect(await limited.anyone.get('/livez')).toMatchObject({ status: 200 });
  });

  test('applies to each address if no token is needed', async () => {
    const path = `/contracts?conditions=${encodeURIComponent('{"company":"acme"}')}`;
    const statuses = [];
    for (let use = 0; use < 4; use++) statuses.push((await limited.anyone.get(path)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await (await limited.as('hooli')).get(path.replace('acme', 'hooli'))).toMatchObject({ status: 200 });
  });

  test('behind a proxy of TRUST_PROXY each client has its own limit, and cannot choose another’s', async () => {
    const proxied = await startGateway({
      on: gateway,
      settings: { RATE_LIMIT_PER_MINUTE: '2', TRUST_PROXY: 'loopback, 10.0.0.0/8' },
    });
    const path = `/contracts?conditions=${encodeURIComponent('{"company":"acme"}')}`;
    const from = async ({ url }: { url: string }, forwarded: string) =>
      (await fetch(url + path, { headers: { 'x-forwarded-for': forwarded } })).status;
    const thrice = async (address: string) => [
      await from(proxied, address),
      await from(proxied, address),
      await from(proxied, address),
    ];
    const addresses = ['203.0.113.1', '203.0.113.2', '2001:db8:1:1::1'];
    expect(await Promise.all(addresses.map(thrice))).toEqual(addresses.map(() => [200, 200, 429]));
    // The client's own X-Forwarded-For entries precede those of its proxy.
    const chosen = ['198.51.100.7, 203.0.113.1', '203.0.113.1, 10.1.2.3'];
    // An IPv6 client may choose any address of its network; an IPv4 address may be written as IPv6.
    const alike = ['2001:db8:1:1:ffff::9', '::ffff:203.0.113.1'];
    const again = [...chosen, ...alike].map((address) => from(proxied, address));
    expect(await Promise.all(again)).toEqual(again.map(() => 429));
    expect(await from(proxied, '2001:db8:1:2::1')).toBe(200);
    // Without TRUST_PROXY, X-Forwarded-For does not change the counted address.
    const direct = await startGateway({ on: gateway, settings: { RATE_LIMIT_PER_MINUTE: '2' } });
    expect([await from(direct, '192.0.2.1'), await from(direct, '192.0.2.2'), await from(direct, '192.0.2.3')]).toEqual(
      [200, 200, 429],
    );
  });

  test('0 means no limit and no such headers', async () => {
    const { headers } = await (await gateway.as('acme')).get('/manufacturers');
    expect([headers.has('ratelimit'), headers.has('ratelimit-policy')]).toEqual([false, false]);
  });
});

describe('GraphQL', () => {
  const ask = async (company: string, first: number) =>
    (await twins[0].as(company)).post(
      '/graphql',
      { query: `{ fleets(first: ${first}) { nodes { vehicles(first: 100) { nodes { id } } } } }` },
      { accept: RESPONSE },
    );

  test('counts by cost: one for each 1,000 possible objects', async () => {
    const company = 'umbrella';
    const small = await ask(company, 1);
    expect([small.body.extensions.cost.requestedQueryCost, leftIn(small)]).toEqual([103, 19]);
    const big = await ask(company, 100);
    expect([big.body.extensions.cost.requestedQueryCost, leftIn(big)]).toEqual([10_201, 19 - 11]);
    const refused = await ask(company, 100);
    expect(refused).toMatchObject({ status: 429, body: { errors: [{ extensions: { code: 'RATE_LIMITED' } }] } });
    expect(refused.body).not.toHaveProperty('data');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    // The refused operation cost one request only.
    expect(leftIn(await ask(company, 1))).toBe(6);
  });

  test('an operation above the limit of a minute is executed once', async () => {
    const { status, body, headers } = await ask('stark', 400);
    expect([status, body.extensions.cost.requestedQueryCost, headers.get('ratelimit-policy')]).toEqual([
      200,
      40_801,
      '"company";q=20;w=60',
    ]);
    expect(await ask('stark', 1)).toMatchObject({ status: 429 });
  });
});

test('each process counts its own requests', async () => {
  const [here, there] = await Promise.all(twins.map((twin) => twin.as('acme')));
  for (let use = 0; use < 20; use++) await here?.get('/manufacturers');
  expect(await here?.get('/manufacturers')).toMatchObject({ status: 429 });
  expect(leftIn((await there?.get('/manufacturers')) as Answer)).toBe(19);
  expect(await gateway.execute('select from rate_use')).toEqual([]);
});
