import { parseString } from 'fast-csv';
import { expect, test } from 'vitest';
import { inForce } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicles, createContract, createFleet, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway({ settings: { CONTRACTS_ACTIVATION: 'on' } });
const acme = await gateway.as('acme');
const HEADER =
  'id,vin,manufacturer,fleet_id,fleet_name,name,description,pack,from,to,status,activation,reason_code,reason,actor,next_attempt_at,created_at';
const CSV = { accept: 'text/csv' };
const list = (query = '', company = 'acme') =>
  `/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}${query}`;

/** Rows by an independent CSV reader. */
const rowsOf = (text: string): Promise<Json[]> =>
  new Promise((resolve, reject) => {
    const rows: Json[] = [];
    parseString(text.replace('\ufeff', ''), { headers: true })
      .on('data', (row) => rows.push(row))
      .on('error', reject)
      .on('end', () => resolve(rows));
  });

const fleet = await createFleet(acme, { name: '=1+1, "Süd"' });
const vehicles = await addVehicles(acme, newVins(5), fleet);
const contracts: Json[] = [];
for (const vehicle of vehicles)
  contracts.push(await createContract(acme, vehicle, { ...inForce, name: '@sum', description: 'a\n=b;-c' }));
const foreign = await gateway.as('globex');
await createContract(foreign, (await addVehicles(foreign, newVins(1)))[0], inForce);

const [rejected, failed, ending, unknown] = contracts as [Json, Json, Json, Json];
const set = ({ id }: Json, state: string, code: string, actor: string) =>
  gateway.execute(`update contract set activation = '${state}', activation_reason =
    '{"code": "${code}", "message": "+No, \\"never\\".", "actor": "${actor}", "retryable": false}' where id = '${id}'`);
await set(rejected, 'REJECTED', 'ACTIVATION_REJECTED', 'MANUFACTURER');
await set(failed, 'FAILED', 'PACK_NOT_OFFERED', 'OPERATOR');
await set(ending, 'REJECTED', 'ACTIVATION_REJECTED', 'MANUFACTURER');
await set(unknown, 'FAILED', 'OF_ANOTHER_VERSION', 'OPERATOR');
await gateway.execute(`update contract set activation = 'ENDING' where id = '${contracts[4]?.id}'`);

test('contracts are a CSV file for people and programs, whole or by pages', async () => {
  const { status, headers, body } = await acme.get(list(), CSV);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('text/csv');
  expect(headers.get('content-disposition')).toBe('attachment; filename="contracts.csv"');
  const text = await (await fetch(`${gateway.url}${list()}`, { headers: CSV })).text();
  expect(body).toBe(text);
  expect(body.startsWith(`\ufeff${HEADER}\n`) || body.startsWith(`${HEADER}\n`)).toBe(true);
  const rows = await rowsOf(body);
  expect(rows.map(({ id }) => id)).toEqual(contracts.map(({ id }) => id));
  const { body: one } = await acme.get(`/contracts/${rejected.id}`);
  expect(rows[0]).toEqual({
    id: one.id,
    vin: one.vin,
    manufacturer: 'bmw',
    fleet_id: fleet.id,
    fleet_name: `'=1+1, "Süd"`,
    name: `'@sum`,
    description: `a\n'=b;'-c`,
    pack: one.pack,
    from: one.from,
    to: one.to,
    status: 'ACTIVE',
    activation: 'REJECTED',
    reason_code: 'ACTIVATION_REJECTED',
    reason: `'+No, "never".`,
    actor: 'MANUFACTURER',
    next_attempt_at: '',
    created_at: one.createdAt,
  });
  expect(rows[4]).toMatchObject({ activation: 'ENDING', reason_code: 'END_NOT_CONFIRMED', actor: 'MANUFACTURER' });
  const query = `{ contract(id: "${contracts[4].id}") { activation { reason { code actor } } } }`;
  const { body: graphql } = await acme.post('/graphql', { query });
  const reason = { code: 'END_NOT_CONFIRMED', actor: 'MANUFACTURER' };
  expect(graphql.data.contract.activation).toEqual({ reason });

  const page = await acme.get(list('&limit=2&activationReason=ACTIVATION_REJECTED,PACK_NOT_OFFERED'), CSV);
  expect(await rowsOf(page.body)).toHaveLength(2);
  expect(page.headers.get('link')).toContain('activationReason=ACTIVATION_REJECTED%2CPACK_NOT_OFFERED');
  const lines = (await acme.get(list(), { accept: 'application/x-ndjson' })).body as string;
  const parsed = lines.split('\n').filter(Boolean);
  expect(JSON.parse(parsed[0] as string)).toEqual(one);
  expect(parsed).toHaveLength(5);
  // A token confines the file to its company, where contracts are open.
  expect((await acme.get(list('', 'globex'), CSV)).status).toBe(403);
  expect(await rowsOf((await gateway.anyone.get(list('', 'globex'), CSV)).body)).toHaveLength(1);
});

test('contracts are filtered and counted by the reason of their state', async () => {
  const query = `query ($filter: ContractFilter) { contracts(filter: $filter) { nodes { id } totalCount } }`;
  const cases: [string[], Json[]][] = [
    [['ACTIVATION_REJECTED'], [rejected, ending]],
    [
      ['PACK_NOT_OFFERED', 'ACTIVATION_REJECTED'],
      [rejected, failed, ending],
    ],
    [['OTHER'], [unknown]],
    [['LICENCE_EXPIRED'], []],
    [['END_NOT_CONFIRMED'], [contracts[4] as Json]],
  ];
  for (const [reasons, expected] of cases) {
    const ids = expected.map(({ id }) => id);
    const { body } = await acme.get(list(`&activationReason=${reasons}`));
    expect(body.map(({ id }: Json) => id)).toEqual(ids);
    const { body: graphql } = await acme.post('/graphql', {
      query,
      variables: { filter: { activationReason: reasons } },
    });
    expect(graphql.errors).toBeUndefined();
    expect(graphql.data.contracts.nodes.map(({ id }: Json) => id)).toEqual(ids);
    expect(graphql.data.contracts.totalCount).toBe(ids.length);
  }
  expect(await acme.get(list('&activationReason=NONE'))).toMatchObject({ status: 400 });

  const byReason = [
    { state: 'ENDING', reason: 'END_NOT_CONFIRMED', actor: 'MANUFACTURER', count: 1 },
    { state: 'FAILED', reason: 'OTHER', actor: 'OPERATOR', count: 1 },
    { state: 'FAILED', reason: 'PACK_NOT_OFFERED', actor: 'OPERATOR', count: 1 },
    { state: 'REJECTED', reason: 'ACTIVATION_REJECTED', actor: 'MANUFACTURER', count: 2 },
  ];
  expect((await acme.get('/company')).body.contractSummary).toMatchObject({ rejected: 2, pending: 0, byReason });
  const summary = '{ company { contractSummary { failed byReason { state reason actor count } } } }';
  const { body } = await acme.post('/graphql', { query: summary });
  expect(body.data.company.contractSummary).toEqual({ failed: 2, byReason });
});
