import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { openApiDocument } from '../src/rest/openapi/openapi-document.ts';
import { startGateway, testIssuer } from './support/gateway.ts';

const issuer = await testIssuer();
const development = await startGateway();
const production = await startGateway({ issuer, on: development });
const switchedOn = await startGateway({ issuer, on: development, settings: { CONSOLE: 'on' } });
const switchedOff = await startGateway({ on: development, settings: { CONSOLE: 'off' } });

const get = (path: string, headers: Record<string, string> = {}, base = development.url) =>
  fetch(new URL(path, base), { headers });

describe('/', () => {
  test('shows the version and links to every page', async () => {
    const page = await (await get('/')).text();
    expect(page).toContain(`<dt>Version<dd>${packageJson.version}`);
    expect(page).toMatch(/<dt>Database<dd>(embedded|PostgreSQL)/);
    expect(page).toContain('BMW');
    const links = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, href = '']) => href);
    expect(links).toEqual(expect.arrayContaining(['/graphql', '/docs', '/openapi.json', '/schema.graphql', '/readyz']));
    for (const link of links) expect((await get(link, { accept: 'text/html,*/*' })).status, link).toBe(200);
  });

  test('has one script, and allows no other script or host', async () => {
    const response = await get('/');
    expect(await (await get('/', {}, production.url)).text()).not.toContain('<script');
    expect(await response.text()).not.toMatch(/<script (?!<)|https?:\/\/(?!127\.0\.0\.1)/);
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'; img-src data:; base-uri/,
    );
  });

  test('in development its commands work with the token it shows', async () => {
    const page = await (await get('/')).text();
    const [, token = ''] = /TOKEN=&#39;(\S+)&#39;/.exec(page) ?? [];
    const [, body = ''] = /-d &#39;(\{.*\})&#39;/.exec(page) ?? [];
    const answer = await fetch(new URL('/fleets', development.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body.replaceAll('&quot;', '"'),
    });
    expect(await answer.json()).toMatchObject({ company: 'demo', name: 'Demo fleet' });
  });

  test('shows no token with an issuer, nor for a foreign Host', async () => {
    expect(await (await get('/', {}, production.url)).text()).not.toContain('TOKEN');
    expect(await (await get('/docs', {}, production.url)).text()).not.toMatch(/data-token="\w/);
    const { request } = await import('node:http');
    const underOtherName = await new Promise<string>((resolve, reject) => {
      const sent = request(development.url, { headers: { host: 'evil.example' } }, async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve(text);
      });
      sent.on('error', reject).end();
    });
    expect(underOtherName).toContain('Fleet Gateway');
    expect(underOtherName).not.toContain('TOKEN');
  });
});

describe('/docs', () => {
  test('has all its files on this server', async () => {
    const response = await get('/docs');
    const page = await response.text();
    expect(response.headers.get('content-security-policy')).not.toMatch(/unsafe|https?:/);
    const parts = [...page.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(([, part = '']) => part);
    expect(parts).toHaveLength(4);
    for (const part of parts) {
      const asset = await get(part);
      expect(asset.status, part).toBe(200);
      await asset.body?.cancel();
    }
  });
});

describe('/console', () => {
  test('allows the parts of this server alone, one inline map of modules, and no text that becomes a script', async () => {
    const response = await get('/console');
    const page = await response.text();
    const [, inline = ''] = /<script type="importmap">(.*?)<\/script>/s.exec(page) ?? [];
    expect(page.match(/<script\b[^>]*>(?=.)/g)).toHaveLength(3);
    expect(response.headers.get('content-security-policy')?.split('; ').toSorted()).toEqual(
      [
        "default-src 'none'",
        `script-src 'self' 'sha256-${createHash('sha256').update(inline).digest('base64')}'`,
        ...["style-src 'self'", "img-src 'self'", "connect-src 'self'"],
        ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
        ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
      ].toSorted(),
    );
  });

  test('has all its files on this server, cached for ever under versioned names', async () => {
    const response = await get('/console');
    const page = await response.text();
    expect(response.headers.get('cache-control')).toBe('no-store');
    const parts = [...page.matchAll(/"(\/console\/[^"]+)"/g)].map(([, part = '']) => part);
    expect(parts.length).toBeGreaterThan(20);
    for (const part of parts) {
      const asset = await get(part);
      expect(asset.status, part).toBe(200);
      expect(asset.headers.get('cache-control'), part).toBe('public, max-age=31536000, immutable');
      expect(asset.headers.get('content-type'), part).toMatch(
        /^(text\/(javascript|css); charset=utf-8|image\/svg\+xml)/,
      );
      await asset.body?.cancel();
    }
    const other = await get((parts[0] ?? '').replace(/console\/[^/]+/, 'console/older'));
    expect([other.status, other.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect((await get('/console/x/..%2frouter.ts')).status).toBe(404);
    expect((await get('/console/%E0%A4%A/app.js')).status).toBe(404);
    expect((await get('/console/x/%E0%A4%A')).status).toBe(404);
  });

  test('has a token in development only, and elsewhere is off by default', async () => {
    expect(await (await get('/console')).text()).toMatch(/data-token="ey/);
    expect((await get('/console', {}, production.url)).status).toBe(404);
    const page = await (await get('/console', {}, switchedOn.url)).text();
    expect(page).toContain('data-token=""');
    expect((await get('/console', {}, switchedOff.url)).status).toBe(404);
    expect(await (await get('/', {}, switchedOff.url)).text()).not.toContain('/console');
  });
});

test('/openapi.json is the document of the running version', async () => {
  const response = await get('/openapi.json');
  expect(await response.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
});

test.each(['/', '/console', '/docs', '/openapi.json', '/schema.graphql', '/livez', '/metrics'])(
  '%s accepts GET only',
  async (path) => {
    const response = await fetch(new URL(path, development.url), { method: 'POST' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect(await response.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
  },
);
