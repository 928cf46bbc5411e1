import { expect, test } from 'vitest';
import { startExplained } from './support/explained.ts';
import { pagesRead } from './support/plans.ts';

const { gateway, seen } = await startExplained();
const FLEETS = 3000;
const VEHICLES = 200;
const id = (n: string) => `('01900000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;

test('CSV of vehicles reads the name of their fleet, not the names of all fleets', async () => {
  const client = await gateway.as('many-fleets');
  await gateway.execute(`insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    select ${id('n')}, 'many-fleets', 'Fleet ' || n, 'Here', 'a@example.com', 'DE1', now(), now() from generate_series(1, ${FLEETS}) n`);
  await gateway.execute(`insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status)
    select ${id('n')}, 'many-fleets', ${id('n % 2 + 1')}, 'WBA' || lpad(n::text, 14, '0'), 'bmw', now(), 'PENDING' from generate_series(1, ${VEHICLES}) n`);
  await gateway.execute('vacuum analyze fleet');
  await gateway.execute('vacuum analyze vehicle');
  for (const path of ['/vehicles', '/fleets/01900000-0000-7000-8000-000000000001/vehicles']) {
    await client.get(path, { accept: 'text/csv' });
    seen.length = 0;
    const { body } = await client.get(path, { accept: 'text/csv' });
    const lines = body.trim().split('\n').length;
    expect(lines).toBeGreaterThan(VEHICLES / 2);
    const pages = seen.map(({ Plan }) => pagesRead([Plan]));
    expect(Math.max(...pages)).toBeLessThan(5 * lines);
  }
});
