import { afterEach, beforeEach, expect, test } from 'vitest';
import { openPlaces } from '../../../src/fairness/slots.ts';
import { HighMobility } from '../../../src/manufacturers/high-mobility.ts';
import { Mercedes } from '../../../src/manufacturers/mercedes.ts';
import type { Provider } from '../../../src/manufacturers/provider.ts';
import type { Json } from '../../support/client.ts';
import { hasDocuments } from '../../support/published.ts';
import { json, UpstreamServer } from '../../support/upstream.ts';

// What is said of programs that a manufacturer does not begin, at a server that is as strict as the published documents.

let upstream: UpstreamServer;
const opened = new Set<Provider>();
const credentials = { clientId: 'client', clientSecret: 'secret' };

beforeEach(async () => {
  upstream = await UpstreamServer.start();
});

afterEach(async () => {
  for (const provider of opened) await provider.close();
  opened.clear();
  await upstream.close();
  if (hasDocuments) expect(upstream.faults).toEqual([]);
});

interface Wished {
  vin: string;
  brand?: string;
  program?: string;
  asked?: boolean;
  wanted?: boolean;
  renewed?: boolean;
  state?: 'FAILED';
}

function activate(provider: Provider, wishes: readonly Wished[]) {
  opened.add(provider);
  const all = wishes.map((one) => ({
    ...{ brand: 'audi', program: '', wanted: true, asked: false, renewed: false, repeated: false },
    ...{ state: 'PENDING' as const, reason: null, since: Date.now(), endedAt: null, lookedAt: null },
    ...one,
  }));
  return provider.activator?.activate(all, { company: 'acme', deadline: Number.POSITIVE_INFINITY });
}

test.each([
  ['privacy mode is enabled', 'privacy mode is enabled. Turn off the privacy mode'],
  ['not added to ford portal', 'Give consent to the vehicle in the manufacturer’s fleet portal'],
  ['Consent assignment missing.', 'missing. Give consent'],
  ['VIN activation timeout', 'Drive the vehicle'],
  ['VIN is assigned to a different OEM fleet', 'End the vehicle’s activation with the other fleet'],
])('a rejection says what can be done: %s', async (words, told) => {
  upstream.decide = () => ({ status: 'rejected', afterMs: 0, reason: words });
  const provider = new HighMobility({ openPlaces, url: upstream.url, ...credentials, brands: [] });
  const vin = 'WAUZZZ8V0KA000001';
  expect(await activate(provider, [{ vin }])).toMatchObject([{ state: 'PENDING' }]);
  const [answer] = (await activate(provider, [{ vin, asked: true }])) ?? [];
  expect(answer).toMatchObject({ state: 'REJECTED', reason: { code: 'ACTIVATION_REJECTED', actor: 'MANUFACTURER' } });
  expect(answer?.reason?.message).toContain('rejected the clearance: ');
  expect(answer?.reason?.message).toContain(told);
});

test.each([
  ['ineligible VIN', 'The manufacturer rejected the clearance: ineligible VIN'],
  [undefined, 'The manufacturer rejected the clearance, and gave no reason.'],
])('other rejections have the manufacturer’s words alone: %s', async (words, message) => {
  upstream.decide = () => ({ status: 'rejected', afterMs: 0, ...(words && { reason: words }) });
  const provider = new HighMobility({ openPlaces, url: upstream.url, ...credentials, brands: [] });
  const vin = 'WAUZZZ8V0KA000002';
  await activate(provider, [{ vin }]);
  expect(await activate(provider, [{ vin, asked: true }])).toMatchObject([{ state: 'REJECTED', reason: { message } }]);
});

/** High Mobility that clears vehicles of these brands alone. */
function clearsOnly(...brands: string[]): void {
  upstream.always('clearances', (response, received) => {
    const refusal = ({ vin }: Json) => ({ vin, status: 'error', description: 'The brand is invalid' });
    const { vehicles } = JSON.parse(received.body);
    const answers = vehicles.map((one: Json) =>
      brands.includes(one.brand) ? { vin: one.vin, status: 'pending' } : refusal(one),
    );
    return json(200, { vehicles: answers })(response, received);
  });
}
const brandsAsked = () =>
  upstream.received
    .filter(({ endpoint }) => endpoint === 'clearances')
    .flatMap(({ body }) => JSON.parse(body).vehicles.map(({ brand }: Json) => brand));

test.each([
  // The maker that an eligibility check had left with the vehicle.
  ['UU1HSDCL5L0000001', 'renault', ['dacia'], 'dacia'],
  ['UU1HSDCL5L0000001', 'dacia', ['dacia'], 'dacia'],
  ['VSSZZZ5FZHR000001', 'seat', ['seat', 'cupra'], 'cupra'],
  ['VSSZZZ5FZHR000001', 'cupra', ['cupra'], 'cupra'],
])('%s, last asked for as %s, is asked for as %s', async (vin, brand, asked, taken) => {
  clearsOnly(taken);
  const provider = new HighMobility({ openPlaces, url: upstream.url, ...credentials, brands: [] });
  expect(await activate(provider, [{ vin, brand }])).toMatchObject([{ state: 'PENDING', brand: taken }]);
  expect(brandsAsked()).toEqual(asked);
});

test('a vehicle that no brand fits fails with a sentence that says so', async () => {
  clearsOnly('bmw');
  const provider = new HighMobility({ openPlaces, url: upstream.url, ...credentials, brands: [] });
  const [answer] = (await activate(provider, [{ vin: 'VSSZZZ5FZHR000001', brand: 'seat' }])) ?? [];
  expect(answer).toMatchObject({ state: 'FAILED', reason: { code: 'REFUSED' } });
  expect(answer?.reason?.message).toBe('High Mobility does not clear this vehicle as Cupra: The brand is invalid');
  expect(brandsAsked()).toEqual(['seat', 'cupra']);
});

test('of brands that are all refused the last is kept, whichever is asked first: a start finds no further one', async () => {
  clearsOnly('bmw');
  const provider = new HighMobility({ openPlaces, url: upstream.url, ...credentials, brands: [] });
  const vin = 'VSSZZZ5FZHR000001';
  const [answer] = (await activate(provider, [{ vin, brand: 'cupra', state: 'FAILED' }])) ?? [];
  expect(answer).toMatchObject({ state: 'FAILED', brand: 'cupra' });
  expect(brandsAsked()).toEqual(['cupra', 'seat']);
  const { brand = '', reason = null } = answer?.outcome === 'STANDS' ? answer : {};
  expect(provider.activator?.isMisnamed?.({ vin, brand, reason })).toBe(false);
});

test('a vehicle that is rejected because of its brand is asked for as the next one', async () => {
  upstream.decide = () => ({ status: 'rejected', afterMs: 0, reason: 'VIN belongs to another brand' });
  const provider = new HighMobility({ openPlaces, url: upstream.url, ...credentials, brands: [] });
  const vin = 'VSSZZZ5FZHR000001';
  await activate(provider, [{ vin, brand: 'seat' }]);
  const again = { vin, brand: 'seat', asked: true };
  expect(await activate(provider, [again])).toMatchObject([{ state: 'PENDING', brand: 'cupra' }]);
  expect(await activate(provider, [{ ...again, brand: 'cupra' }])).toMatchObject([{ state: 'REJECTED' }]);
  expect(brandsAsked()).toEqual(['seat', 'cupra']);
});

test.each([
  ['another vehicle’s', 200, { vin: 'WAUZZZ8V0KA000004', status: 'revoking' }],
  ['no end', 200, { vin: 'WAUZZZ8V0KA000003', status: 'approved' }],
  ['nothing', 200, {}],
  ['a list', 200, []],
  ['a conflict without its errors', 409, {}],
  ['a refusal without its errors', 422, { errors: [] }],
])('an answer of another form to an end is none: %s', async (_, status, body) => {
  const vin = 'WAUZZZ8V0KA000003';
  const provider = new HighMobility({ openPlaces, url: upstream.url, ...credentials, brands: [] });
  upstream.next('clearance-end', json(status, body));
  const wish = { vin, asked: true, renewed: true, wanted: false };
  expect(await activate(provider, [wish])).toMatchObject([{ outcome: 'NO_ANSWER', asked: true }]);
});

test('a service that the Mercedes-Benz account may not order fails alone', async () => {
  const { url, tokenUrl } = upstream;
  const provider = new Mercedes({
    openPlaces,
    url,
    tokenUrl,
    ...credentials,
    packs: { barred: ['1003'], basic: ['1001'] },
  });
  const brand = 'mercedes-benz';
  const answers = await activate(provider, [
    { vin: 'W1K2130041A000001', brand, program: '1003' },
    { vin: 'W1K2130041A000001', brand, program: '1001' },
    { vin: 'W1K2130041A000002', brand, program: '1001' },
  ]);
  expect(answers).toMatchObject([
    { state: 'FAILED', reason: { code: 'PACK_NOT_OFFERED', actor: 'OPERATOR' } },
    { state: 'PENDING' },
    { state: 'PENDING' },
  ]);
});
