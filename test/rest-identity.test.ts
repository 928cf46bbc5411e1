import { describe, expect, test } from 'vitest';
import { routes } from '../src/rest/router.ts';
import { Client } from './support/client.ts';
import { addVehicle, contractFields, createContract, fleetFields, newVin, unknownId } from './support/factories.ts';
import { bearer, startGateway, testIssuer } from './support/gateway.ts';
import { makeKey, signToken } from './support/identity-provider.ts';

const issuer = await testIssuer();
const gateway = await startGateway({ issuer, settings: { CONTRACTS_AUTH: 'open' } });
const closed = await startGateway({ issuer, on: gateway, settings: { CONTRACTS_AUTH: 'required' } });
const scoped = await startGateway({ issuer, on: gateway, settings: { CONTRACTS_AUTH: 'open', AUTH_SCOPES: 'on' } });
const acme = await gateway.as('acme');

const filled = (path: string) => path.replace(':vin', newVin()).replace(/:\w+/g, unknownId);
const isContract = (path: string) => path.startsWith('/contracts');
const contractsOf = (company: string) => `/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}`;

describe('401', () => {
  test('every fleet and vehicle endpoint needs a token', async () => {
    for (const { method, path } of routes.filter((route) => !isContract(route.path))) {
      const { status, headers, body } = await gateway.anyone.send(method, filled(path));
      expect({ status, code: body.code }, `${method} ${path}`).toEqual({ status: 401, code: 'UNAUTHENTICATED' });
      // RFC 6750 forbids an error code if no token was sent.
      expect(headers.get('www-authenticate')).toBe('Bearer realm="fleet-gateway"');
    }
  });

  const wrong = {
    expired: () => issuer.sign({ exp: Math.floor(Date.now() / 1000) - 60 }),
    'without an expiry': () => issuer.sign({ exp: undefined }),
    'from another issuer': () => issuer.sign({ iss: 'https://elsewhere.example' }),
    'for another audience': () => issuer.sign({ aud: 'https://elsewhere.example' }),
    'signed with another key': () => signToken({ company: 'acme' }, { alg: 'ES256' }, makeKey('ES256')),
    'that is none': () => 'a.b.c',
  };
  test.each(Object.entries(wrong))('a token %s', async (_name, token) => {
    for (const path of ['/fleets', contractsOf('acme')]) {
      const { status, headers, body } = await gateway.anyone.get(path, bearer(token()));
      expect({ status, code: body.code }).toEqual({ status: 401, code: 'UNAUTHENTICATED' });
      expect(headers.get('www-authenticate')).toMatch(
        /^Bearer realm="fleet-gateway", error="invalid_token", error_desc/,
      );
    }
  });

  test('a token in the query or in a cookie does not count', async () => {
    const token = issuer.sign();
    for (const answer of [
      await gateway.anyone.get(`/fleets?access_token=${token}&token=${token}`),
      await gateway.anyone.get('/fleets', { cookie: `access_token=${token}; Authorization=Bearer ${token}` }),
      await gateway.anyone.get('/fleets', { authorization: `Basic ${btoa(`acme:${token}`)}` }),
      await gateway.anyone.get('/fleets', { 'x-authorization': `Bearer ${token}` }),
    ]) {
      expect(answer).toMatchObject({ status: 401 });
    }
  });

  test('it precedes any validation of the request', async () => {
    expect(await gateway.anyone.post('/fleets', '{', { 'content-type': 'application/json' })).toMatchObject({
      status: 401,
    });
    expect(await gateway.anyone.post('/fleets', 'x', { 'content-type': 'text/plain' })).toMatchObject({ status: 401 });
  });

  test('the scheme may be written in any case', async () => {
    expect(await gateway.anyone.get('/fleets', { authorization: `bEARER ${issuer.sign()}` })).toMatchObject({
      status: 200,
    });
  });
});

describe('403', () => {
  test.each([undefined, '', 7, null, ['acme'], ' acme'])('a token whose company is %j', async (company) => {
    const client = new Client(gateway.url, bearer(issuer.sign({ company })));
    for (const path of ['/fleets', contractsOf('acme')]) {
      const detail = expect.stringContaining('"company" must be a text of 1 to 255 characters');
      expect(await client.get(path)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN', detail } });
    }
  });

  test('conditions that name another company than the token', async () => {
    for (const one of [gateway, closed]) {
      expect(await (await one.as('acme')).get(contractsOf('globex'))).toMatchObject({
        status: 403,
        body: { code: 'FORBIDDEN' },
      });
    }
  });
});

describe('AUTH_SCOPES', () => {
  /** The scope of each route, as in the table of settings. */
  const scopeOf = ({ method, path }: { method: string; path: string }) =>
    `${isContract(path) || path === '/packs' ? 'contracts' : 'fleets'}:${method === 'GET' ? 'read' : 'write'}`;

  test('every endpoint requires its scope, and names it', async () => {
    const all = ['fleets:read', 'fleets:write', 'contracts:read', 'contracts:write'];
    for (const route of routes) {
      const scope = scopeOf(route);
      const others = await scoped.as('acme', { scope: all.filter((other) => other !== scope).join(' ') });
      const owner = await scoped.as('acme', { scope });
      const path = route.path === '/contracts' && route.method === 'GET' ? contractsOf('acme') : filled(route.path);
      const form = new FormData();
      if (route.path === '/vehicles/file') {
        form.append('fleetId', unknownId);
        form.append('vins', new Blob(['vin\n'], { type: 'text/csv' }), 'vins.csv');
      }
      const body = route.files ? form : route.body && {};
      const refused = await others.send(route.method, path, body);
      expect(refused, `${route.method} ${path}`).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(refused.headers.get('www-authenticate')).toContain(`error="insufficient_scope", scope="${scope}"`);
      expect((await owner.send(route.method, path, body)).status, `${route.method} ${path}`).not.toBe(403);
    }
  });

  test('off, scopes are ignored', async () => {
    expect(await (await gateway.as('acme', { scope: '' })).get('/fleets')).toMatchObject({ status: 200 });
  });
});

describe('CONTRACTS_AUTH', () => {
  test('open: contracts are created, listed, read, changed and deleted without a token', async () => {
    const vehicle = await addVehicle(acme);
    const made = await gateway.anyone.post('/contracts', contractFields(vehicle));
    expect(made).toMatchObject({ status: 201, body: { company: 'acme' } });
    expect((await gateway.anyone.get(contractsOf('acme'))).body).toContainEqual(made.body);
    expect(await gateway.anyone.get(`/contracts/${made.body.id}`)).toMatchObject({ status: 200, body: made.body });
    const change = await gateway.anyone.patch(`/contracts/${made.body.id}`, { name: 'Another' });
    expect(change).toMatchObject({ status: 200, body: { ...made.body, name: 'Another' } });
    expect(await gateway.anyone.delete(`/contracts/${made.body.id}`)).toMatchObject({ status: 204 });
    expect(await gateway.anyone.patch(`/contracts/${made.body.id}`, {})).toMatchObject({ status: 404 });
  });

  test('open: a token confines the caller to its company', async () => {
    const vehicle = await addVehicle(acme);
    const contract = await createContract(acme, vehicle);
    const globex = await gateway.as('globex');
    expect(await globex.get(`/contracts/${contract.id}`)).toMatchObject({ status: 404 });
    expect(await globex.delete(`/contracts/${contract.id}`)).toMatchObject({ status: 404 });
    expect(await globex.patch(`/contracts/${contract.id}`, { name: 'Ours' })).toMatchObject({ status: 404 });
    expect(await globex.post('/contracts', contractFields(vehicle, { pack: 'x' }))).toMatchObject({
      status: 404,
      body: { code: 'FLEET_NOT_FOUND' },
    });
    expect(await acme.get(`/contracts/${contract.id}`)).toMatchObject({ status: 200 });
  });

  test('required: without a token every contract endpoint is 401', async () => {
    for (const { method, path } of routes.filter((route) => isContract(route.path))) {
      expect(await closed.anyone.send(method, filled(path)), `${method} ${path}`).toMatchObject({
        status: 401,
        body: { code: 'UNAUTHENTICATED' },
      });
    }
    expect(await closed.anyone.get(contractsOf('acme'))).toMatchObject({ status: 401 });
    expect(await (await closed.as('acme')).get(contractsOf('acme'))).toMatchObject({ status: 200 });
  });
});

describe('503', () => {
  test('an unreachable issuer, until it is back', async () => {
    const { headers, ...later } = await gateway.anyone.get('/fleets', bearer(issuer.sign({ sub: 'later' })));
    expect(later.status).toBe(200);
    await issuer.stop();
    // A gateway that has not read the keys yet.
    const fresh = await startGateway({ issuer, on: gateway });
    const client = await fresh.as('acme');
    const refused = await client.get('/fleets');
    expect(refused).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // A gateway with cached keys continues.
    expect(await acme.post('/fleets', fleetFields)).toMatchObject({ status: 201 });
    await issuer.start();
    await expect.poll(async () => (await client.get('/fleets')).status).toBe(200);
    await fresh.close();
  });

  test('rotated keys are used without a restart', async () => {
    issuer.rotate();
    const fresh = await startGateway({ issuer, on: gateway });
    const client = await fresh.as('acme');
    expect(await client.get('/fleets')).toMatchObject({ status: 200 });
    issuer.rotate();
    expect(await (await fresh.as('acme')).get('/fleets')).toMatchObject({ status: 200 });
    expect(await client.get('/fleets')).toMatchObject({ status: 401 });
    await fresh.close();
  });
});
