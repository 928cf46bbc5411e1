import { afterEach, expect, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { sumUpTallies } from '../src/core/operations/upkeep.ts';
import { plannedPageSize } from '../src/core/sql/page.ts';
import type { Json } from './support/client.ts';
import { recount } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { looks, type Plan } from './support/plans.ts';

// Stored vehicle counts are read once per request, for the fleets of the page alone.
const gateway = await startGateway();
const { database } = gateway;
const client = await gateway.as('counted');
const [FLEETS, VEHICLES, PAGE, BEHIND] = [500, 2, 5, 3];
await gateway.execute(`
  insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
  select gen_random_uuid(), 'counted', 'Fleet ' || md5(n::text), 'Street 1', 'a@example.com', 'DE1', now(), now()
  from generate_series(1, ${FLEETS}) n`);
await gateway.execute(`
  insert into vehicle (id, company, fleet_id, vin, manufacturer, status, created_at)
  select gen_random_uuid(), 'counted', f.id, 'WBA' || lpad((f.at * 10 + n)::text, 14, '0'), 'bmw',
    case n when 1 then 'ELIGIBLE' else 'FAILED' end, now()
  from (select id, row_number() over () as at from fleet where company = 'counted') f, generate_series(1, ${VEHICLES}) n`);
await gateway.execute(recount);
await gateway.execute('analyze fleet');

afterEach(() => void vi.restoreAllMocks());

const counts = 'vehicleCount eligibilitySummary { eligible failed } vehicles(first: 1) { totalCount }';
const list = (args: string) => ({ query: `{ fleets(first: ${PAGE}, ${args}) { nodes { name ${counts} } } }` });
const asks = {
  'GraphQL, as they were created': () => client.post('/graphql', list('orderBy: { field: CREATED_AT }')),
  'GraphQL, by name': () => client.post('/graphql', list('orderBy: { field: NAME }')),
  'GraphQL, backwards by name': () => client.post('/graphql', list('orderBy: { field: NAME, direction: DESC }')),
  'GraphQL, with a filter': () => client.post('/graphql', list('filter: { vat: "DE1" }')),
  'GraphQL, sorted after a filter': () => client.post('/graphql', list('filter: { name: "Fleet 0" }')),
  REST: () => client.get(`/fleets?limit=${PAGE}`),
  'REST, by name': () => client.get(`/fleets?limit=${PAGE}&sort=name`),
};

test.skipIf(database.kind === 'embedded').each(Object.entries(asks))('%s', async (_name, ask) => {
  const sent = vi.spyOn(database, 'read');
  const { body } = await ask();
  expect(body.errors).toBeUndefined();
  const fleets = body.data?.fleets.nodes ?? body;
  expect(fleets).toHaveLength(PAGE);
  for (const fleet of fleets) expect(fleet.vehicleCount).toBe(VEHICLES);
  const [[text = '', values = []] = []] = sent.mock.calls;
  const [row] = await database.send(`explain (analyze, format json) ${text}`, values);
  const [{ Plan: plan }] = (row as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'];
  const tallies = Object.entries(looks(plan)).filter(([what]) => what.startsWith('vehicle_tally'));
  // Each fleet has a row per status; a page reads one fleet more than it shows.
  const rows = tallies.reduce((sum, [, count]) => sum + count, 0);
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual((PAGE + 1) * VEHICLES);
});

// The numbers of fleets that upkeep has summed up are in the order's index; those of others are summed up for each page.
test.skipIf(database.kind === 'embedded').each([
  ['REST', () => client.get(`/fleets?limit=${PAGE}&sort=-vehicleCount`)],
  ['REST, with a filter', () => client.get(`/fleets?limit=${PAGE}&sort=attentionCount&vat=DE1`)],
  ['GraphQL', () => client.post('/graphql', list('orderBy: { field: ATTENTION_COUNT, direction: DESC }'))],
])('%s, by a count', async (_name, ask) => {
  await sumUp();
  await gateway.execute(`insert into vehicle_tally (company, fleet_id, status, delta)
    select company, id, 'FAILED', 0 from fleet where company = 'counted' order by name limit ${BEHIND}`);
  const sent = [vi.spyOn(database, 'read'), vi.spyOn(database, 'slowRead')];
  const { body } = await ask();
  expect(body.data?.fleets.nodes ?? body).toHaveLength(PAGE);
  const [[text, values] = []] = sent.flatMap(({ mock }) => mock.calls as [string, unknown[]][]);
  const [row] = await database.send(`explain (analyze, format json) ${text}`, values ?? []);
  const [{ Plan: plan }] = (row as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'];
  // Entries of an index may be of deleted rows.
  const read = Object.entries(looks(plan)).filter(([what]) => !what.startsWith('entries'));
  const rows = read.reduce((sum, [, count]) => sum + count, 0);
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual((plannedPageSize(PAGE) + BEHIND) * 2 * (VEHICLES + 3));
});

const sumUp = async () => {
  while (await sumUpTallies(contextOf(gateway.services, 'test', null)));
};
const ids = async (sort: string) =>
  (await client.get(`/fleets?limit=500&sort=${sort}`)).body.map((one: Json) => one.id);

test('sums of fleets are what their changes say, whether they were summed up or not', async () => {
  const [busy, ...fleets] = await ids('name');
  const change = (fleet: string, status: string, by: number) =>
    gateway.execute(
      `insert into vehicle_tally (company, fleet_id, status, delta) values ('counted', '${fleet}', '${status}', ${by})`,
    );
  await change(busy, 'ELIGIBLE', 7);
  expect((await ids('-vehicleCount'))[0]).toBe(busy);
  await sumUp();
  await change(fleets[0], 'FAILED', 3);
  expect((await ids('-vehicleCount')).slice(0, 2)).toEqual([busy, fleets[0]]);
  expect((await ids('-attentionCount'))[0]).toBe(fleets[0]);
  await change(busy, 'ELIGIBLE', -7);
  expect((await ids('-vehicleCount'))[0]).toBe(fleets[0]);
});
