import { expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { transaction } from '../src/core/database.ts';
import { claimDueVehicles } from '../src/core/vehicles/due-vehicles.ts';
import { storeVehicleFacts } from '../src/core/vehicles/verification.ts';
import { startExplained } from './support/explained.ts';
import { createFleet } from './support/factories.ts';
import { looks, type Plan } from './support/plans.ts';

const { gateway, seen } = await startExplained();
const { database, services } = gateway;
const acme = await gateway.as('acme');
const VEHICLES = 10_000;

/** The number of rows of vehicles that a plan has read. */
const vehiclesIn = (plan: Plan): number =>
  Object.entries(looks(plan)).reduce((sum, [what, rows]) => (what.startsWith('vehicle by') ? sum + rows : sum), 0);

test.skipIf(database.kind === 'embedded')('storing answers reads no other vehicles of the fleet', async () => {
  const fleet = await createFleet(acme);
  await gateway.execute(`
    insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
    select gen_random_uuid(), 'acme', '${fleet.id}', 'WBA' || lpad(n::text, 14, '0'), 'bmw', now(), now()
    from generate_series(1, ${VEHICLES}) n`);
  const ctx = contextOf(services, 'test', null);
  const read: Record<string, number> = {};
  for (const statistics of ['none', 'fresh']) {
    if (statistics === 'fresh') await gateway.execute('analyze vehicle');
    for (const limit of [1, 16, 100]) {
      const claimed = await claimDueVehicles(ctx, { company: 'acme', except: [], limit });
      expect(claimed).toHaveLength(limit);
      const facts = claimed.map(({ id, until }) => ({ id, until, status: 'ELIGIBLE', dataDelivery: [] }));
      const hours = { ELIGIBLE: 720, INELIGIBLE: 168, UNSUPPORTED: 720, FAILED: 24 };
      const given = {
        company: 'acme',
        process: services.changes.process,
        facts: JSON.stringify(facts),
        ids: claimed.map(({ id }) => id),
        now: ctx.now(),
        hours: JSON.stringify(hours),
      };
      seen.length = 0;
      await transaction(ctx, () => storeVehicleFacts(ctx, given));
      const rows = seen.reduce((sum, { Plan }) => sum + vehiclesIn(Plan), 0);
      read[`${limit} of ${VEHICLES}, ${statistics}`] = Math.ceil(rows / limit);
    }
  }
  // Each vehicle is found, found again for the update, and written.
  for (const [what, rows] of Object.entries(read)) expect(rows, what).toBeLessThanOrEqual(4);
  const [stored] = await gateway.execute<{ count: number }>(
    `select count(*)::int as count from vehicle where status = 'ELIGIBLE'`,
  );
  expect(stored?.count).toBe(234);
});
