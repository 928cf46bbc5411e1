import { expect, test } from 'vitest';
import { inForce, startDecisions } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicle, createContract } from './support/factories.ts';

const { gateway } = await startDecisions();
const acme = await gateway.as('acme');

const [one, other] = [await addVehicle(acme), await addVehicle(acme)];
const scheduled = await createContract(acme, one, { pack: 'fuel' });
const active = await createContract(acme, one, { ...inForce, pack: 'fuel, also diesel' });
const ended = await createContract(acme, other, { ...inForce, pack: 'driving-log' });
await acme.post(`/contracts/${ended.id}/end`);

const idsOf = (contracts: Json[]) => contracts.map(({ id }) => id);

async function byGraphql(filter: Json): Promise<string[]> {
  const query = 'query ($f: ContractFilter) { contracts(filter: $f) { totalCount nodes { id } } }';
  const { body } = await acme.post('/graphql', { query, variables: { f: filter } });
  const { nodes, totalCount } = body.data.contracts;
  expect(totalCount).toBe(nodes.length);
  return idsOf(nodes);
}

const conditions = `conditions=${encodeURIComponent('{"company":"acme"}')}`;
const ofRest = (query: string) => acme.get(`/contracts?${conditions}&${query}`);

test.each([
  [{ statuses: ['ACTIVE', 'ENDED'] }, 'status=ACTIVE,ENDED', [active, ended]],
  [{ statuses: 'SCHEDULED' }, 'status=SCHEDULED', [scheduled]],
  [{ packs: ['fuel', 'driving-log'] }, 'pack=fuel&pack=driving-log', [scheduled, ended]],
  [{ packs: ['fuel, also diesel'] }, 'pack=fuel,%20also%20diesel', [active]],
  [{ fleetIds: [other.fleetId, 'none'] }, `fleetId=${other.fleetId},none`, [ended]],
  [{ fleetIds: [one.fleetId, other.fleetId] }, `fleetId=${one.fleetId},${other.fleetId}`, [scheduled, active, ended]],
  [{ fleetIds: [one.fleetId], statuses: ['ACTIVE'] }, `fleetId=${one.fleetId}&status=ACTIVE`, [active]],
])('contracts fit one of the values of %j', async (filter, query, expected) => {
  expect(await byGraphql(filter)).toEqual(idsOf(expected));
  expect(idsOf((await ofRest(query)).body)).toEqual(idsOf(expected));
});

test('no value fits no contract, and is no condition for an end', async () => {
  for (const filter of [{ statuses: [] }, { packs: [] }, { fleetIds: [] }]) expect(await byGraphql(filter)).toEqual([]);
  expect((await acme.post('/contracts/end', { filter: { statuses: [] } })).status).toBe(400);
});

test('one value under the names of the last release is a condition by itself', async () => {
  expect(await byGraphql({ status: 'ACTIVE', pack: 'fuel, also diesel', fleetId: one.fleetId })).toEqual([active.id]);
  expect(await byGraphql({ status: 'ACTIVE', statuses: ['ENDED'] })).toEqual([]);
  const query = `query ($s: ContractStatus, $p: String, $f: ID) {
    contracts(filter: { status: $s, pack: $p, fleetId: $f }) { nodes { id } } }`;
  const variables = { s: 'SCHEDULED', p: 'fuel', f: one.fleetId };
  const { body } = await acme.post('/graphql', { query, variables });
  expect(idsOf(body.data.contracts.nodes)).toEqual([scheduled.id]);
});

test('the next page has all values, and a wrong one is refused by its name', async () => {
  const { headers, body } = await ofRest('pack=fuel&pack=driving-log&status=SCHEDULED,ENDED&limit=1');
  expect(idsOf(body)).toEqual([scheduled.id]);
  const [, next = ''] = /<(.*)>/.exec(headers.get('Link') ?? '') ?? [];
  expect(idsOf((await acme.get(next)).body)).toEqual([ended.id]);
  for (const name of ['status', 'fleetId']) {
    expect((await ofRest(`${name}=a&${name}=b`)).body.errors).toMatchObject([{ path: name }]);
  }
  expect((await ofRest('status=ACTIVE,BOGUS')).body).toMatchObject({ status: 400, errors: [{ path: 'status.1' }] });
});

test('a filter of contracts to end names no other status than ACTIVE', async () => {
  const filter = { statuses: ['ACTIVE', 'SCHEDULED'] };
  expect(await acme.post('/contracts/end', { filter })).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'filter.statuses' }] },
  });
  const { body } = await acme.post('/contracts/end', { filter: { statuses: ['ACTIVE'] } });
  expect(idsOf(body.contracts)).toEqual([active.id]);
});
