import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Migration20261124000000 as Before } from '../src/migrations/Migration20261124000000.ts';
import { Migration20261128200500_since_0_4_0 as Since } from '../src/migrations/Migration20261128200500_since_0_4_0.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createContract, createFleet, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { folded } from './support/reference.ts';

const gateway = await startGateway({ settings: { AUTH_SCOPES: 'on' } });
const scope = 'fleets:read fleets:write contracts:read contracts:write';
const acme = await gateway.as('acme', { scope });
const other = await gateway.as('other', { scope });

const fleets: Json[] = [];
for (const name of [
  'Berlin',
  'BERLIN vans',
  'Nord-Berlin',
  'Zürich',
  'zurich 2',
  'Été ☀',
  '50% of _ all\\',
  'ΑΘΗΝΑ',
  'WBA',
]) {
  fleets.push(await createFleet(acme, { name }));
}
const vehicles = await addVehicles(
  acme,
  ['WBA00000000000001', 'WBA00000000001WBA', 'ZFF00000000000WBA', 'ZFF00000000012345', 'KNA00000000012345'],
  fleets[0],
);
const contracts: Json[] = [];
for (const [at, name] of ['Berlin', 'Fuel, Zürich', 'wba', 'été'].entries()) {
  contracts.push(await createContract(acme, vehicles[at], { name }));
}
const alien = await createFleet(other, { name: 'Berlin' });

const document = `query ($text: String!, $first: Int! = 10) { search(text: $text, first: $first) {
  type: __typename ... on Fleet { id name vehicleCount } ... on Vehicle { id vin fleet { name } } ... on Contract { id name vin }
} }`;
async function bySearch(client: Client, text: string, first?: number): Promise<Json[]> {
  const { body } = await client.post('/graphql', { query: document, variables: { text, first } });
  expect(body.errors).toBeUndefined();
  const limit = first === undefined ? '' : `&limit=${first}`;
  const rest = await client.get(`/search?q=${encodeURIComponent(text)}${limit}`);
  expect(rest.status).toBe(200);
  expect(rest.body.map(({ type, id }: Json) => [type, id])).toEqual(
    body.data.search.map(({ type, id }: Json) => [type, id]),
  );
  return rest.body;
}

/** Names of objects that contain the text: equal ones first, then those that begin with it. */
function expected(text: string, first = 10): string[] {
  const part = text.trim();
  const vin = part.replaceAll(/[\s-]/g, '').toUpperCase();
  const fitOf = (one: string, whole: string) => (whole === one ? 0 : whole.startsWith(one) ? 1 : 2);
  const named = (rows: Json[]) =>
    rows
      .map(({ id, name }) => ({ id, text: folded(name), fit: fitOf(folded(part), folded(name)) }))
      .filter((one) => (part.length < 3 ? one.text.startsWith(folded(part)) : one.text.includes(folded(part))));
  const byVin = vehicles
    .filter((one) => vin.length >= 2 && (one.vin.startsWith(vin) || one.vin.endsWith(vin)))
    .map((one) => ({ id: one.id, text: one.vin, fit: fitOf(vin, one.vin) }));
  const groups = [named(fleets), byVin, named(contracts)].map((group) =>
    group.toSorted((a, b) => Buffer.compare(Buffer.from(a.text), Buffer.from(b.text)) || (a.id < b.id ? -1 : 1)),
  );
  return groups
    .flat()
    .toSorted((a, b) => a.fit - b.fit)
    .slice(0, first)
    .map(({ id }) => id);
}

test('finds objects that contain the text, the best first, by both interfaces', async () => {
  const words = [
    'berlin',
    ' BERLIN ',
    'zürich',
    'ZURICH',
    'e',
    'été',
    'αθηνα',
    '%',
    '_',
    '\\',
    'wba',
    'w-b a',
    '12345',
    '☀',
    'zz',
  ];
  const text = fc.oneof(fc.constantFrom(...words), fc.constantFrom(...vehicles.map(({ vin }) => vin as string)));
  await fc.assert(
    fc.asyncProperty(text, fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }), async (one, first) => {
      const found = await bySearch(acme, one, first);
      expect([one, found.map(({ id }) => id)]).toEqual([one, expected(one, first)]);
    }),
    { numRuns: 40 },
  );
});

test('letters that accents do not explain are found as they are typed', async () => {
  const client = await gateway.as('letters', { scope });
  const names = ['Großstraße', 'GROSSSTRASSE', 'GROẞSTRAẞE', 'Łódź', 'łódź', 'LODZ', 'Søren', 'SØREN', 'ısparta'];
  for (const name of [...names, 'ISPARTA', 'İsparta', 'Isparta']) await createFleet(client, { name });
  const [vehicle] = await addVehicles(client, ['WBA00000000000001'], await createFleet(client, { name: 'x' }));
  await createContract(client, vehicle, { name: 'Maßnahme Łódź' });
  const found = async (text: string) => (await bySearch(client, text, 50)).map(({ name }) => name).sort();
  const listed = async (text: string) =>
    (await client.get(`/fleets?name=${encodeURIComponent(text)}`)).body.map((fleet: Json) => fleet.name).sort();
  const streets = ['GROSSSTRASSE', 'GROẞSTRAẞE', 'Großstraße'];
  for (const text of ['straße', 'STRASSE', 'strasse', 'STRAẞE', 'oss', 'ROß'])
    expect([text, await found(text), await listed(text)]).toEqual([text, streets, streets]);
  for (const text of ['łód', 'ŁÓD', 'lod', 'LÓD', 'Lód'])
    expect([text, await found(text)]).toEqual([text, ['LODZ', 'Maßnahme Łódź', 'Łódź', 'łódź']]);
  for (const text of ['søren', 'SØR', 'SOREN']) expect([text, await found(text)]).toEqual([text, ['SØREN', 'Søren']]);
  for (const text of ['isp', 'ısp', 'ISP', 'İSP'])
    expect([text, await found(text)]).toEqual([text, ['ISPARTA', 'Isparta', 'İsparta', 'ısparta']]);
  for (const text of ['massn', 'MASSNAHME', 'maßnahme lodz'])
    expect([text, await found(text)]).toEqual([text, ['Maßnahme Łódź']]);
});

const spellings: readonly (readonly [typed: string, names: readonly string[]])[] = [
  ['dakovo', ['Đakovo', 'đakovo', 'ĐAKOVO', 'Dakovo']],
  ['aero', ['Ærø', 'ærø', 'ÆRØ', 'Aero']],
  ['oeuvre', ['Œuvre', 'œuvre', 'ŒUVRE', 'Oeuvre']],
  ['thingvellir', ['Þingvellir', 'þingvellir', 'ÞINGVELLIR', 'Thingvellir']],
  ['hamrudur', ['Ħamruður', 'ħamruður', 'ĦAMRUÐUR', 'Hamrudur']],
  ['big vans', ['Big Vans', 'Big  Vans', 'Big\t\tVans', 'Big\u00a0Vans', 'big \u2003 vans']],
];
test.each(spellings)('"%s" finds %j, and each of them the others, by search and filters', async (typed, names) => {
  const client = await gateway.as(`spelling-${typed}`, { scope });
  const made = [];
  for (const name of names) made.push(await createFleet(client, { name }));
  const vehicles = await addVehicles(client, newVins(names.length), await createFleet(client, { name: '-' }));
  for (const [at, name] of names.entries()) await createContract(client, vehicles[at], { name: `For ${name}, 2030` });
  const all = names.flatMap((name) => [name, `For ${name}, 2030`]).sort();
  for (const text of [typed, typed.toUpperCase(), ...names, typed.replace(' ', '   ')]) {
    const name = encodeURIComponent(text);
    expect([text, (await bySearch(client, text, 50)).map((one) => one.name).sort()]).toEqual([text, all]);
    expect((await client.get(`/fleets?name=${name}`)).body).toHaveLength(names.length);
    const conditions = encodeURIComponent(JSON.stringify({ company: `spelling-${typed}` }));
    expect((await client.get(`/contracts?conditions=${conditions}&name=${name}`)).body).toHaveLength(names.length);
  }
});

test('contracts of the versions before are found so, too, once the tables are those of this one', async () => {
  const client = await gateway.as('before', { scope });
  const [vehicle] = await addVehicles(client, newVins(1), await createFleet(client, { name: '-' }));
  const run = async (Step: typeof Before) => {
    const { em, config } = gateway.database.orm;
    const step = new Step(em.getDriver(), config);
    await step.up();
    return step.getQueries().map(String);
  };
  const [before = ''] = await run(Before);
  await gateway.execute(before.replace('create function', 'create or replace function'));
  await createContract(client, vehicle, { name: 'Straße  nach Đakovo' });
  expect(await bySearch(client, 'strasse nach dakovo')).toEqual([]);
  for (const statement of await run(Since)) await gateway.execute(statement);
  expect(await bySearch(client, 'strasse nach dakovo')).toMatchObject([{ name: 'Straße  nach Đakovo' }]);
  expect(await bySearch(client, 'Straße  nach Đ')).toMatchObject([{ name: 'Straße  nach Đakovo' }]);
});

test('returns each object as its own address does', async () => {
  for (const [path, text] of [
    [`/fleets/${fleets[0].id}`, 'Berlin'],
    [`/vehicles/${vehicles[3].id}`, vehicles[3].vin],
    [`/contracts/${contracts[1].id}`, 'fuel, zurich'],
  ] as const) {
    const { type, ...found } = (await bySearch(acme, text))[0] as Json;
    expect([path, found]).toEqual([path, (await acme.get(path)).body]);
  }
});

test('finds vehicles that begin with the text behind fifty that end with it', async () => {
  const vins = Array.from({ length: 51 }, (_, at) => `1FA000000000${String(at).padStart(2, '0')}777`);
  const big = await gateway.as('big', { scope });
  await addVehicles(big, [...vins, '777FA000000000000'], await createFleet(big));
  const found = (await bySearch(big, '777', 3)).map(({ vin }) => vin);
  expect(found).toEqual(['777FA000000000000', vins[0], vins[1]]);
  expect((await bySearch(big, '777', 50)).map(({ vin }) => vin)).toEqual(['777FA000000000000', ...vins.slice(0, 49)]);
});

test('finds nothing of another company, and no contract without its scope', async () => {
  expect((await bySearch(other, 'berlin')).map(({ id }) => id)).toEqual([alien.id]);
  const reader = await gateway.as('acme', { scope: 'fleets:read' });
  expect((await bySearch(reader, 'berlin')).map(({ type }) => type)).not.toContain('Contract');
});

test('two characters find VINs that begin or end with them, and names that begin with them', async () => {
  const client = await gateway.as('two characters', { scope });
  const fleet = await createFleet(client, { name: '17 vans' });
  await createFleet(client, { name: 'Depot 17' });
  const vins = ['WBA00000000000017', 'WBA00000000001700'];
  await client.post('/vehicles', { fleetId: fleet.id, vins });
  const found = await bySearch(client, '17');
  expect(found.map(({ name, vin }) => name ?? vin)).toEqual(['17 vans', vins[0]]);
  expect((await bySearch(client, ' wb')).map(({ vin }) => vin)).toEqual(vins);
  expect(await bySearch(client, 'a0')).toEqual([]);
});

test('refuses an empty or long text, and a limit above 50', async () => {
  for (const [query, path] of [
    ['', 'q'],
    ['?q=', 'q'],
    ['?q=%20', 'q'],
    [`?q=${'x'.repeat(256)}`, 'q'],
    ['?q=%00', 'q'],
    ['?q=x&limit=51', 'limit'],
    ['?q=x&limit=0', 'limit'],
  ] as const) {
    const { status, body } = await acme.get(`/search${query}`);
    expect([query, status, body.code, body.errors?.[0]?.path]).toEqual([query, 400, 'VALIDATION_FAILED', path]);
  }
});
