import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openPlaces } from '../../../src/fairness/slots.ts';
import { Mercedes } from '../../../src/manufacturers/mercedes.ts';
import type { UpstreamOptions } from '../../../src/manufacturers/upstream.ts';
import { hasDocuments, unlessMissing } from '../../support/published.ts';
import { json, UpstreamServer } from '../../support/upstream.ts';

const VIN = 'W1K2130041A123456';

let upstream: UpstreamServer;
let provider: Mercedes;

const connect = (clientSecret = 'secret', options: UpstreamOptions = {}) =>
  new Mercedes({
    openPlaces,
    url: upstream.url,
    tokenUrl: upstream.tokenUrl,
    clientId: 'client',
    clientSecret,
    ...options,
  });
const ask = () => provider.verify(VIN);
const endpoints = () => upstream.received.map((one) => one.endpoint);

beforeEach(async () => {
  upstream = await UpstreamServer.start();
  upstream.account.add(VIN);
  provider = connect();
});

afterEach(async () => {
  await provider.close();
  await upstream.close();
  if (hasDocuments) expect(upstream.faults).toEqual([]);
});

test.skipIf(!hasDocuments)(`Mercedes-Benz: each exchange of this file is as published${unlessMissing}`, async () => {
  upstream.account.clear();
  await ask();
  expect(upstream.faults).toEqual([]);
  expect(upstream.received.map(({ method, answer }) => [method, answer?.[0]])).toEqual([
    ['POST', 200],
    ['GET', 404],
    ['POST', 201],
    ['GET', 200],
  ]);
});

test('Mercedes-Benz: the token is asked for by form, with Basic authentication', async () => {
  expect(await ask()).toMatchObject({ outcome: 'ANSWERED' });
  const [token] = upstream.received;
  expect(token?.headers['content-type']).toBe('application/x-www-form-urlencoded');
  expect(token?.headers.authorization).toBe(`Basic ${btoa('client:secret')}`);
  expect(token?.body).toBe('grant_type=client_credentials&scope=openid');
});

test('Mercedes-Benz: a vehicle that provides connectivity is eligible', async () => {
  expect(await ask()).toMatchObject({
    outcome: 'ANSWERED',
    eligible: true,
    dataDelivery: ['PUSH'],
    connectivityStatus: null,
    primaryUserAssigned: null,
    reason: null,
    raw: { vin: VIN, vehicleProvidesConnectivity: true },
  });
  expect(endpoints()).toEqual(['token', 'compatibilities']);
});

test.each([
  ['no connectivity', { vehicleProvidesConnectivity: false, services: [] }, 'NOT_ELIGIBLE'],
  [
    'no service',
    { vehicleProvidesConnectivity: true, services: [{ serviceId: '1', serviceName: 'Mileage', available: false }] },
    'NO_SERVICE_AVAILABLE',
  ],
])('Mercedes-Benz: ineligible has a reason: %s', async (_name, body, code) => {
  upstream.next('compatibilities', json(200, { vin: VIN, ...body }));
  expect(await ask()).toMatchObject({
    outcome: 'ANSWERED',
    eligible: false,
    dataDelivery: [],
    reason: { code, actor: 'MANUFACTURER', retryable: true },
  });
});

test('Mercedes-Benz: a vehicle that is not in the account is added, then asked for again', async () => {
  upstream.account.clear();
  expect(await ask()).toMatchObject({ outcome: 'ANSWERED', eligible: true });
  expect(endpoints()).toEqual(['token', 'compatibilities', 'vehicles', 'compatibilities']);
  expect(upstream.received[2]).toMatchObject({ method: 'POST', body: JSON.stringify([{ vin: VIN }]) });
  expect(upstream.received[2]?.answer).toEqual([201]);
});

test('Mercedes-Benz: a vehicle that was added and is not known yet is asked for later', async () => {
  upstream.always('compatibilities', json(404, { type: '/vehicle/not-found' }));
  expect(await ask()).toMatchObject({
    outcome: 'NO_ANSWER',
    asked: true,
    reason: { code: 'PROVIDER_ENROLMENT_PENDING', retryable: true },
  });
  expect(upstream.count('vehicles')).toBe(1);
});

const namingVin = {
  type: '/error/validation-error',
  statusCode: 400,
  detail: 'Argument is invalid',
  validationErrors: [{ field: 'vin', message: 'VIN is not a valid VIN', rejectedValue: VIN }],
};
const endpointsAsked = ['compatibilities', 'vehicles'] as const;

describe.each(endpointsAsked)('Mercedes-Benz: a refusal by %s', (endpoint) => {
  beforeEach(() => {
    if (endpoint === 'vehicles') upstream.account.clear();
  });

  test('that names the VIN has failed, and the customer must act', async () => {
    upstream.next(endpoint, json(400, namingVin));
    expect(await ask()).toMatchObject({
      outcome: 'FAILED',
      reason: { code: 'VIN_REFUSED', actor: 'CUSTOMER', retryable: false },
      raw: namingVin,
    });
  });

  test.each([
    [400, { type: '/error/validation-error', title: 'Invalid JSON Input', detail: 'Unexpected character' }],
    [400, { type: '/error/validation-error', validationErrors: [{ field: 'assignVehicleRequests', message: 'no' }] }],
    [400, { type: '/services/illegal-consent-type', services: ['vin'] }],
    [400, { validationErrors: 'vin' }],
    [400, null],
    [403, { type: 'about:blank', title: 'Forbidden' }],
    [403, null],
    [405, {}],
    [409, {}],
    [415, {}],
    [422, namingVin],
  ])('of another kind is the operator’s to look into, and is asked again: %i %j', async (status, body) => {
    upstream.next(endpoint, json(status, body));
    expect(await ask()).toMatchObject({
      outcome: 'NO_ANSWER',
      asked: true,
      reason: { code: 'PROVIDER_UNEXPECTED', actor: 'OPERATOR', retryable: true },
      raw: { status },
    });
  });
});

test('Mercedes-Benz: refusals for an operator are told with status and name, each once a minute', async () => {
  let now = Date.now();
  const told: unknown[] = [];
  await provider.close();
  provider = connect('secret', { clock: () => now, tell: (refusal) => told.push(refusal) });
  const titled = json(403, { type: 'about:blank', title: 'Forbidden', detail: VIN });
  upstream.next(
    'compatibilities',
    titled,
    titled,
    json(400, { type: '/services/illegal-consent-type' }),
    json(403, null),
  );
  for (const _ of [1, 2, 3, 4]) await ask();
  const forbidden = { provider: 'connect-your-fleet', status: 403, fault: 'Forbidden' };
  const others = [
    { status: 400, fault: '/services/illegal-consent-type' },
    { status: 403, fault: null },
  ];
  expect(told).toEqual([forbidden, ...others.map((one) => ({ ...forbidden, ...one }))]);
  now += 61_000;
  upstream.next('compatibilities', titled);
  await ask();
  expect(told.length).toBe(4);
  upstream.next('compatibilities', json(400, namingVin));
  await ask();
  expect(told.length).toBe(4);
});

test('Mercedes-Benz: a VIN that does not end with four digits is refused, and its neighbour is not', async () => {
  const vin = 'W1K2130041A1234A6';
  expect(await provider.verify(vin)).toMatchObject({ outcome: 'FAILED', reason: { code: 'VIN_REFUSED' } });
  if (hasDocuments) expect(upstream.faults).toEqual([expect.stringContaining('vin must match pattern')]);
  upstream.received.length = 0;
  upstream.account.clear();
  expect(await ask()).toMatchObject({ outcome: 'ANSWERED' });
});

test('Mercedes-Benz: a blacklisted vehicle has failed for good, by the manufacturer', async () => {
  upstream.account.clear();
  upstream.blacklist.add(VIN);
  expect(await ask()).toMatchObject({
    outcome: 'FAILED',
    reason: { code: 'VEHICLE_BLACKLISTED', actor: 'MANUFACTURER', retryable: false },
    raw: { type: '/vehicle/blacklist', vins: [VIN] },
  });
});

test('Mercedes-Benz: 503 with Retry-After holds every call off', async () => {
  upstream.next('compatibilities', json(503, {}, { 'retry-after': '3' }));
  expect(await ask()).toMatchObject({ outcome: 'NO_ANSWER', reason: { code: 'PROVIDER_BUSY' }, retryAfter: 4.5 });
  expect(await ask()).toMatchObject({ outcome: 'NO_ANSWER', asked: false });
  expect(upstream.count('compatibilities')).toBe(1);
});

test('Mercedes-Benz: a bad secret and 403 are an operator’s fault', async () => {
  upstream.next('compatibilities', json(403, { title: 'Forbidden' }));
  expect(await ask()).toMatchObject({
    outcome: 'NO_ANSWER',
    reason: { code: 'PROVIDER_UNEXPECTED', actor: 'OPERATOR' },
  });
  await provider.close();
  provider = connect('wrong');
  expect(await ask()).toMatchObject({
    outcome: 'NO_ANSWER',
    reason: { code: 'PROVIDER_CREDENTIALS', actor: 'OPERATOR' },
  });
});

test('Mercedes-Benz: an answer of another shape is asked for again', async () => {
  upstream.next('compatibilities', json(200, { vin: VIN }));
  expect(await ask()).toMatchObject({ outcome: 'NO_ANSWER', reason: { code: 'PROVIDER_BAD_ANSWER' } });
});

test('Mercedes-Benz: an answer about another VIN counts as no answer, and is not stored', async () => {
  upstream.next(
    'compatibilities',
    json(200, { vin: 'W1K2130041A123457', vehicleProvidesConnectivity: true, services: [] }),
  );
  const answer = await ask();
  expect(answer).toMatchObject({ outcome: 'NO_ANSWER', reason: { code: 'PROVIDER_BAD_ANSWER' } });
  expect(JSON.stringify(answer)).not.toContain('W1K2130041A123457');
});
