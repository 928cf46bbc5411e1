import { expect, test } from 'vitest';
import { openPlaces } from '../src/fairness/slots.ts';
import { HighMobility } from '../src/manufacturers/high-mobility.ts';
import type { Provider, ProviderAnswer, ProviderState } from '../src/manufacturers/provider.ts';
import { manufacturersOf } from '../src/manufacturers/registry.ts';
import type { Json } from './support/client.ts';
import { addVehicles, newVin } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

/** A provider as in docs/architecture.md: a class that implements provider.ts, listed in open-manufacturers.ts. */
class Importer implements Provider {
  readonly id = 'importer';
  readonly brands: ReadonlySet<string> = new Set(['ferrari', 'bmw']);
  readonly preference = 2;
  readonly capacity = openPlaces(4);

  async verify(): Promise<ProviderAnswer> {
    return {
      outcome: 'ANSWERED',
      eligible: true,
      dataDelivery: ['PULL'],
      connectivityStatus: null,
      primaryUserAssigned: null,
      reason: null,
      raw: {},
    };
  }

  state(): ProviderState {
    return {
      ...{ breaker: 'CLOSED', since: null, probeAt: null, reason: null },
      ...{ pausedUntil: null, brands: [], holds: [] },
    };
  }

  async close(): Promise<void> {}
}

const other = new HighMobility({
  openPlaces,
  url: 'http://127.0.0.1:1',
  clientId: 'client',
  clientSecret: 'secret',
  brands: ['bmw', 'mini'],
});
const gateway = await startGateway({ workers: true, manufacturers: manufacturersOf([other, new Importer()]) });
const demo = await gateway.as('demo');

test('a provider is asked about its brands before providers of lower preference', async () => {
  const { body } = await demo.get('/manufacturers');
  const served = body.filter(({ supported }: Json) => supported);
  expect(Object.fromEntries(served.map(({ id, provider }: Json) => [id, provider]))).toEqual({
    bmw: 'importer',
    ferrari: 'importer',
    mini: 'high-mobility',
  });
  for (const wmi of ['ZFF', 'WBA']) {
    const [vehicle] = await addVehicles(demo, [newVin(0, wmi)]);
    const found = async () => (await demo.get(`/vehicles/${vehicle.id}`)).body.eligibility;
    await until(async () => (await found()).status !== 'PENDING');
    expect(await found()).toMatchObject({ status: 'ELIGIBLE' });
  }
});

test('contracts that wait are null for a provider that carries out none', async () => {
  const { body } = await demo.get('/providers');
  const none = { toActivate: 0, activatingSince: null, toRevoke: 0, revokingSince: null };
  expect(Object.fromEntries(body.map(({ name, contracts }: Json) => [name, contracts]))).toEqual({
    'high-mobility': none,
    importer: null,
  });
});
