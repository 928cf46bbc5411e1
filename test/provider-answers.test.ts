import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { Json } from './support/client.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { askingAt, startGateway } from './support/gateway.ts';
import { hasDocuments } from './support/published.ts';
import { until } from './support/until.ts';
import { type Behaviour, eligible, text, UpstreamServer, vinOf } from './support/upstream.ts';

// Any response of a provider is stored with its vehicle.

const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());
const gateway = await startGateway({ workers: true, settings: askingAt(upstream) });
const acme = await gateway.as('acme');

const ANSWER = '"eligible":true,"data_delivery":["pull"]';

test.each<[string, Behaviour, { status: string; raw: unknown }]>([
  ['text that is no JSON', text(503, 'out of\0 order'), { status: 'PENDING', raw: null }],
  ['text cut within a character', text(500, 'x'.repeat(999).padEnd(4_000, '😀')), { status: 'PENDING', raw: null }],
  ['JSON of too many levels', text(200, '['.repeat(50_000).padEnd(100_000, ']')), { status: 'PENDING', raw: null }],
  [
    'JSON with texts that are none',
    text(200, `{${ANSWER},"a":"\\u0000","b":["\\ud83d"],"c":"\\\\u0000 \\\\\\u0000 \\ud83d\\ude00"}`),
    { status: 'ELIGIBLE', raw: { a: '\ufffd', b: ['\ufffd'], c: '\\u0000 \\\ufffd 😀' } },
  ],
  [
    'JSON with names that are none',
    text(200, `{${ANSWER},"a\\u0000":{"\\udc00":1}}`),
    { status: 'ELIGIBLE', raw: { 'a\ufffd': { '\ufffd': 1 } } },
  ],
])('%s is stored, and so are the answers that come with it', async (_name, behaviour, { status, raw }) => {
  const vins = newVins(3);
  upstream.always('eligibility', (response, received) =>
    (vinOf(received) === vins[1] ? behaviour : eligible())(response, received),
  );
  const fleet = await createFleet(acme);
  await addVehicles(acme, vins, fleet);
  const query = `query ($id: ID!) { fleet(id: $id) { vehicles { nodes { vin eligibility { status reason { code } } } } } }`;
  const answers = async () => {
    const { body } = await acme.post('/graphql', { query, variables: { id: fleet.id } });
    const known = new Map<string, Json>(body.data.fleet.vehicles.nodes.map((one: Json) => [one.vin, one.eligibility]));
    return vins.map((vin) => known.get(vin) as Json);
  };
  await until(async () => (await answers()).every((one) => one.status !== 'PENDING' || one.reason !== null));
  expect((await answers()).map((one) => one.status)).toEqual(['ELIGIBLE', status, 'ELIGIBLE']);
  const [row] = await gateway.execute<{ raw_answer: unknown }>(
    `select raw_answer from vehicle where vin = '${vins[1]}'`,
  );
  if (raw === null) expect(row?.raw_answer).toBeNull();
  else expect(row?.raw_answer).toMatchObject(raw as object);
});

test('Mercedes-Benz’s answers are stored: of an account that lacks the vehicles, by the published document', async () => {
  const fake = await UpstreamServer.start();
  onTestFinished(() => fake.close());
  const { url: MERCEDES_URL, tokenUrl: MERCEDES_TOKEN_URL } = fake;
  const credentials = { MERCEDES_CLIENT_ID: 'client', MERCEDES_CLIENT_SECRET: 'secret' };
  const own = await startGateway({ workers: true, settings: { MERCEDES_URL, MERCEDES_TOKEN_URL, ...credentials } });
  const client = await own.as('acme');
  const [good = '', refused = '', blacklisted = ''] = ['1234', '123A', '1235'].map((end) => `W1K2130041A12${end}`);
  fake.blacklist.add(blacklisted);
  await addVehicles(client, [good, refused, blacklisted]);
  const answered = (vin: string) =>
    until(async () => {
      const { status, body } = await client.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=20' });
      return status !== 409 && { status, body };
    });
  expect(await answered(good)).toMatchObject({ status: 200, body: { status: 'ELIGIBLE', reason: null } });
  for (const [vin, code, actor] of [
    [refused, 'VIN_REFUSED', 'CUSTOMER'],
    [blacklisted, 'VEHICLE_BLACKLISTED', 'MANUFACTURER'],
  ] as const) {
    const reason = { code, actor, retryable: false };
    expect(await answered(vin)).toMatchObject({ status: 200, body: { status: 'FAILED', eligible: null, reason } });
    const query = `{ eligibility(vin: "${vin}") { status reason { code actor retryable } } }`;
    const { body } = await client.post('/graphql', { query });
    expect(body.data.eligibility).toEqual({ status: 'FAILED', reason });
  }
  if (hasDocuments) expect(fake.faults).toEqual([expect.stringContaining('vin must match pattern')]);
});
