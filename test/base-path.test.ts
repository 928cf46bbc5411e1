import { describe, expect, test } from 'vitest';
import { type Headed, nextOf } from './support/client.ts';
import { addVehicle, contractFields, createFleet, fleetFields, newVin, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const PATH = '/api/fleet';
const bare = await startGateway({ settings: { CONSOLE: 'on' } });
const below = await startGateway({ on: bare, settings: { BASE_PATH: `${PATH}/` } });
const trusting = await startGateway({ on: bare, settings: { TRUST_PROXY: 'loopback', BASE_PATH: '/elsewhere' } });

/** Headers that a proxy adds. */
const proxied = (prefix: string): Headed => ({ 'x-forwarded-for': '192.0.2.1', 'x-forwarded-prefix': prefix });

/** Every address in answers and pages of this gateway, by its place. */
async function addressesOf(gateway: typeof bare, headers: Headed) {
  const client = await gateway.as('demo');
  const post = async (path: string, body: unknown) => {
    const answer = await client.post(path, body, headers);
    expect(answer.status).toBe(201);
    return answer;
  };
  const fleet = await post('/fleets', fleetFields);
  const vehicle = await addVehicle(client);
  const contract = await post('/contracts', contractFields(vehicle));
  const webhook = await post('/webhooks', { url: 'https://receiver.example/events' });
  const sent = await post('/vehicles/file', uploadForm(fleet.body.id, `vin\n${newVin()}\nWBA1\n`));
  const refused = await client.post('/vehicles/file', uploadForm(fleet.body.id, 'vin\nWBA1\n'), headers);
  await createFleet(client);
  const page = await client.get('/fleets?limit=1&name=e', headers);
  const openApi = await client.get('/openapi.json', headers);
  const textOf = async (path: string) =>
    (await fetch(new URL(path, gateway.url), { headers: { accept: 'text/html', ...headers } })).text();
  const pages = await Promise.all(['/', '/console', '/docs', '/graphql'].map(textOf));
  const inPages = pages.flatMap((text) => [
    ...text.matchAll(/(?:src|href)="(\/[^"]*)"|"(\/console\/[^"]*)"|&quot;(\/graphiql\/.*?)&quot;/g),
  ]);
  const links = inPages.map(([, inMarkup, inMap, inOptions]) => inMarkup ?? inMap ?? inOptions);
  expect(links.length).toBeGreaterThan(50);
  const commands = [...pages.join().matchAll(/curl (http:\S+)/g)].map(([, url = '']) => new URL(url).pathname);
  expect(commands).toHaveLength(3);
  return {
    locations: [fleet, contract, webhook, sent].map((answer) => answer.headers.get('location')),
    next: nextOf(page.headers),
    rejected: [sent.body.rejectedCsv, refused.body.rejectedCsv],
    servers: openApi.body.servers[0].url,
    console: /data-base="([^"]*)"/.exec(pages.join())?.[1],
    links,
    commands,
  };
}

describe.each([
  ['BASE_PATH', below, {}, PATH],
  ['X-Forwarded-Prefix of a trusted proxy', trusting, proxied(PATH), PATH],
  ['X-Forwarded-Prefix of two trusted proxies', trusting, proxied('/api/, /fleet'), PATH],
  ['X-Forwarded-Prefix of nothing', trusting, proxied('/'), ''],
  ['nothing', bare, {}, ''],
  ['X-Forwarded-Prefix of a stranger', bare, proxied(PATH), ''],
])('below the path of %s', (_, gateway, headers, path) => {
  test('every address begins with it, and leads somewhere without it', async () => {
    const { servers, console, ...found } = await addressesOf(gateway, headers);
    expect([servers, console]).toEqual([path || '/', path]);
    const client = await gateway.as('demo');
    const all = Object.values(found).flat() as string[];
    expect(all.filter((address) => !address?.startsWith(`${path}/`))).toEqual([]);
    const inner = [...new Set(all)].map((address) => address.slice(path.length));
    expect(inner.filter((address) => address.startsWith('/api'))).toEqual([]);
    for (const address of inner) {
      const answer = await fetch(new URL(address, gateway.url), { headers: { ...client.headers, accept: '*/*' } });
      await answer.body?.cancel();
      expect([address, answer.status]).toEqual([address, address === '/graphql' ? 400 : 200]);
    }
  });
});

test.each([
  '//evil.example',
  '/a"b',
  '/a b',
  'https://evil.example',
  '/a/%2e',
  '/a//b',
  'a',
  '/..',
  '/.',
  '/a/../b',
  '/a, /..',
  '/.,.',
])('X-Forwarded-Prefix: %s is no path', async (prefix) => {
  const { headers } = await (await trusting.as('demo')).post('/fleets', fleetFields, proxied(prefix));
  expect(headers.get('location')).toMatch(/^\/elsewhere\/fleets\//);
});

test('an answer that is repeated has the addresses of those who ask', async () => {
  const client = await trusting.as('demo');
  const send = (headers: Headed) => client.post('/fleets', fleetFields, { 'idempotency-key': 'twice', ...headers });
  const [first, again] = [await send({}), await send(proxied(PATH))];
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(first.headers.get('location')).toBe(`/elsewhere/fleets/${first.body.id}`);
  expect(again.headers.get('location')).toBe(`${PATH}/fleets/${first.body.id}`);
});
