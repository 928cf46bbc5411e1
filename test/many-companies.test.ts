import { beforeAll, expect, inject, test } from 'vitest';
import type { Json } from './support/client.ts';
import { startExplained } from './support/explained.ts';
import { contractFields, createFleet } from './support/factories.ts';
import { looks } from './support/plans.ts';

// With many companies and fleets in its statistics, the planner expects hardly any vehicle in one fleet of one company.

const { gateway, seen } = await startExplained();
const acme = await gateway.as('acme');
const vinOf = (n: number) => `WBAL${String(n).padStart(13, '0')}`;

let fleet: Json;
let other: Json;
beforeAll(async () => {
  fleet = await createFleet(acme);
  other = await createFleet(acme);
  await gateway.execute(`
    insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
      select new_uuid(), 'company ' || company, 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now()
      from generate_series(1, 300) company, generate_series(1, 10);
    insert into vehicle (id, company, fleet_id, vin, created_at)
      select new_uuid(), company, id, 'WBAS' || lpad((row_number() over ())::text, 13, '0'), now()
      from fleet, generate_series(1, 10) where company <> 'acme';
    insert into vehicle (id, company, fleet_id, vin, created_at)
      select new_uuid(), 'acme', '${fleet.id}', 'WBAL' || lpad(n::text, 13, '0'), now() from generate_series(1, 20000) n;
    analyze fleet, vehicle;`);
});

const moved = (vins: string[]) =>
  acme.post('/graphql', {
    query: `mutation { moveVehicles(input: {
  fleetId: "${other.id}", vins: ${JSON.stringify(vins)} }) { vehicles { id } } }`,
  });
const contractOf = ([vin]: string[]) => acme.post('/contracts', contractFields({ fleetId: fleet.id, vin }));
const deletionOf = async ([vin]: string[]) =>
  acme.delete(`/vehicles/${(await acme.get(`/vehicles?vin=${vin}`)).body[0].id}`);

/** Changes of ten vehicles of a fleet of 20,000, or of the first of them. */
const changes: [name: string, status: number, change: (vins: string[]) => Promise<{ status: number }>][] = [
  ['a move', 200, (vins) => acme.post('/vehicles/move', { fleetId: other.id, vins })],
  ['a move that answers with the vehicles', 200, moved],
  ['a deletion', 200, (vins) => acme.post('/vehicles/delete', { fleetId: fleet.id, vins })],
  ['a deletion of one', 200, deletionOf],
  ['a new contract', 201, contractOf],
];

test.runIf(inject('database').kind === 'postgresql').each(changes)(
  '%s reads the named vehicles alone, however large their fleet',
  async (name, status, change) => {
    seen.length = 0;
    const start = 100 + 100 * changes.findIndex(([one]) => one === name);
    const vins = Array.from({ length: 10 }, (_value, n) => vinOf(start + n));
    expect(await change(vins)).toMatchObject({ status });
    const read = seen.flatMap(({ Plan }) => Object.entries(looks(Plan))).filter(([, rows]) => rows > 100);
    expect(read).toEqual([]);
  },
);

test.runIf(inject('database').kind === 'postgresql').each(['/vehicles', '/fleets/:id/vehicles'])(
  'vehicles at %s by a status and the end of a VIN are looked up by the VIN',
  async (path) => {
    seen.length = 0;
    const { status, body } = await acme.get(`${path.replace(':id', fleet.id)}?eligibility=PENDING&vin=0019999`);
    expect([status, body.map(({ vin }: Json) => vin)]).toEqual([200, [vinOf(19999)]]);
    expect(seen.flatMap(({ Plan }) => Object.entries(looks(Plan))).filter(([, rows]) => rows > 100)).toEqual([]);
  },
);
