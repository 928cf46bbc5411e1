import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { highMobilityEligibilityBrands } from '../../../src/manufacturers/brands.ts';
import { openSandbox, type Sandbox } from '../../../src/manufacturers/sandbox.ts';
import type { Json } from '../../support/client.ts';
import { type Exchange, faultsOf, hasDocuments, unlessMissing } from '../../support/published.ts';
import { UpstreamServer } from '../../support/upstream.ts';

// The fakes and the sandbox refuse what manufacturers' published documents refuse, and answer as these say.

const VIN = 'W1K2130041A123456';
const OTHER = 'W1K2130041A123457';

let upstream: UpstreamServer;
let sandbox: Sandbox;

beforeAll(async () => {
  [upstream, sandbox] = await Promise.all([UpstreamServer.start(), openSandbox(async () => {})]);
  upstream.decide = () => ({ status: 'approved', afterMs: 86_400_000 });
});
afterAll(() => Promise.all([upstream.close(), sandbox.close()]));

interface Request {
  document: string;
  method: string;
  path: string;
  body?: unknown;
}

const token = (id: string, secret: string): Request => ({
  document: 'hm-oauth-rest-v1.yml',
  method: 'POST',
  path: '/v1/access_tokens',
  body: { grant_type: 'client_credentials', client_id: id, client_secret: secret },
});
const question: Request = {
  document: 'hm-eligibility-v1.yml',
  method: 'POST',
  path: '/v1/eligibility',
  body: { vin: VIN, brand: 'mercedes-benz' },
};
const mercedes = { document: 'mercedes-vehicle-management.yaml' };
const compatibilities = (vin: string) => ({
  ...mercedes,
  method: 'GET',
  path: `/v1/accounts/vehicles/${vin}/compatibilities`,
});
const enrolment = (body: unknown) => ({ ...mercedes, method: 'POST', path: '/v1/accounts/vehicles', body });

const clearances: Request = {
  document: 'hm-fleet-clearance-v1.yml',
  method: 'POST',
  path: '/v1/fleets/vehicles',
  body: { vehicles: [{ vin: VIN, brand: 'bmw' }] },
};
const clearance = (method: string, vin: string) => ({
  document: 'hm-fleet-clearance-v1.yml',
  method,
  path: `/v1/fleets/vehicles/${vin}`,
});
const orders = (body: unknown) => ({ ...mercedes, method: 'POST', path: '/v2/accounts/vehicles/services', body });
const service = { serviceId: '1001', desiredStatus: 'ACTIVE' };
const servicesOf = (vin: string) => ({ ...mercedes, method: 'GET', path: `/v2/accounts/vehicles/${vin}/services` });
const licenceOf = (vin: string, id: string) => ({
  ...mercedes,
  method: 'GET',
  path: `/v1/accounts/vehicles/${vin}/services/${id}/license-status`,
});

type Server = 'fake' | 'sandbox';

async function send(server: Server, { document, method, path, body }: Request, headers: Record<string, string> = {}) {
  const url = server === 'fake' ? upstream.url : sandbox.url;
  const json = { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, ...(body === undefined ? { headers } : json) });
  const answer = await response.text();
  const exchange: Exchange = { document, method, path, status: response.status };
  return { ...exchange, ...(body !== undefined && { body }), ...(answer && { answer: JSON.parse(answer) }) };
}

const issued = new Map<Server, string>();
async function authorization(server: Server): Promise<{ authorization: string }> {
  const credentials = server === 'fake' ? token('client', 'secret') : token('sandbox', 'sandbox');
  const found = issued.get(server) ?? ((await send(server, credentials)).answer as Json).access_token;
  issued.set(server, found);
  return { authorization: `Bearer ${found}` };
}

const cases: [server: Server, name: string, request: Request, statuses: number[]][] = [
  ['fake', 'a token', token('client', 'secret'), [400]],
  ['sandbox', 'a token', token('sandbox', 'sandbox'), [400]],
  ['fake', 'an eligibility', question, [422]],
  ['sandbox', 'an eligibility', question, [422]],
  ['fake', 'vehicles for the account', enrolment([{ vin: VIN }, { vin: OTHER }]), [400]],
  ['fake', 'clearances', clearances, [422]],
  ['sandbox', 'clearances', clearances, [422]],
  [
    'fake',
    'orders of services',
    orders([
      { vin: VIN, services: [service] },
      { vin: OTHER, services: [] },
    ]),
    [400],
  ],
];

describe.skipIf(!hasDocuments)(`By the published documents${unlessMissing}`, () => {
  test.each(cases)('the %s gives %s, and refuses each request that the document refuses', async (...given) => {
    const [server, , request, refusals] = given;
    const headers = await authorization(server);
    const good = await send(server, request, headers);
    expect(faultsOf(good)).toEqual({ request: [], answer: [] });
    expect(good.status).toBeLessThan(300);
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(changed(request.body), async (body) => {
        const exchange = await send(server, { ...request, body }, headers);
        const faults = faultsOf(exchange);
        expect(faults.answer).toEqual([]);
        if (faults.request.length === 0) return;
        refused += 1;
        expect(refusals, faults.request.join()).toContain(exchange.status);
      }),
      { numRuns: 150 },
    );
    expect(refused).toBeGreaterThan(50);
  });

  test.each([
    ['401 without a token', question, {}, 401],
    ['401 of Mercedes-Benz without a body', compatibilities(VIN), {}, 401],
    ['404 for a vehicle that is not in the account', compatibilities('W1K2130041A999999'), 'token', 404],
    ['400 for a VIN that is none there', compatibilities('W1K2130041A12345X'), 'token', 400],
    ['201 without a body', enrolment([{ vin: VIN }]), 'token', 201],
    [
      '400 for all vehicles, if one has such a VIN',
      enrolment([{ vin: OTHER }, { vin: 'W1K2130041A12345X' }]),
      'token',
      400,
    ],
    ['400 for a vehicle that is named twice', enrolment([{ vin: OTHER }, { vin: OTHER }]), 'token', 400],
    ['403 for a blacklisted vehicle', enrolment([{ vin: 'W1K2130041A000000' }]), 'token', 403],
    ['401 for a clearance', clearances, {}, 401],
    ['404 for a clearance that is none', clearance('DELETE', OTHER), 'token', 404],
    ['200 for a clearance', clearance('GET', VIN), 'token', 200],
    ['422 for a pending clearance that cannot be cancelled', clearance('DELETE', VIN), 'token', 422],
    ['200 for a list of clearances', { ...clearances, method: 'GET', body: undefined }, 'token', 200],
    ['202 for an order, without a body', orders([{ vin: VIN, services: [service] }]), 'token', 202],
    ['200 for services', servicesOf(VIN), 'token', 200],
    ['404 for services of a vehicle that is not in the account', servicesOf('W1K2130041A999999'), 'token', 404],
    ['400 for services of no VIN', servicesOf('W1K2130041A12345X'), 'token', 400],
    [
      '404 for an order of an unknown service',
      orders([{ vin: VIN, services: [{ ...service, serviceId: '9' }] }]),
      'token',
      404,
    ],
    [
      '400 for an order that needs another consent',
      orders([{ vin: VIN, services: [{ ...service, serviceId: '1000' }] }]),
      'token',
      400,
    ],
    [
      '403 for an order for a blacklisted vehicle',
      orders([{ vin: 'W1K2130041A000000', services: [service] }]),
      'token',
      403,
    ],
    ['200 for a licence', licenceOf(VIN, '1001'), 'token', 200],
    ['404 for a licence of an unknown service', licenceOf(VIN, '9'), 'token', 404],
  ] as [string, Request, 'token' | object, number][])('an answer has the published form: %s', async (...given) => {
    const [, request, headers, status] = given;
    upstream.blacklist.add('W1K2130041A000000');
    upstream.account.add(VIN);
    const exchange = await send('fake', request, headers === 'token' ? await authorization('fake') : {});
    expect(exchange.status).toBe(status);
    expect(faultsOf(exchange).answer).toEqual([]);
  });

  test('the brands of eligibility are those that High Mobility publishes for it', () => {
    const asks = (brand: string) => faultsOf({ ...question, body: { vin: VIN, brand }, status: 422 }).request;
    for (const brand of highMobilityEligibilityBrands) expect(asks(brand)).toEqual([]);
    // It has them for clearances alone.
    for (const brand of ['audi', 'tesla', 'porsche']) expect(asks(brand)).toHaveLength(1);
  });

  test('what our adapter once sent to Mercedes-Benz is found', () => {
    expect(faultsOf({ ...enrolment([VIN]), status: 201, answer: null }).request).toEqual(['body/0 must be object']);
    expect(faultsOf({ ...enrolment([{ vin: VIN }]), status: 201, answer: {} }).answer).toEqual([
      'answer must be empty',
    ]);
    expect(faultsOf({ ...enrolment([{ vin: VIN, brand: 'bmw' }]), status: 202 })).toEqual({
      request: ['body/0 must NOT have additional properties'],
      answer: ['202 is not documented'],
    });
  });
});

test.each<Server>(['fake', 'sandbox'])('the %s knows only published methods, paths and media types', async (server) => {
  const headers = await authorization(server);
  const text = await send(server, question, { ...headers, 'content-type': 'text/plain' });
  const got = await send(server, { document: '', method: 'GET', path: '/v1/eligibility' }, headers);
  const elsewhere = await send(server, { ...question, path: '/v1/eligibilities' }, headers);
  const asked = await send(server, { ...question, path: '/v1/eligibility?dry=true' }, headers);
  expect([text, got, elsewhere, asked].map(({ status }) => status)).toEqual([422, 405, 404, 422]);
});

/** A valid body with a fault: a member less, one more, one of another type, or another body. */
function changed(body: unknown): fc.Arbitrary<unknown> {
  const value = fc.oneof(fc.constant(null), fc.integer(), fc.boolean(), fc.string(), fc.constant([]), fc.constant({}));
  if (Array.isArray(body)) {
    const [first] = body;
    const one = fc.oneof(changed(first), fc.constant(first.vin));
    return fc.oneof(value, one, fc.tuple(fc.constant(first), one), fc.constant({ vehicles: body }));
  }
  const members = Object.entries(body as object);
  const name = fc.constantFrom(...members.map(([key]) => key));
  return fc.oneof(
    value,
    name.map((gone) => Object.fromEntries(members.filter(([key]) => key !== gone))),
    fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), value).map(([key, more]) => ({ ...(body as object), [key]: more })),
    fc.tuple(name, value).map(([key, other]) => ({ ...(body as object), [key]: other })),
    fc
      .tuple(name, fc.constantFrom('Vin', 'VIN', 'brands'))
      .map(([key, other]) => Object.fromEntries(members.map(([one, held]) => [one === key ? other : one, held]))),
  );
}
