import { afterEach, beforeEach, expect, test } from 'vitest';
import { Mercedes } from '../../src/manufacturers/mercedes.ts';
import { json, UpstreamServer } from '../support/upstream.ts';

const VIN = 'W1K2130041A123456';

let upstream: UpstreamServer;
let provider: Mercedes;

const connect = (clientSecret = 'secret') =>
  new Mercedes({ url: upstream.url, tokenUrl: upstream.tokenUrl, clientId: 'client', clientSecret });
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
  expect(upstream.received[2]).toMatchObject({ method: 'POST', body: JSON.stringify([VIN]) });
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

test('Mercedes-Benz: a validation error has failed, and the customer must act', async () => {
  const fault = { type: '/error/validation-error', statusCode: 400 };
  upstream.next('compatibilities', json(400, fault));
  expect(await ask()).toMatchObject({
    outcome: 'FAILED',
    reason: { code: 'VIN_REFUSED', actor: 'CUSTOMER' },
    raw: fault,
  });
  upstream.account.clear();
  upstream.next('vehicles', json(400, fault));
  expect(await ask()).toMatchObject({ outcome: 'FAILED', reason: { code: 'VIN_REFUSED', actor: 'CUSTOMER' } });
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
