import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { reportProviders } from '../src/core/vehicles/providers.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createFleet, newVin } from './support/factories.ts';
import { askingAt, startGateway } from './support/gateway.ts';
import { rest } from './support/operation.ts';
import { until } from './support/until.ts';
import { json, UpstreamServer } from './support/upstream.ts';

const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());
const working = await startGateway({ workers: true, settings: askingAt(upstream) });
/** A gateway without background work. */
const serving = await startGateway({ on: working, settings: askingAt(upstream) });
const acme = await working.as('acme');

const document =
  '{ providers { name state since askedLastMinute oldestWaiting contracts { toActivate activatingSince toRevoke revokingSince } services { name state since reason { code message actor retryable } } brands { manufacturer { id } state since } } }';
const ofRest = async (client: Client): Promise<Json> => (await client.get('/providers')).body;
const ofGraphql = async (client: Client): Promise<Json> => {
  const { body } = await client.post('/graphql', { query: document });
  expect(body.errors).toBeUndefined();
  return rest(body.data.providers);
};
const bmw = ([provider]: Json) => provider.brands.find(({ id }: Json) => id === 'bmw');
/** Lets the short caches expire. */
const later = () => {
  for (const gateway of [working, serving]) gateway.passTime(6_000);
};

test('an idle provider is OK, and lists its brands', async () => {
  const [provider, ...others] = await ofRest(acme);
  expect(others).toEqual([]);
  expect(provider).toMatchObject({ name: 'high-mobility', state: 'OK', since: null, oldestWaiting: null });
  const { body: manufacturers } = await acme.get('/manufacturers');
  expect(provider.brands).toEqual(
    manufacturers
      .filter((one: Json) => one.provider === 'high-mobility')
      .map(({ id }: Json) => ({ id, state: 'OK', since: null })),
  );
  expect(await ofGraphql(acme)).toEqual([provider]);
  expect(await ofRest(await serving.as('nobody'))).toEqual([{ ...provider, askedLastMinute: expect.any(Number) }]);
});

test('GraphQL returns it beside fields from the database', async () => {
  const fleet = await createFleet(acme);
  const { body } = await acme.post('/graphql', {
    query: `query ($id: ID!) { fleet(id: $id) { id } providers { name } again: providers { state } __typename }`,
    variables: { id: fleet.id },
  });
  expect(body.data).toEqual({
    fleet: { id: fleet.id },
    providers: [{ name: 'high-mobility' }],
    again: [{ state: 'OK' }],
    __typename: 'Query',
  });
});

describe('a provider that fails for a brand', () => {
  let added: Json[];
  beforeAll(async () => {
    upstream.always('eligibility', json(503, {}));
    added = await addVehicles(
      acme,
      Array.from({ length: 8 }, () => newVin()),
    );
    later();
    await until(async () => bmw(await ofRest(acme)).state === 'HELD_BACK');
  });

  test('is reported by both interfaces to any company, with its time and the longest wait', async () => {
    later();
    const [provider] = await ofRest(acme);
    expect(provider.askedLastMinute).toBeGreaterThanOrEqual(5);
    expect(bmw([provider]).since).toMatch(/^\d{4}-.*Z$/);
    const metrics = String((await working.anyone.get('/metrics')).body);
    const [, held] = /^fleet_gateway_provider_held_seconds\{provider="high-mobility"\} (\S+)$/m.exec(metrics) ?? [];
    // It goes on while the brand is probed.
    expect(Number(held)).toBeGreaterThan(6);
    expect(provider.oldestWaiting).toBe(added.map(({ createdAt }) => createdAt).toSorted()[0]);
    const globex = await working.as('globex');
    expect(await ofGraphql(globex)).toMatchObject([{ name: 'high-mobility', oldestWaiting: provider.oldestWaiting }]);
    expect(JSON.stringify(await ofRest(globex))).not.toMatch(/acme|WBA/);
  });

  test('is reported by processes without background work', async () => {
    const elsewhere = await serving.as('globex');
    reportProviders(contextOf(working.services, 'test', null), false);
    const told = await until(async () => {
      const found = await ofRest(elsewhere);
      return bmw(found).state === 'HELD_BACK' && found;
    });
    expect(told[0].askedLastMinute).toBeGreaterThanOrEqual(5);
    // The last report of an ended process expires.
    serving.passTime(60_000);
    expect(bmw(await ofRest(elsewhere)).state).toBe('OK');
  });

  test('is OK again when it answers and no vehicle waits', async () => {
    upstream.always('eligibility', undefined);
    await until(async () => {
      working.passTime(20_000);
      const [provider] = await ofRest(acme);
      return provider.oldestWaiting === null && provider.state === 'OK' && bmw([provider]).state === 'OK';
    });
  });
});

test('needs a token, and fleets:read if scopes are on', async () => {
  expect((await working.anyone.get('/providers')).status).toBe(401);
  const scoped = await startGateway({ settings: { AUTH_SCOPES: 'on' } });
  const writer = await scoped.as('acme', { scope: 'contracts:read' });
  expect((await writer.get('/providers')).status).toBe(403);
  const { body } = await writer.post('/graphql', { query: document });
  expect(body.errors[0].extensions.code).toBe('FORBIDDEN');
});
