import { once } from 'node:events';
import { request } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { startGateway, testIssuer } from './support/gateway.ts';
import { openRaw, sendRaw, statusesOf } from './support/raw.ts';
import { until } from './support/until.ts';

const gateway = await startGateway();
const shared = await startGateway({
  on: gateway,
  settings: { CORS_ORIGINS: 'https://app.example, https://other.example', LIMIT_CONNECTIONS: '5' },
});
const issuer = await testIssuer();
const production = await startGateway({ on: gateway, issuer });
const acme = await gateway.as('acme');
const pages = ['/', '/docs'];
const addresses = [
  ...pages,
  '/livez',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/schema.graphql',
  '/docs/reference.js',
  '/fleets',
  '/nowhere',
  '/graphql?query={__typename}',
];

describe('headers', () => {
  test.each(addresses)('%s hides the server, cannot be framed, and is not cached', async (path) => {
    const { headers } = await acme.get(path);
    expect(headers.has('x-powered-by')).toBe(false);
    expect(headers.has('server')).toBe(false);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toMatch(
      /default-src 'none'.*frame-ancestors 'none'|frame-ancestors 'none'.*default-src 'none'/,
    );
    expect(headers.get('strict-transport-security')).toContain('max-age=');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    if (!path.startsWith('/docs/') && path !== '/schema.graphql') expect(headers.get('cache-control')).toBe('no-store');
  });

  test('files that are the same for every client may be cached', async () => {
    const kept = async (path: string) => (await gateway.anyone.get(path)).headers.get('cache-control');
    expect(await kept('/docs/reference.js')).toBe('public, max-age=3600');
    expect(await kept('/docs/swagger-ui-bundle.js')).toBe('public, max-age=3600');
    expect(await kept('/schema.graphql')).toBe('public, max-age=0');
  });

  test.each(addresses)('%s ignores If-None-Match: *', async (path) => {
    expect(await acme.get(path, { 'if-none-match': '*' })).not.toMatchObject({ status: 304 });
  });

  test.each(pages)('%s allows only its own scripts', async (path) => {
    const policy = (await gateway.anyone.get(path, { accept: 'text/html' })).headers.get('content-security-policy');
    const scripts = policy?.split(';').find((part) => part.trim().startsWith('script-src')) ?? '';
    expect(scripts).not.toMatch(/unsafe|\*|https?:/);
    expect(policy).toContain("form-action 'none'");
  });
});

describe('pages of other sites', () => {
  const preflight = {
    origin: 'https://app.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  };
  const readable = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));

  const ofThisMachine = ['http://localhost:5173', 'https://localhost', 'http://127.0.0.1:4000', 'http://[::1]:8080'];
  const foreign = ['https://app.example', 'null', 'http://localhost.example', 'http://127.0.0.1.example:4000'];

  test.each(['/fleets', '/graphql'])('without CORS_ORIGINS no site may call or read %s', async (path) => {
    const client = await production.as('acme');
    const refused = [
      ...foreign.map((origin) => [acme, gateway, origin] as const),
      ...[...foreign, ...ofThisMachine].map((origin) => [client, production, origin] as const),
    ];
    for (const [reader, { anyone }, origin] of refused) {
      expect(readable((await reader.get(path, { origin })).headers)).not.toContain('access-control-allow-origin');
      const asked = await anyone.send('OPTIONS', path, undefined, { ...preflight, origin });
      expect(readable(asked.headers)).not.toContain('access-control-allow-origin');
    }
  });

  test.each(['/fleets', '/graphql'])('in development pages of this machine may, without cookies: %s', async (path) => {
    for (const origin of ofThisMachine) {
      const asked = await gateway.anyone.send('OPTIONS', path, undefined, { ...preflight, origin });
      const { headers } = await acme.get(path, { origin });
      for (const one of [asked.headers, headers]) {
        expect(one.get('access-control-allow-origin')).toBe(origin);
        expect(one.has('access-control-allow-credentials')).toBe(false);
      }
    }
  });

  test('a page that is refused is a line of the log, once a minute', async () => {
    const { log } = production.services;
    const warn = vi.spyOn(log, 'warn');
    const ask = (origin: string, headers = {}) =>
      production.anyone.send('OPTIONS', '/fleets', undefined, { ...preflight, origin, ...headers });
    const lines = () => warn.mock.calls.map(([fields]) => fields);
    production.passTime(60_000);
    // The console's own requests are no others', whatever a proxy makes of the host's name.
    await ask(production.url);
    await ask('https://company.example', { 'sec-fetch-site': 'same-origin' });
    expect(lines()).toEqual([]);
    await ask('http://localhost:5173');
    await ask('https://app.example');
    expect(lines()).toEqual([{ origin: 'http://localhost:5173', method: 'OPTIONS' }]);
    production.passTime(60_000);
    await production.anyone.get('/fleets', { origin: 'https://app.example' });
    expect(lines().slice(1)).toEqual([{ origin: 'https://app.example', method: 'GET' }]);
    warn.mockRestore();
  });

  test.each(['/fleets', '/graphql'])('with CORS_ORIGINS the named sites may, without cookies: %s', async (path) => {
    const client = await shared.as('acme');
    const asked = await shared.anyone.send('OPTIONS', path, undefined, preflight);
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(asked.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
    const { headers } = await client.get(path, { origin: 'https://other.example' });
    expect(headers.get('access-control-allow-origin')).toBe('https://other.example');
    expect(headers.get('vary')).toContain('Origin');
    expect(headers.has('access-control-allow-credentials')).toBe(false);
    for (const origin of ['https://evil.example', 'https://app.example.evil', 'http://app.example', 'null']) {
      expect((await client.get(path, { origin })).headers.has('access-control-allow-origin')).toBe(false);
    }
  });

  test('a form of another site changes nothing: only JSON is read as JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
      const answer = await acme.post('/fleets', '{"name":"x"}', { 'content-type': type });
      expect({ type, status: answer.status, code: answer.body.code }).toEqual({
        type,
        status: 415,
        code: 'UNSUPPORTED_MEDIA_TYPE',
      });
    }
  });
});

describe('ambiguous requests', () => {
  const authorization = `Authorization: ${acme.headers.authorization}`;
  const twofold: Record<string, string> = {
    'two Host headers': 'GET /livez HTTP/1.1\nHost: a\nHost: b\n\n',
    'two Host headers alike': 'GET /livez HTTP/1.1\nHost: a\nhost: a\n\n',
    'no Host header': 'GET /livez HTTP/1.1\n\n',
    'a length and chunks': `POST /fleets HTTP/1.1\nHost: a\n${authorization}\nContent-Type: application/json\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n`,
    'two lengths': `POST /fleets HTTP/1.1\nHost: a\n${authorization}\nContent-Length: 2\nContent-Length: 3\n\n{}`,
    'a length that is none': `POST /fleets HTTP/1.1\nHost: a\n${authorization}\nContent-Length: +2\n\n{}`,
    'chunks that are none': `POST /fleets HTTP/1.1\nHost: a\n${authorization}\nTransfer-Encoding: xchunked\n\n0\n\n`,
    'a space before the colon': 'GET /livez HTTP/1.1\nHost : a\n\n',
    'a folded header': 'GET /livez HTTP/1.1\nHost: a\nX: b\n c\n\n',
    'a NUL in a header': 'GET /livez HTTP/1.1\nHost: a\nX: b\0c\n\n',
    'a line end within a header': 'GET /livez HTTP/1.1\nHost: a\nX: b\rc\n\n',
  };
  test.each(Object.entries(twofold))('%s: 400, and the rest is not read', async (_name, text) => {
    const answers = await sendRaw(gateway.url, `${text}GET /livez HTTP/1.1\nHost: a\n\n`);
    expect(statusesOf(answers)).toEqual([400]);
    expect(answers).toMatch(/connection: close/i);
  });

  test.each([
    ['headers over 16 kB', `GET /livez HTTP/1.1\nHost: a\nX: ${'x'.repeat(17_000)}\n\n`, 431, /16 kB.*in the body/],
    ['an address over 16 kB', `GET /fleets?name=${'x'.repeat(17_000)} HTTP/1.1\nHost: a\n\n`, 431, /address/],
    // As curl sends ?name=München.
    ['an address with letters as they are', 'GET /fleets?name=M\xc3\xbcnchen HTTP/1.1\nHost: a\n\n', 400, /%C3%BC/],
    ['TLS', '\x16\x03\x01\x02\x00\x01\n\n', 400, /HTTP/],
  ])('%s: the answer says in a sentence what to do', async (_, text, status, advice) => {
    const answers = await sendRaw(gateway.url, text);
    const [head = '', body = ''] = answers.split('\r\n\r\n');
    expect(statusesOf(answers)).toEqual([status]);
    expect(body).toMatch(advice);
    expect(head).toContain('Content-Type: text/plain; charset=utf-8');
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
  });

  test('unusual addresses are refused as usual', async () => {
    for (const path of [
      '//evil.example/fleets',
      '/%00',
      '/..%2f..%2fetc/passwd',
      '/docs/..%2f..%2fpackage.json',
      'http://evil.example/fleets',
      '/fleets/%ff',
    ]) {
      const answers = await sendRaw(
        gateway.url,
        `GET ${path} HTTP/1.1\nHost: a\nConnection: close\n${authorization}\n\n`,
      );
      expect([200, 400, 404], path).toContain(statusesOf(answers)[0]);
      expect(answers, path).not.toMatch(/root:|"devDependencies"|INTERNAL/);
    }
  });

  test('an invalid Host is refused by GraphQL without internal details', async () => {
    for (const host of ['a b', '[::', 'a:99999', '\xe2\x80']) {
      const head = `Host: ${host}\nAccept: text/event-stream\nConnection: close`;
      const text = `GET /graphql?query={__typename} HTTP/1.1\n${head}\n\n`;
      const answers = await sendRaw(gateway.url, text);
      expect(statusesOf(answers), host).toEqual([400]);
      expect(answers, host).toContain('VALIDATION_FAILED');
      expect(answers, host).not.toMatch(/\.js:\d|node:internal/);
    }
  });
});

test('LIMIT_CONNECTIONS: one more is closed at once, and closed ones make room', async () => {
  const open = await Promise.all(Array.from({ length: 5 }, () => openRaw(shared.url)));
  const sixth = await openRaw(shared.url);
  await until(() => (sixth.closed ? true : null));
  for (const socket of open.slice(0, 2)) socket.destroy();
  expect(await until(() => shared.anyone.get('/livez').catch(() => null))).toMatchObject({ status: 200 });
  for (const socket of open) socket.destroy();
});

test('an announced body that is not needed does not delay the response', async () => {
  const asked = request(new URL('/fleets', gateway.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 500_000 },
  });
  asked.on('error', () => {});
  asked.flushHeaders();
  const [response] = await once(asked, 'response');
  expect(response.statusCode).toBe(401);
  asked.destroy();
});

describe('hostile bodies are refused as the client’s errors', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const add = 'mutation ($i: AddVehiclesInput!) { addVehicles(input: $i) { summary { received } } }';
  const bomb = (packed: Buffer<ArrayBuffer>) => new Blob([packed]);
  const hostile: Record<string, [path: string, body: string | Blob, headers: Record<string, string>, status: number]> =
    {
      'a field of 400,000 levels': ['/fleets', `{"name":${nested(400_000)}}`, {}, 400],
      'VINs of 400,000 levels': ['/vehicles', `{"fleetId":"x","vins":${nested(400_000)}}`, {}, 400],
      'a variable of 400,000 levels': [
        '/graphql',
        `{"query":"${add}","variables":{"i":{"fleetId":"x","vins":${nested(400_000)}}}}`,
        {},
        400,
      ],
      'the same with an Idempotency-Key': [
        '/graphql',
        `{"query":"${add}","variables":{"i":{"fleetId":"x","vins":${nested(400_000)}}}}`,
        { 'idempotency-key': 'deep' },
        400,
      ],
      '200 MB in 200 kB': ['/fleets', bomb(gzipSync(Buffer.alloc(200_000_000))), { 'content-encoding': 'gzip' }, 413],
      '100 MB in 100 bytes': [
        '/graphql',
        bomb(brotliCompressSync(Buffer.alloc(100_000_000))),
        { 'content-encoding': 'br' },
        413,
      ],
      'what is not packed as it says': ['/fleets', 'xxxx', { 'content-encoding': 'gzip' }, 400],
      'a packing that is none': ['/graphql', '{"query":"{ __typename }"}', { 'content-encoding': 'foo' }, 415],
      'a character set that is none': [
        '/fleets',
        '{"name":"x"}',
        { 'content-type': 'application/json; charset=bogus' },
        415,
      ],
      '__proto__ in a body': ['/fleets', '{"__proto__":{"name":"x"},"constructor":{"prototype":{}}}', {}, 400],
      'an operation called __proto__': ['/graphql', '{"query":"{ __typename }","operationName":"__proto__"}', {}, 400],
      'an operation whose name is an object': ['/graphql', '{"query":"{ __typename }","operationName":{}}', {}, 400],
      'NUL in a text': ['/fleets', '{"name":"a\\u0000","companyAddress":"b","email":"e@x.example","vat":"v"}', {}, 400],
      'half a character in a text': [
        '/fleets',
        '{"name":"a\\ud800","companyAddress":"b","email":"e@x.example","vat":"v"}',
        {},
        400,
      ],
    };
  test.each(Object.entries(hostile))('%s', async (_name, [path, body, headers, status]) => {
    const answer = await acme.post(path, body, {
      'content-type': 'application/json',
      accept: path === '/graphql' ? 'application/graphql-response+json' : '*/*',
      ...headers,
    });
    expect(answer.status, JSON.stringify(answer.body).slice(0, 300)).toBe(status);
  });
});
