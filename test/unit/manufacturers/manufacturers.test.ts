import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { openPlaces } from '../../../src/fairness/slots.ts';
import { candidateBrands, highMobilityEligibilityBrands } from '../../../src/manufacturers/brands.ts';
import { openManufacturers } from '../../../src/manufacturers/open-manufacturers.ts';
import type { Manufacturers } from '../../../src/manufacturers/registry.ts';
import { type Behaviour, eligible, json, UpstreamServer } from '../../support/upstream.ts';

const OPEL = 'W0LPE6DJ1BG062791';
const MERCEDES = 'W1K2130041A123456';
const FERRARI = 'ZFF73SKA0B0180001';
const UNKNOWN = 'QQQ00000000000001';

let upstream: UpstreamServer;
let manufacturers: Manufacturers;

const credentials = { CLIENT_ID: 'client', CLIENT_SECRET: 'secret' };
const prefixed = (prefix: string, values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}_${name}`, value]));
const highMobility = () => prefixed('HIGH_MOBILITY', { URL: upstream.url, ...credentials });
const mercedes = () => prefixed('MERCEDES', { URL: upstream.url, TOKEN_URL: upstream.tokenUrl, ...credentials });

const byId = (id: string) => manufacturers.list().find((one) => one.id === id);
const brandsAsked = () =>
  upstream.received.filter((one) => one.endpoint === 'eligibility').map((one) => JSON.parse(one.body).brand);

async function open(env: Record<string, string>): Promise<void> {
  await manufacturers?.close();
  manufacturers = await openManufacturers(readConfig(env), { openPlaces });
}

/** Answers for these brands, and refuses others. */
const only =
  (...served: string[]): Behaviour =>
  (response, received) => {
    const known = served.includes(JSON.parse(received.body).brand);
    const refusal = json(422, { errors: [{ title: 'invalid', source: 'brand' }] });
    return (known ? eligible() : refusal)(response, received);
  };

beforeEach(async () => {
  upstream = await UpstreamServer.start();
  await open(highMobility());
});

afterEach(async () => {
  await manufacturers.close();
  await upstream.close();
});

describe('Manufacturers: providers of brands', () => {
  test('without settings the sandbox serves every brand but two', async () => {
    await open({});
    expect(byId('volkswagen')).toMatchObject({ name: 'Volkswagen', provider: 'sandbox', supported: true });
    expect(manufacturers.list().filter((one) => !one.supported)).toEqual([
      { id: 'ferrari', name: 'Ferrari', provider: null, supported: false, contracts: false, wmis: ['ZFF'] },
      { id: 'porsche', name: 'Porsche', provider: null, supported: false, contracts: true, wmis: ['WP0', 'WP1'] },
    ]);
    expect(await manufacturers.verify(OPEL)).toMatchObject({ status: 'ELIGIBLE', manufacturer: 'opel' });
    expect(manufacturers.state()).toMatchObject([
      { id: 'sandbox', breaker: 'CLOSED', probeAt: null, pausedUntil: null },
    ]);
  });

  test('with a database server the sandbox is on only if it is chosen, and never beside a provider', async () => {
    const server = {
      ...{ DATABASE_URL: 'postgresql://127.0.0.1/fleets', AUTH_ISSUER: 'https://id.example.com' },
      CONTRACTS_AUTH: 'required',
    };
    const providers = async (settings: Record<string, string>) => {
      await open(settings);
      return manufacturers.state().map(({ id }) => id);
    };
    expect(await providers(server)).toEqual([]);
    expect(manufacturers.list().filter((one) => one.supported)).toEqual([]);
    expect(await manufacturers.verify(OPEL)).toMatchObject({
      status: 'UNSUPPORTED',
      reason: { code: 'MANUFACTURER_NOT_SUPPORTED', actor: 'OPERATOR' },
      asked: false,
    });
    expect(await providers({ ...server, SANDBOX: 'on' })).toEqual(['sandbox']);
    expect(await providers({ SANDBOX: 'off' })).toEqual([]);
    expect(await providers({ ...server, ...highMobility(), SANDBOX: 'on' })).toEqual(['high-mobility']);
  });

  test('High Mobility serves its own brands', () => {
    const served = manufacturers.list().filter((one) => one.provider === 'high-mobility');
    expect(served.map((one) => one.id)).toEqual([...highMobilityEligibilityBrands, 'dacia'].toSorted());
    expect(byId('tesla')).toMatchObject({ provider: null, supported: false });
  });

  test('HIGH_MOBILITY_BRANDS limits the brands', async () => {
    await open({ ...highMobility(), HIGH_MOBILITY_BRANDS: 'bmw, mini' });
    expect(
      manufacturers
        .list()
        .filter((one) => one.supported)
        .map((one) => one.id),
    ).toEqual(['bmw', 'mini']);
  });

  test('HIGH_MOBILITY_BRANDS names brands that are cleared without an eligibility check, too', async () => {
    await open({ ...highMobility(), HIGH_MOBILITY_BRANDS: 'bmw, audi, porsche' });
    expect(byId('bmw')).toMatchObject({ provider: 'high-mobility' });
    expect(byId('audi')).toMatchObject({ provider: null });
    expect(Object.keys(manufacturers.offers).toSorted()).toEqual(['audi', 'bmw', 'porsche']);
  });

  test.each([
    ['dacia, bmw', ['bmw', 'dacia']],
    ['renault', ['renault']],
  ])(
    'HIGH_MOBILITY_BRANDS=%s concerns the brand of a vehicle, not the one by which it is asked about',
    async (named, ids) => {
      await open({ ...highMobility(), HIGH_MOBILITY_BRANDS: named });
      const supported = manufacturers.list().filter((one) => one.supported);
      expect(supported.map(({ id }) => id)).toEqual(ids);
      expect(Object.keys(manufacturers.offers)).toEqual(expect.arrayContaining(ids));
    },
  );

  test('HIGH_MOBILITY_BRANDS without credentials, or with an unknown brand, stops the start', () => {
    expect(() => readConfig({ HIGH_MOBILITY_BRANDS: 'bmw' })).toThrow(
      'HIGH_MOBILITY_CLIENT_SECRET: is required, because HIGH_MOBILITY_BRANDS is set',
    );
    expect(() => readConfig({ HIGH_MOBILITY_BRANDS: 'bmw,bwm' })).toThrow('HIGH_MOBILITY_BRANDS');
  });

  test('Connect Your Fleet takes mercedes-benz from High Mobility, and nothing else', async () => {
    expect(byId('mercedes-benz')?.provider).toBe('high-mobility');
    await open({ ...highMobility(), ...mercedes() });
    expect(byId('mercedes-benz')?.provider).toBe('connect-your-fleet');
    expect(byId('bmw')?.provider).toBe('high-mobility');
    expect(await manufacturers.verify(MERCEDES)).toMatchObject({ status: 'ELIGIBLE', manufacturer: 'mercedes-benz' });
    expect(upstream.count('eligibility')).toBe(0);
    expect(manufacturers.state().map((one) => one.id)).toEqual(['high-mobility', 'connect-your-fleet']);
  });

  test('Connect Your Fleet is asked for tokens of the scope that is set', async () => {
    upstream.scope = 'openid groups profile audience:server:client_id:1';
    await open({ ...mercedes(), MERCEDES_SCOPE: upstream.scope });
    expect(await manufacturers.verify(MERCEDES)).toMatchObject({ status: 'ELIGIBLE', manufacturer: 'mercedes-benz' });
    await open(mercedes());
    expect(await manufacturers.verify(MERCEDES)).toMatchObject({ reason: { code: 'PROVIDER_CREDENTIALS' } });
  });

  test('Connect Your Fleet alone is no reason for a sandbox', async () => {
    await open(mercedes());
    expect(
      manufacturers
        .list()
        .filter((one) => one.supported)
        .map((one) => one.id),
    ).toEqual(['mercedes-benz']);
  });

  test('a VIN determines brand and support', () => {
    expect(candidateBrands(OPEL)).toEqual(['opel', 'vauxhall']);
    expect(manufacturers.manufacturerOf(OPEL)).toBe('opel');
    expect(manufacturers.supports(OPEL)).toBe(true);
    expect(manufacturers.manufacturerOf(FERRARI)).toBe('ferrari');
    expect(manufacturers.supports(FERRARI)).toBe(false);
    expect(manufacturers.manufacturerOf(UNKNOWN)).toBeNull();
    expect(manufacturers.supports(UNKNOWN)).toBe(false);
    expect(manufacturers.list()).toContainEqual(expect.objectContaining({ id: 'citroen', name: 'Citroën' }));
  });

  test('the list is a copy', () => {
    manufacturers.list().length = 0;
    expect(manufacturers.list().length).toBeGreaterThan(30);
  });
});

describe('Manufacturers: one verification', () => {
  test('asks the candidates in order and names the winner', async () => {
    upstream.always('eligibility', only('vauxhall'));
    expect(await manufacturers.verify(OPEL)).toMatchObject({
      status: 'ELIGIBLE',
      manufacturer: 'vauxhall',
      reason: null,
    });
    expect(brandsAsked()).toEqual(['opel', 'vauxhall']);
  });

  test('asks the remembered brand first', async () => {
    upstream.always('eligibility', only('vauxhall'));
    await manufacturers.verify(OPEL, 'vauxhall');
    expect(brandsAsked()).toEqual(['vauxhall']);
  });

  test('a remembered brand that is no candidate changes nothing', async () => {
    await manufacturers.verify(OPEL, 'bmw');
    expect(brandsAsked()).toEqual(['opel']);
  });

  test('candidates without a provider are skipped', async () => {
    await open({ ...highMobility(), HIGH_MOBILITY_BRANDS: 'vauxhall' });
    expect(await manufacturers.verify(OPEL)).toMatchObject({ status: 'ELIGIBLE', manufacturer: 'vauxhall' });
    expect(brandsAsked()).toEqual(['vauxhall']);
  });

  test('the eligibility of a Dacia is asked about as a Renault’s, and it stays a Dacia', async () => {
    expect(await manufacturers.verify('UU1HSDCL5L0000001')).toMatchObject({
      status: 'ELIGIBLE',
      manufacturer: 'dacia',
    });
    expect(brandsAsked()).toEqual(['renault']);
  });

  test('a vehicle that may be a Renault is not asked about as a Dacia, whose answer would be a Renault’s', async () => {
    await open({ ...highMobility(), HIGH_MOBILITY_BRANDS: 'dacia, bmw' });
    const unsupported = { status: 'UNSUPPORTED', manufacturer: 'renault', asked: false };
    expect(await manufacturers.verify('VF1HSDCL5L0000001')).toMatchObject(unsupported);
    // It does not come due each hour for nothing.
    expect(manufacturers.supports('VF1HSDCL5L0000001')).toBe(false);
    expect(manufacturers.servable.wmis).not.toContain('VF1');
    expect(brandsAsked()).toEqual([]);
    expect(await manufacturers.verify('UU1HSDCL5L0000001')).toMatchObject({
      status: 'ELIGIBLE',
      manufacturer: 'dacia',
    });
    expect(brandsAsked()).toEqual(['renault']);
  });

  test('all candidates refused is UNSUPPORTED, with the raw answers', async () => {
    upstream.always('eligibility', only());
    const refusal = { errors: [{ title: 'invalid', source: 'brand' }] };
    expect(await manufacturers.verify(OPEL)).toMatchObject({
      status: 'UNSUPPORTED',
      manufacturer: 'opel',
      reason: { code: 'MANUFACTURER_NOT_SUPPORTED', actor: 'OPERATOR' },
      raw: [refusal, refusal],
    });
  });

  test('no provider is UNSUPPORTED without a call, and so is an unknown maker', async () => {
    expect(await manufacturers.verify(FERRARI)).toEqual({
      status: 'UNSUPPORTED',
      manufacturer: 'ferrari',
      dataDelivery: [],
      connectivityStatus: null,
      primaryUserAssigned: null,
      reason: expect.objectContaining({ code: 'MANUFACTURER_NOT_SUPPORTED' }),
      raw: null,
      asked: false,
    });
    expect(await manufacturers.verify(UNKNOWN)).toMatchObject({
      status: 'UNSUPPORTED',
      manufacturer: null,
      reason: { code: 'MANUFACTURER_UNKNOWN' },
    });
    expect(upstream.received).toEqual([]);
  });

  test('INELIGIBLE has a reason and ends the calls', async () => {
    upstream.always('eligibility', eligible({ eligible: false, data_delivery: [] }));
    expect(await manufacturers.verify(OPEL)).toMatchObject({
      status: 'INELIGIBLE',
      manufacturer: 'opel',
      reason: { code: 'NOT_ELIGIBLE', actor: 'MANUFACTURER', retryable: true },
    });
    expect(brandsAsked()).toEqual(['opel']);
  });

  test('a refused VIN is FAILED and ends the calls', async () => {
    upstream.always('eligibility', json(422, { errors: [{ title: 'invalid', source: 'vin' }] }));
    expect(await manufacturers.verify(OPEL)).toMatchObject({ status: 'FAILED', reason: { actor: 'CUSTOMER' } });
    expect(brandsAsked()).toEqual(['opel']);
  });

  test('no answer is PENDING, with Retry-After, and the next candidate is not asked', async () => {
    upstream.next('eligibility', json(429, { errors: [] }, { 'retry-after': '7' }));
    expect(await manufacturers.verify(OPEL)).toEqual({
      status: 'PENDING',
      reason: expect.objectContaining({ code: 'PROVIDER_BUSY', actor: 'MANUFACTURER', retryable: true }),
      retryAfter: 7,
      asked: true,
      raw: { status: 429, body: { errors: [] } },
    });
    expect(await manufacturers.verify(OPEL)).toMatchObject({ status: 'PENDING', asked: false });
    expect(brandsAsked()).toEqual(['opel']);
    expect(manufacturers.state()[0]?.pausedUntil).toBeInstanceOf(Date);
  });
});
