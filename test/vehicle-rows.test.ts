import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { buildSchema, isInputObjectType } from 'graphql';
import { expect, test } from 'vitest';
import type { Json } from './support/client.ts';
import { addVehicles, createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const other = await gateway.as('globex');

/** Stored rows of a company without ids and partly random times. */
const rowsOf = (company: string) =>
  gateway.execute<Json>(
    `select (to_jsonb(v) - '{id,fleet_id,company,created_at,due_at}'::text[])::text as row,
       round(extract(epoch from due_at - created_at) / 86400 / 2) as due
     from vehicle v where company = '${company}' order by vin`,
  );

test('a vehicle is stored as the same row from JSON and from a file', async () => {
  const [fleet, twin] = [await createFleet(acme), await createFleet(other)];
  const letters = [...'ABCDEFGHJKLMNPRSTUVWXYZ0123456789'];
  const start = fc.constantFrom('WBA', 'WDB', '1HG', '1FA', 'LSV', '5YJ', 'ZFF', 'WP0', 'W0L', 'XXX', 'YV1', 'SAJ');
  const vin = fc
    .tuple(start, fc.array(fc.constantFrom(...letters), { minLength: 14, maxLength: 14 }))
    .map(([wmi, rest]) => wmi + rest.join(''));
  const vins = [...new Set(['1HGCM82633A004352', '1HGCM82633A004353', ...fc.sample(vin, 400)])];
  await addVehicles(acme, vins, fleet);
  const file = await other.post('/vehicles/file', uploadForm(twin.id, `vin\n${vins.join('\n')}\n`));
  expect(file.status).toBe(201);
  const rows = await rowsOf('acme');
  expect(rows).toHaveLength(vins.length);
  expect(new Set(rows.map(({ row }) => JSON.parse(row).warnings.join()))).toEqual(new Set(['', 'VIN_CHECK_DIGIT']));
  expect(new Set(rows.map(({ row }) => JSON.parse(row).status))).toEqual(new Set(['PENDING', 'UNSUPPORTED']));
  expect(await rowsOf('globex')).toEqual(rows);
});

/** Values for each member of VehicleFilter, except those that test/lists.test.ts combines. */
const values: Record<string, Json[]> = {
  eligibility: ['PENDING', 'UNSUPPORTED', 'FAILED', null],
  manufacturer: ['bmw', 'ferrari', 'nobody', '', null],
  vin: ['wba', '4353', 'XXX', null],
  fleetIds: [],
  reasonCode: [],
  actor: [],
  verifiedAfter: [],
  verifiedBefore: [],
};

test('totalCount is correct for every filter', async () => {
  const type = buildSchema(readFileSync('schema.graphql', 'utf8')).getType('VehicleFilter');
  expect(isInputObjectType(type) && Object.keys(type.getFields()).toSorted()).toEqual(Object.keys(values).toSorted());
  const client = await gateway.as('counts');
  const fleet = await createFleet(client);
  await addVehicles(client, [...newVins(3), 'ZFF00000000000001', '1HGCM82633A004353'], fleet);
  const query = `query ($id: ID!, $filter: VehicleFilter) {
    fleet(id: $id) { vehicles(filter: $filter) { totalCount nodes { vin } } } }`;
  const choices = Object.entries(values).reduce<Json[]>(
    (before, [name, some]) => before.flatMap((one) => [one, ...some.map((value) => ({ ...one, [name]: value }))]),
    [{}],
  );
  for (const filter of choices) {
    const { body } = await client.post('/graphql', { query, variables: { id: fleet.id, filter } });
    const { totalCount, nodes } = body.data.fleet.vehicles;
    expect([filter, totalCount]).toEqual([filter, nodes.length]);
  }
});
