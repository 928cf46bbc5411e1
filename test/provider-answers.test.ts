import { afterAll, expect, test } from 'vitest';
import type { Json } from './support/client.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { askingAt, startGateway } from './support/gateway.ts';
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
