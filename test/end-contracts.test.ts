import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, startDecisions } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicle, createContract } from './support/factories.ts';

const { gateway, upstream, work, workFor, time } = await startDecisions({ settings: { CONTRACTS_AUTH: 'open' } });
const [acme, globex] = [await gateway.as('acme'), await gateway.as('globex')];

const GONE = '019aa1b2-7d4e-7f50-9b7c-1d2e3f4a5b6c';
const read = async ({ id }: Json) => (await acme.get(`/contracts/${id}`)).body;
const inForce = async (client: Client = acme, fields: Json = {}) =>
  createContract(client, await addVehicle(client), { from: time(-HOUR), to: time(DAY), ...fields });
async function graphql(name: string, input: object, fields: string, client: Client = acme): Promise<Json> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`;
  const query = `mutation ($input: ${type}) { ${name}(input: $input) { ${fields} } }`;
  const { body } = await client.post('/graphql', { query, variables: { input } });
  return body.errors?.[0].extensions ?? body.data[name];
}

test('a contract in force is ended now: in lists, in its events, and at the manufacturer', async () => {
  const one = await inForce();
  await workFor(40 * MINUTE, 5 * MINUTE);
  expect((await read(one)).activation.state).toBe('ACTIVE');
  const { status, body } = await acme.post(`/contracts/${one.id}/end`);
  expect([status, body]).toMatchObject([200, { id: one.id, from: one.from, status: 'ENDED' }]);
  expect(Date.parse(body.to)).toBeLessThan(Date.parse(one.to));
  expect(Date.parse(body.to) - Date.parse(one.from)).toBeGreaterThan(HOUR);
  // Again, it stays as it is.
  expect(await acme.post(`/contracts/${one.id}/end`)).toMatchObject({ status: 200, body: { to: body.to } });
  await work();
  const { body: events } = await acme.get(`/events?vin=${one.vin}&limit=100`);
  const own = events.filter(({ contractId }: Json) => contractId === one.id);
  expect(own.map(({ type }: Json) => type)).toEqual(expect.arrayContaining(['contract.updated', 'contract.ended']));
  expect(own.find(({ type }: Json) => type === 'contract.updated').data).toMatchObject({
    to: body.to,
    changes: { to: { from: one.to, to: body.to } },
  });
  await workFor(HOUR, 10 * MINUTE);
  expect(upstream.clearanceOf(one.vin)?.status).toMatch(/^revok/);
});

test('one that has not begun cannot end, and is deleted instead', async () => {
  const scheduled = await createContract(acme);
  const { status, body } = await acme.post(`/contracts/${scheduled.id}/end`);
  expect([status, body.code]).toEqual([409, 'CONTRACT_NOT_BEGUN']);
  expect(await read(scheduled)).toEqual(scheduled);
  expect(await graphql('endContract', { id: scheduled.id }, 'contract { id }')).toMatchObject({
    code: 'CONTRACT_NOT_BEGUN',
  });
});

test('what another company has is not found', async () => {
  const one = await inForce();
  expect(await globex.post(`/contracts/${one.id}/end`)).toMatchObject({ status: 404 });
  expect(await globex.post(`/contracts/end`, { ids: [one.id] })).toMatchObject({ body: { notFound: [one.id] } });
  expect(await globex.post(`/contracts/delete`, { ids: [one.id] })).toMatchObject({ body: { notFound: [one.id] } });
  expect(await read(one)).toMatchObject({ to: one.to });
});

test('several are ended at once, by both interfaces, and each of the others is named with its reason', async () => {
  const [first, second, third] = [await inForce(), await inForce(), await inForce()];
  const scheduled = await createContract(acme);
  const [over] = [await inForce()];
  await acme.post(`/contracts/${over.id}/end`);
  const ids = [second.id, GONE, first.id.toUpperCase(), over.id, scheduled.id, 'nothing', second.id];
  const { status, body } = await acme.post('/contracts/end', { ids });
  expect(status).toBe(200);
  expect(body).toEqual({
    contracts: [
      { ...(await read(second)), to: expect.not.stringContaining(second.to) },
      { ...(await read(first)), to: expect.not.stringContaining(first.to) },
    ],
    alreadyEnded: [over.id],
    notBegun: [scheduled.id],
    notFound: [GONE, 'nothing'],
  });
  const fields = 'contracts { id status } alreadyEnded notBegun notFound';
  expect(await graphql('endContracts', { ids: [third.id, first.id] }, fields)).toEqual({
    contracts: [{ id: third.id, status: 'ENDED' }],
    alreadyEnded: [first.id],
    notBegun: [],
    notFound: [],
  });
});

test('a filter ends what is in force and fits it, and nothing else', async () => {
  const name = 'Ended by a filter';
  const [one, other] = [await inForce(acme, { name }), await inForce(acme, { name })];
  const [kept, foreign] = [await inForce(acme, { name: 'Kept' }), await inForce(globex, { name })];
  const scheduled = await createContract(acme, undefined, { name });
  const { body } = await acme.post('/contracts/end', { filter: { name: 'ended BY' } });
  expect(body.contracts.map(({ id }: Json) => id)).toEqual([one.id, other.id]);
  expect(await read(kept)).toMatchObject({ status: 'ACTIVE' });
  expect(await read(scheduled)).toMatchObject({ status: 'SCHEDULED', to: scheduled.to });
  expect((await globex.get(`/contracts/${foreign.id}`)).body).toMatchObject({ status: 'ACTIVE' });
  expect((await acme.post('/contracts/end', { filter: { name: 'ended BY' } })).body.contracts).toEqual([]);
  expect(await acme.post('/contracts/end', { filter: { status: 'SCHEDULED' } })).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'filter.status' }] },
  });
  expect(await gateway.anyone.post('/contracts/end', { filter: { name } })).toMatchObject({ status: 400 });
  for (const input of [{}, { ids: [] }, { ids: [kept.id], filter: {} }]) {
    expect(await acme.post('/contracts/end', input)).toMatchObject({ status: 400 });
  }
  expect(await gateway.anyone.post('/contracts/end', { ids: [kept.id] })).toMatchObject({
    status: 200,
    body: { contracts: [{ id: kept.id }] },
  });
});

test('a filter with a name that it does not have ends nothing', async () => {
  const kept = await inForce();
  for (const filter of [{ statuz: ['ENDED'] }, { fleetID: kept.fleetId }, { name: 'None', Pack: 'fuel' }]) {
    const unknown = Object.keys(filter).at(-1);
    const { status, body } = await acme.post('/contracts/end', { filter });
    expect([status, body.errors]).toMatchObject([400, [{ path: `filter.${unknown}`, code: 'INVALID' }]]);
    expect(body.detail).toMatch(/is unknown: use .*fleetIds, vin, packs/);
  }
  expect(await read(kept)).toMatchObject({ status: 'ACTIVE', to: kept.to });
});

test('a filter without a condition ends nothing, and a status alone ends all in force', async () => {
  const client = await gateway.as('a company that ends everything');
  const all = [await inForce(client), await inForce(client)];
  for (const filter of [{}, { name: ' ', packs: null, statuses: [] }]) {
    const { status, body } = await client.post('/contracts/end', { filter });
    expect([status, body.errors]).toMatchObject([
      400,
      [{ path: 'filter', message: expect.stringContaining('ACTIVE') }],
    ]);
  }
  expect(await graphql('endContracts', { filter: {} }, 'contracts { id }', client)).toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  const { body } = await client.post('/contracts/end', { filter: { statuses: ['ACTIVE'] } });
  expect(body.contracts.map(({ id }: Json) => id)).toEqual(all.map(({ id }) => id));
});

test('one that has changed since its tag was read is not ended with that tag', async () => {
  const one = await inForce();
  const tag = (await acme.get(`/contracts/${one.id}`)).headers.get('etag') ?? '';
  await acme.patch(`/contracts/${one.id}`, { name: 'Renewed' });
  const end = (expected: string) => acme.post(`/contracts/${one.id}/end`, undefined, { 'if-match': expected });
  expect(await end(tag)).toMatchObject({ status: 412, body: { code: 'PRECONDITION_FAILED' } });
  expect(await read(one)).toMatchObject({ status: 'ACTIVE', to: one.to });
  expect(await end((await acme.get(`/contracts/${one.id}`)).headers.get('etag') ?? '')).toMatchObject({
    status: 200,
    body: { status: 'ENDED', name: 'Renewed' },
  });
});

test('an end of up to five minutes ago counts as now, and an earlier one is refused', async () => {
  const [one, other] = [await inForce(), await inForce()];
  const { status, body } = await acme.patch(`/contracts/${one.id}`, { to: time(-4 * MINUTE) });
  expect([status, body.status]).toEqual([200, 'ENDED']);
  expect(Date.parse(body.to)).toBeGreaterThan(Date.parse(time(-MINUTE)));
  const late = await acme.patch(`/contracts/${other.id}`, { to: time(-5 * MINUTE - 1000) });
  expect([late.status, late.body.errors?.[0].path]).toEqual([400, 'to']);
});

test('several are deleted at once, by both interfaces, with an event each', async () => {
  const [first, second, third] = [await inForce(), await createContract(acme), await inForce()];
  const { status, body } = await acme.delete('/contracts', { ids: [second.id, GONE, first.id, second.id] });
  expect([status, body]).toEqual([200, { deleted: [second, first], notFound: [GONE] }]);
  expect(await acme.get(`/contracts/${first.id}`)).toMatchObject({ status: 404 });
  await work();
  const { body: events } = await acme.get(`/events?vin=${second.vin}&type=contract.deleted`);
  expect(events).toMatchObject([{ contractId: second.id }]);
  const fields = 'deleted { id vin } notFound';
  expect(await graphql('deleteContracts', { ids: [third.id, first.id] }, fields)).toEqual({
    deleted: [{ id: third.id, vin: third.vin }],
    notFound: [first.id],
  });
  expect(await acme.delete('/contracts', { ids: [] })).toMatchObject({
    status: 400,
    body: { code: 'NOTHING_TO_DELETE' },
  });
});

test('of ends and deletions of the same contracts in opposite orders, none waits for another', async () => {
  for (let round = 0; round < 10; round++) {
    const all = [await inForce(), await inForce(), await inForce()].map(({ id }) => id);
    const answers = await Promise.all([
      acme.post('/contracts/end', { ids: all }),
      acme.post('/contracts/delete', { ids: all.toReversed() }),
      acme.post('/contracts/end', { ids: all.toReversed() }),
      acme.patch(`/contracts/${all[1]}`, { to: time(2 * DAY) }),
    ]);
    expect(answers.map(({ status }) => status).filter((status) => ![200, 400, 404].includes(status))).toEqual([]);
  }
});
