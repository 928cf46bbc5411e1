import { createHmac } from 'node:crypto';

import { expect, test } from 'vitest';
import { inForce, MINUTE, startDecisions } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicles, createContract, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const SECRET = 'a secret of High Mobility’s page';
const { gateway, work, passTime } = await startDecisions({ settings: { HIGH_MOBILITY_WEBHOOK_SECRET: SECRET } });
const [acme, globex] = [await gateway.as('acme'), await gateway.as('globex')];

const signatureOf = (body: string | Buffer, secret = SECRET) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
/** The answer to a delivery; null: without a signature. */
async function deliver(
  body: string | Buffer,
  signature: string | null = signatureOf(body),
  url = gateway.url,
  type = 'application/json',
) {
  const response = await fetch(`${url}/providers/high-mobility/events`, {
    method: 'POST',
    body: new Blob([Buffer.from(body)]),
    headers: { 'content-type': type, ...(signature !== null && { 'x-hm-signature-256': signature }) },
  });
  const text = await response.text();
  return { status: response.status, code: text && JSON.parse(text).code };
}
const eventOf = (...vins: string[]) =>
  JSON.stringify({ event: { type: 'fleet_clearance_changed' }, vehicles: vins.map((vin) => ({ vin })) });

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

test('a delivery that comes again has the vehicle looked at again, and changes nothing', async () => {
  const before = await acme.get('/events?limit=100');
  for (let times = 0; times < 3; times++) expect((await deliver(eventOf(own))).status).toBe(204);
  expect(await dueVins()).toEqual([['acme', own]]);
  await work();
  expect(await dueVins()).toEqual([]);
  expect((await acme.get('/events?limit=100')).body).toEqual(before.body);
});

test('is signed over its bytes, whatever text they are', async () => {
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
