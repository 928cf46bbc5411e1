import { createHmac } from 'node:crypto';

import { expect, test } from 'vitest';
import { DAY, inForce, MINUTE, startDecisions } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicles, createContract, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { json } from './support/upstream.ts';

const SECRET = 'a secret of High Mobility’s page';
const { gateway, upstream, work, passTime } = await startDecisions({
  settings: { HIGH_MOBILITY_WEBHOOK_SECRET: SECRET },
});
const [acme, globex] = [await gateway.as('acme'), await gateway.as('globex')];

const signatureOf = (body: string | Buffer, secret = SECRET) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
/** null: without a signature. */
const send = (body: string | Buffer, signature: string | null, url: string, type = 'application/json') =>
  fetch(`${url}/providers/high-mobility/events`, {
    method: 'POST',
    body: new Blob([Buffer.from(body)]),
    headers: { 'content-type': type, ...(signature !== null && { 'x-hm-signature-256': signature }) },
  });
/** The answer to a delivery. */
async function deliver(
  body: string | Buffer,
  signature: string | null = signatureOf(body),
  url = gateway.url,
  type?: string,
) {
  const response = await send(body, signature, url, type);
  const text = await response.text();
  return { status: response.status, code: text && JSON.parse(text).code };
}
let sent = 0;
const eventOf = (...vins: string[]) =>
  JSON.stringify({ event: { id: ++sent, type: 'fleet_clearance_changed' }, vehicles: vins.map((vin) => ({ vin })) });

const dueVins = async () => {
  const now = new Date(gateway.services.clock()).toISOString();
  const rows = await gateway.execute<Json>(
    `select company, vin from activation where due_at <= '${now}' order by company, vin`,
  );
  return rows.map(({ company, vin }) => [company, vin]);
};

const [shared = '', own = '', other = ''] = newVins(3);
const contracts: Json[] = [];
for (const [client, vins] of [
  [acme, [shared, own]],
  [globex, [shared, other]],
] as const) {
  for (const vehicle of await addVehicles(client, [...vins]))
    contracts.push(await createContract(client, vehicle, inForce));
}
await work();

test('makes the programs of its vehicles due, of every company, and no others', async () => {
  expect(await dueVins()).toEqual([]);
  expect(await deliver(eventOf(shared))).toEqual({ status: 204, code: '' });
  expect(await dueVins()).toEqual([
    ['acme', shared],
    ['globex', shared],
  ]);
  // It is believed nothing: the manufacturer has not decided yet.
  await work();
  expect((await acme.get(`/contracts/${contracts[0].id}`)).body.activation.state).toBe('PENDING');
  passTime(11 * MINUTE);
  await work();
  passTime(60 * MINUTE);
  await work();
  expect((await acme.get(`/contracts/${contracts[0].id}`)).body.activation.state).toBe('ACTIVE');
});

const looks = () => upstream.count('clearance-list');

test('a delivery that comes again within a day asks nothing, also of another process', async () => {
  const [before, event] = [await acme.get('/events?limit=100'), eventOf(own)];
  const other = await startGateway({ on: gateway, settings: { HIGH_MOBILITY_WEBHOOK_SECRET: SECRET } });
  const both = await Promise.all([gateway.url, other.url].map((url) => deliver(event, signatureOf(event), url)));
  expect(both.map(({ status }) => status)).toEqual([204, 204]);
  expect(await dueVins()).toEqual([['acme', own]]);
  await work();
  const asked = looks();
  for (let times = 0; times < 20; times++) {
    const { url } = times % 2 ? gateway : other;
    expect((await deliver(event, signatureOf(event), url)).status).toBe(204);
    passTime(MINUTE);
  }
  expect(await dueVins()).toEqual([]);
  expect((await acme.get('/events?limit=100')).body).toEqual(before.body);
  // A day later it may be news. Daily looks are spread over a tenth of a day.
  passTime(1.2 * DAY);
  await work();
  expect(looks()).toBeGreaterThan(asked);
  const later = looks();
  passTime(MINUTE);
  expect((await deliver(event)).status).toBe(204);
  await work();
  expect(looks()).toBe(later + 1);
});

test('however many deliveries come, a vehicle is asked about once in 30 seconds', async () => {
  const asked: number[] = [];
  passTime(DAY);
  await work();
  for (let second = 0; second < 60; second += 5) {
    const before = looks();
    passTime(5000);
    expect((await deliver(eventOf(shared))).status).toBe(204);
    await work();
    if (second > 0) asked.push(looks() - before);
  }
  expect(asked.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(2);
  // While the manufacturer has a fault, its pauses count.
  upstream.always('clearance-list', json(500, {}));
  const before = looks();
  for (let second = 0; second < 60; second += 5) {
    passTime(5000);
    expect((await deliver(eventOf(shared))).status).toBe(204);
    await work();
  }
  // Its pauses double, for each of two companies.
  expect(looks() - before).toBeLessThanOrEqual(10);
  upstream.always('clearance-list', undefined);
});

test('one address sends at most 600 a minute, whatever it sends', async () => {
  const { url } = await startGateway({ on: gateway, settings: { HIGH_MOBILITY_WEBHOOK_SECRET: SECRET } });
  const answers: Response[] = [];
  // The minute of the clock may change meanwhile.
  for (let left = 1300; left > 0 && answers.every(({ status }) => status !== 429); left -= 20)
    answers.push(...(await Promise.all(Array.from({ length: 20 }, () => send('', 'sha256=', url)))));
  const refused = answers.find(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 401).length).toBeGreaterThanOrEqual(600);
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused?.json()).toMatchObject({ code: 'RATE_LIMITED' });
});

test('is signed over its bytes, whatever text they are', async () => {
  // The daily look is over, and not within the last 30 seconds.
  passTime(1.2 * DAY);
  await work();
  passTime(MINUTE);
  const bodies = {
    'a byte order mark': Buffer.from(`\ufeff${eventOf(own)}`),
    'bytes that are not UTF-8': Buffer.concat([
      Buffer.from(eventOf(own).replace('}', ',"plate":"M')),
      Buffer.from('\xfc"}', 'latin1'),
    ]),
    'UTF-16': Buffer.from(`\ufeff${eventOf(own)}`, 'utf16le'),
    nothing: Buffer.alloc(0),
  };
  for (const [what, body] of Object.entries(bodies)) {
    const type = what === 'UTF-16' ? 'application/json; charset=utf-16' : undefined;
    expect([what, (await deliver(body, signatureOf(body), gateway.url, type)).status]).toEqual([what, 204]);
    const other = Buffer.concat([body, Buffer.of(0)]);
    expect([what, (await deliver(other, signatureOf(body), gateway.url, type)).status]).toEqual([what, 401]);
  }
  expect(await dueVins()).toEqual([['acme', own]]);
  await work();
  // A text that a decoder gives for other bytes is another body.
  const [mark, none] = [Buffer.from(`\ufeff${eventOf(own)}`), Buffer.from(eventOf(own))];
  expect((await deliver(mark, signatureOf(none))).status).toBe(401);
  expect(await dueVins()).toEqual([]);
});

test('is refused with a wrong or missing signature', async () => {
  const body = eventOf(shared);
  const wrong = [
    null,
    '',
    'sha256=',
    signatureOf(body, 'another secret'),
    signatureOf(`${body} `),
    signatureOf(body).slice('sha256='.length),
    signatureOf(body).toUpperCase(),
    `${signatureOf(body).slice(0, -1)}é`,
  ];
  for (const signature of wrong)
    expect([signature, await deliver(body, signature)]).toEqual([signature, { status: 401, code: 'UNAUTHENTICATED' }]);
  expect(await dueVins()).toEqual([]);
});

test('well signed, anything else is taken and has no effect', async () => {
  const strange = [
    eventOf('WBA99999999999999'),
    eventOf("' or true --", '\0'),
    JSON.stringify({ vin: 1, vehicles: [null, { vin: [shared] }] }),
    'no JSON',
    '',
    '[',
    '"vin"',
  ];
  for (const body of strange) expect([body, (await deliver(body)).status]).toEqual([body, 204]);
  expect(await dueVins()).toEqual([]);
});

test('a body that is too large is refused before its signature is looked at', async () => {
  const large = JSON.stringify({ vin: 'x'.repeat(300 * 1024) });
  expect(await deliver(large)).toEqual({ status: 413, code: 'PAYLOAD_TOO_LARGE' });
});

test('there is no such path without the secret, nor for other methods', async () => {
  const without = await startGateway();
  expect((await deliver(eventOf(shared), signatureOf(eventOf(shared)), without.url)).status).toBe(404);
  expect((await fetch(`${gateway.url}/providers/high-mobility/events`)).status).toBe(404);
});
