import { expect, test } from 'vitest';
import type { Client, Json } from './support/client.ts';
import { createFleet, fleetFields, newVins } from './support/factories.ts';
import { startGateway, testIssuer } from './support/gateway.ts';

const issuer = await testIssuer();
// Room for three answers with 100 vehicles, each of some 26 kB, and not for four.
const gateway = await startGateway({ issuer, settings: { LIMIT_FILE_BYTES: '90000' } });
const acme = await gateway.as('acme');
const other = await gateway.as('other');

let lastKey = 0;
const newKey = () => ({ 'idempotency-key': `key-${++lastKey}` });

/** A request with a large answer that can be sent again. */
const largeRequest = (client: Client, fleet: Json) => {
  const [body, key] = [{ fleetId: fleet.id, vins: newVins(100) }, newKey()];
  return () => client.post('/vehicles', body, key);
};
const inTurn = async (requests: readonly (() => Promise<Json>)[]): Promise<Json[]> => {
  const answers: Json[] = [];
  for (const send of requests) answers.push(await send());
  return answers;
};

test('a company’s oldest large answers go; what they answered is not done again, and their repetition says so', async () => {
  const [fleet, otherFleet] = [await createFleet(acme), await createFleet(other)];
  const requests = Array.from({ length: 5 }, () => largeRequest(acme, fleet));
  const beside = largeRequest(other, otherFleet);
  const smallKey = newKey();
  const [small, ofOther] = [await acme.post('/fleets', fleetFields, smallKey), await beside()];
  const first = await inTurn(requests);
  expect(first.map(({ status }) => status)).toEqual(Array(5).fill(201));
  const again = await inTurn(requests);
  expect(again.map(({ status }) => status)).toEqual([410, 410, 201, 201, 201]);
  expect(again[0]?.body).toMatchObject({ code: 'IDEMPOTENCY_ANSWER_GONE', status: 410 });
  expect(again.slice(2).map(({ body }) => body)).toEqual(first.slice(2).map(({ body }) => body));
  expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(500);
  expect((await beside()).body).toEqual(ofOther.body);
  expect((await acme.post('/fleets', fleetFields, smallKey)).body).toEqual(small.body);
});

test('a key whose answer is gone still refuses another request', async () => {
  const fleet = await createFleet(acme);
  const [body, key] = [{ fleetId: fleet.id, vins: newVins(100) }, newKey()];
  await acme.post('/vehicles', body, key);
  await inTurn(Array.from({ length: 3 }, () => largeRequest(acme, fleet)));
  expect((await acme.post('/vehicles', body, key)).status).toBe(410);
  expect((await acme.post('/vehicles', { ...body, vins: newVins(1) }, key)).body.code).toBe('IDEMPOTENCY_KEY_REUSED');
});

test('the newest answer is kept, however large it is', async () => {
  const fleet = await createFleet(acme);
  const [body, key] = [{ fleetId: fleet.id, vins: newVins(500) }, newKey()];
  const first = await acme.post('/vehicles', body, key);
  expect((await acme.post('/vehicles', body, key)).body).toEqual(first.body);
});

test('a mutation whose answer is gone fails by its own code, and is not done again', async () => {
  const fleet = await createFleet(acme);
  const query = `mutation Add($input: AddVehiclesInput!) { addVehicles(input: $input) { vehicles { id vin warnings createdAt
    eligibility { status attempts verifiedAt nextAttemptAt } fleet { id name companyAddress email vat } } } }`;
  const [variables, key] = [{ input: { fleetId: fleet.id, vins: newVins(100) } }, newKey()];
  const add = async () => (await acme.post('/graphql', { query, variables }, key)).body;
  expect((await add()).errors).toBeUndefined();
  await inTurn(Array.from({ length: 3 }, () => largeRequest(acme, fleet)));
  const again = await add();
  expect(again.errors.map(({ extensions }: Json) => extensions.code)).toEqual(['IDEMPOTENCY_ANSWER_GONE']);
  expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(400);
});
