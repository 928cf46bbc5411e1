import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { routes } from '../src/rest/router.ts';
import {
  addVehicle,
  createContract,
  createFleet,
  fleetFields,
  newVin,
  unknownId,
  uploadForm,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway({ settings: { LIMIT_JSON_BYTES: '10000' } });
const acme = await gateway.as('acme');
const json = { 'content-type': 'application/json' };

describe('problem+json', () => {
  test('every refusal has type, title, status, detail, code and requestId', async () => {
    const { status, headers, body } = await acme.get(`/fleets/${unknownId}`);
    expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect({ status, body }).toEqual({
      status: 404,
      body: {
        type: 'about:blank',
        title: 'Fleet not found',
        status: 404,
        detail: 'There is no fleet with this id.',
        code: 'FLEET_NOT_FOUND',
        requestId: headers.get('x-request-id'),
      },
    });
  });

  test('an invalid request lists each fault with path, code and message', async () => {
    const { body } = await acme.post('/fleets', { ...fleetFields, email: 'nobody', vat: undefined });
    expect(body.errors).toEqual([
      { path: 'email', code: 'INVALID_FORMAT', message: 'is not an e-mail address: "nobody"' },
      { path: 'vat', code: 'INVALID_TYPE', message: 'is required and must be a string' },
    ]);
    expect(body.title).toBe('Validation failed');
  });

  test.each([
    ['/vehicles?eligibility=FOO', 'must be one of PENDING, ELIGIBLE, INELIGIBLE, UNSUPPORTED, FAILED, not "FOO"'],
    ['/vehicles?limit=1&limit=2', 'must stand once'],
    ['/company/activity?from=2026-01-01T00:00:00Z&by=WEEK', 'must be one of HOUR, DAY, not "WEEK"'],
  ])('the message for %s says what the value may be', async (path, message) => {
    expect((await acme.get(path)).body.errors).toMatchObject([{ message }]);
  });

  test('an internal error is 500 INTERNAL, without its text', async () => {
    const broken = await startGateway({ on: gateway });
    broken.services.manufacturers.list = () => {
      throw new Error('secret detail');
    };
    const { status, headers, body } = await (await broken.as('acme')).get('/manufacturers');
    expect({ status, body }).toMatchObject({
      status: 500,
      body: { code: 'INTERNAL', requestId: headers.get('x-request-id') },
    });
    expect(JSON.stringify(body)).not.toContain('secret');
    await broken.close();
  });
});

describe('request ids', () => {
  test("the caller's id is used if it is valid", async () => {
    const { headers, body } = await acme.get('/nothing', { 'x-request-id': 'order-7:1.2_a' });
    expect(headers.get('x-request-id')).toBe('order-7:1.2_a');
    expect(body.requestId).toBe('order-7:1.2_a');
  });

  test.each(['', 'has spaces', 'x'.repeat(129), '"><script>'])('an invalid id is replaced: "%s"', async (given) => {
    const { headers } = await acme.get('/fleets', { 'x-request-id': given });
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('every response has its own, success or error', async () => {
    const answers = await Promise.all(
      ['/fleets', '/fleets', '/nothing', '/livez'].map((path) => gateway.anyone.get(path)),
    );
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(4);
  });
});

describe('404', () => {
  test.each(['/nothing', '/fleets/x/y', '/Fleets', '/vehicles/eligibility', '/contracts/a/b'])(
    'there is nothing at %s',
    async (path) => {
      const expected = path === '/vehicles/eligibility' ? 'VEHICLE_NOT_FOUND' : 'NOT_FOUND';
      expect(await acme.get(path)).toMatchObject({ status: 404, body: { code: expected } });
    },
  );

  test('an address that is badly encoded is 404', async () => {
    expect(await acme.get('/fleets/%E0%A4%A')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  });

  test.each(['1', 'null', '../x', "' or 1=1 --", '%00', 'é', 'x'.repeat(5000), `${unknownId}0`])(
    'a malformed id cannot exist: %s',
    async (malformed) => {
      const id = malformed === '%00' ? malformed : encodeURIComponent(malformed);
      for (const [path, code] of [
        [`/fleets/${id}`, 'FLEET_NOT_FOUND'],
        [`/fleets/${id}/vehicles`, 'FLEET_NOT_FOUND'],
        [`/vehicles/${id}`, 'VEHICLE_NOT_FOUND'],
        [`/vehicles/eligibility/${id}`, 'VEHICLE_NOT_FOUND'],
        [`/contracts/${id}`, 'CONTRACT_NOT_FOUND'],
        [`/imports/${id}`, 'IMPORT_NOT_FOUND'],
      ]) {
        expect(await acme.get(path ?? ''), path).toMatchObject({ status: 404, body: { code } });
      }
    },
  );
});

describe('405', () => {
  test.each([
    ['PUT', '/fleets', 'GET, POST, HEAD'],
    ['DELETE', '/fleets', 'GET, POST, HEAD'],
    ['POST', `/fleets/${unknownId}`, 'GET, PATCH, DELETE, HEAD'],
    ['POST', `/fleets/${unknownId}/vehicles`, 'GET, HEAD'],
    ['PATCH', '/vehicles', 'GET, POST, DELETE, HEAD'],
    ['PATCH', `/vehicles/${unknownId}`, 'GET, DELETE, HEAD'],
    ['GET', '/vehicles/file', 'POST'],
    ['DELETE', '/vehicles/file', 'POST'],
    ['GET', '/vehicles/delete', 'POST'],
    ['GET', '/vehicles/move', 'POST'],
    ['POST', `/vehicles/eligibility/${newVin()}`, 'GET, HEAD'],
    ['GET', `/vehicles/eligibility/${newVin()}/refresh`, 'POST'],
    ['PATCH', '/contracts', 'POST, GET, DELETE, HEAD'],
    ['PUT', `/contracts/${unknownId}`, 'GET, PATCH, DELETE, HEAD'],
  ])('%s %s is refused with Allow', async (method, path, allow) => {
    const { status, headers, body } = await acme.send(method, path);
    expect({ status, code: body.code }).toEqual({ status: 405, code: 'METHOD_NOT_ALLOWED' });
    expect(headers.get('allow')).toBe(allow);
  });
});

describe('HEAD and OPTIONS', () => {
  test('HEAD answers as GET does, without a body', async () => {
    const fleet = await createFleet(acme);
    for (const path of ['/fleets', `/fleets/${fleet.id}`, '/manufacturers']) {
      const [head, get] = [await acme.send('HEAD', path), await acme.get(path)];
      expect(head).toMatchObject({ status: 200, body: null });
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
    }
    expect(await acme.send('HEAD', `/fleets/${unknownId}`)).toMatchObject({ status: 404, body: null });
  });

  test('HEAD of a stream of events ends', async () => {
    const { status, headers, body } = await acme.send('HEAD', '/events/stream');
    expect([status, headers.get('content-type'), body]).toEqual([200, 'text/event-stream; charset=utf-8', null]);
  });

  test('OPTIONS names the methods, to anyone', async () => {
    const { status, headers, body } = await gateway.anyone.send('OPTIONS', '/fleets');
    expect({ status, body, allow: headers.get('allow') }).toEqual({
      status: 204,
      body: null,
      allow: 'GET, POST, HEAD, OPTIONS',
    });
    expect(await gateway.anyone.send('OPTIONS', '/nothing')).toMatchObject({ status: 404 });
  });
});

describe('415', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'multipart/form-data; boundary=x',
  ])('an endpoint for JSON that is sent %s', async (type) => {
    for (const [method, path] of [
      ['POST', '/fleets'],
      ['PATCH', `/fleets/${unknownId}`],
      ['POST', '/vehicles'],
      ['DELETE', '/vehicles'],
      ['POST', '/contracts'],
    ]) {
      expect(await acme.send(method ?? '', path ?? '', '{}', { 'content-type': type })).toMatchObject({
        status: 415,
        body: { code: 'UNSUPPORTED_MEDIA_TYPE' },
      });
    }
  });

  test.each([
    ...[
      'application/json',
      'APPLICATION/JSON; charset=utf-8',
      'application/json; charset="UTF-8"',
      'application/vnd.acme+json',
    ],
  ])('%s is JSON', async (type) => {
    const body = JSON.stringify(fleetFields);
    expect(await acme.post('/fleets', body, { 'content-type': type })).toMatchObject({ status: 201 });
  });

  test('an unknown charset or encoding', async () => {
    for (const headers of [
      { 'content-type': 'application/json; charset=klingon' },
      { ...json, 'content-encoding': 'x' },
    ]) {
      expect(await acme.post('/fleets', '{}', headers)).toMatchObject({
        status: 415,
        body: { code: 'UNSUPPORTED_MEDIA_TYPE' },
      });
    }
  });

  test('/vehicles/file with JSON', async () => {
    expect(await acme.post('/vehicles/file', { fleetId: unknownId, vins: [] })).toMatchObject({
      status: 415,
      body: { code: 'UNSUPPORTED_MEDIA_TYPE' },
    });
  });

  test('/vehicles/file with a file that is no CSV', async () => {
    const { id } = await createFleet(acme);
    const form = uploadForm(id, '\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'vins.csv', 'image/png');
    expect(await acme.post('/vehicles/file', form)).toMatchObject({
      status: 415,
      body: { code: 'UNSUPPORTED_MEDIA_TYPE' },
    });
  });
});

describe('/vehicles/file', () => {
  test('without fleetId it is 400', async () => {
    expect(await acme.post('/vehicles/file', uploadForm(undefined, `vin\n${newVin()}\n`))).toMatchObject({
      status: 400,
      body: { code: 'FLEET_ID_MISSING' },
    });
  });

  test.each([unknownId, 'not-an-id'])('for an unknown fleet it is 404: %s', async (fleetId) => {
    expect(await acme.post('/vehicles/file', uploadForm(fleetId, `vin\n${newVin()}\n`))).toMatchObject({
      status: 404,
      body: { code: 'FLEET_NOT_FOUND' },
    });
  });

  test('with both it is 201', async () => {
    const { id } = await createFleet(acme);
    expect(await acme.post('/vehicles/file', uploadForm(id, `vin\n${newVin()}\n`))).toMatchObject({
      status: 201,
      body: { summary: { received: 1, created: 1, existing: 0, rejected: 0 } },
    });
  });
});

describe('400', () => {
  test.each(['{', '{"name": "x",}', "{'name': 1}", 'name=x', '\u0000'])('MALFORMED_JSON: %s', async (body) => {
    expect(await acme.post('/fleets', body, json)).toMatchObject({ status: 400, body: { code: 'MALFORMED_JSON' } });
  });

  test('a missing body is not malformed but incomplete', async () => {
    for (const send of [() => acme.post('/fleets'), () => acme.post('/fleets', '', json)]) {
      expect(await send()).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', detail: 'The body is required and must be an object' },
      });
    }
    expect((await acme.post('/fleets', '[1]', json)).body.detail).toBe('The body must be an object');
  });

  test('a filter that is too long is said to be so as a field is', async () => {
    const { status, body } = await acme.get(`/fleets?name=${'x'.repeat(256)}`);
    expect([status, body.errors]).toEqual([
      400,
      [{ path: 'name', code: 'TOO_LARGE', message: 'must have at most 255 characters' }],
    ]);
  });

  test('a key named __proto__ is a key like any other', async () => {
    const body = `{"__proto__": {"name": "x"}, "vat": "y"}`;
    expect(await acme.post('/fleets', body, json)).toMatchObject({
      status: 400,
      body: { errors: expect.arrayContaining([expect.objectContaining({ path: 'name' })]) },
    });
  });
});

describe('413', () => {
  test('a JSON body over LIMIT_JSON_BYTES, with the limit', async () => {
    const body = JSON.stringify({ ...fleetFields, name: 'x'.repeat(10_000) });
    expect(await acme.post('/fleets', body, json)).toMatchObject({
      status: 413,
      body: { code: 'PAYLOAD_TOO_LARGE', detail: expect.stringContaining('10000') },
    });
  });

  test('a body without Content-Length', async () => {
    const { hostname, port } = new URL(gateway.url);
    const call = request({ hostname, port, path: '/fleets', method: 'POST', headers: { ...acme.headers, ...json } });
    call.write(`{"name":"${'x'.repeat(9_000)}`);
    call.end(`${'x'.repeat(9_000)}"}`);
    const { promise, resolve, reject } = Promise.withResolvers<import('node:http').IncomingMessage>();
    call.once('response', resolve).once('error', reject);
    const response = await promise;
    expect(response.statusCode).toBe(413);
    expect(JSON.parse(await text(response))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });
});

describe('probes', () => {
  test('/livez and /readyz answer 200 to anyone', async () => {
    expect(await gateway.anyone.get('/livez')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await gateway.anyone.get('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } });
  });
});

test('no route of the table is hidden behind another one', async () => {
  const vehicle = await addVehicle(acme);
  const contract = await createContract(acme, vehicle);
  const values: Record<string, string> = { fleetId: vehicle.fleetId, vehicleId: vehicle.id, vin: vehicle.vin };
  for (const { method, path } of routes) {
    const real = path.replace(/:(\w+)/g, (_, name) => values[name] ?? contract.id);
    const { headers } = await gateway.anyone.send('OPTIONS', real);
    expect(headers.get('allow')?.split(', '), `${method} ${path}`).toContain(method);
  }
});
