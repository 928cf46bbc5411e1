import { afterAll, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { reaskUnsupported } from '../src/core/vehicles/due-vehicles.ts';
import type { Client } from './support/client.ts';
import { addVehicles, newVin } from './support/factories.ts';
import { askingAt, type Gateway, startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { UpstreamServer, vinOf } from './support/upstream.ts';

// Another provider than before: gateways with other settings on the same database, one after the other.

const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());
const none = { SANDBOX: 'off' };
const first = await startGateway();
const start = (settings: NodeJS.ProcessEnv) => startGateway({ on: first, workers: true, settings });

const eligibilityOf = (client: Client, vin: string) =>
  client.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=20' });
const statusOf = async (client: Client, vin: string) => {
  const query = `{ eligibility(vin: "${vin}") { status verifiedAt reason { code actor } } }`;
  return (await client.post('/graphql', { query })).body.data.eligibility;
};
const asked = (vin: string) =>
  upstream.received.filter((one) => one.endpoint === 'eligibility' && vinOf(one) === vin).length;
const rowOf = async (gateway: Gateway, vin: string) =>
  (await gateway.execute<Record<string, unknown>>(`select * from vehicle where vin = '${vin}'`))[0];
const unsupported = {
  status: 'UNSUPPORTED',
  verifiedAt: null,
  reason: { code: 'MANUFACTURER_NOT_SUPPORTED', actor: 'OPERATOR' },
};

test('without a provider vehicles are UNSUPPORTED; with one they are asked about at once', async () => {
  const [vin, ferrari] = [newVin(), newVin(0, 'ZFF')];
  const before = await start(none);
  const acme = await before.as('acme');
  await addVehicles(acme, [vin, ferrari]);
  expect(await eligibilityOf(acme, vin)).toMatchObject({ status: 400, body: { code: 'MANUFACTURER_NOT_SUPPORTED' } });
  for (const one of [vin, ferrari]) expect(await statusOf(acme, one)).toEqual(unsupported);
  expect((await acme.get('/providers')).body).toEqual([]);
  // Somebody wants to know again: there is nobody to ask.
  await acme.post(`/vehicles/eligibility/${vin}/refresh`);
  const rests = `select from vehicle where vin = '${vin}' and claimed_by is null and due_at > now() + interval '1 day'`;
  await until(async () => (await before.execute(rests)).length > 0);
  expect(await statusOf(acme, vin)).toEqual(unsupported);
  await before.close();

  const after = await start(askingAt(upstream));
  await until(async () => (await statusOf(await after.as('acme'), vin)).status === 'ELIGIBLE');
  expect(await statusOf(await after.as('acme'), ferrari)).toEqual(unsupported);
  expect(asked(vin)).toBe(1);
  expect(await rowOf(after, ferrari)).toMatchObject({ claimed_by: null, attempts: 0 });
  // Nothing is left that another start would ask about.
  expect(await reaskUnsupported(contextOf(after.services, 'test', null))).toBe(false);
  await after.close();
});
