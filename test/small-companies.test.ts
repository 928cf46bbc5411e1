import { beforeAll, describe, expect, test } from 'vitest';
import { callOf, ROWS, rowsOf, smallOperations, startLookedAt, worked } from './support/looked-at.ts';
import { askGraphql, askRest } from './support/operation.ts';
import { onGraphql, onRest } from './support/operations.ts';
import { newWorld, type World } from './support/worlds.ts';

// Where most companies have twenty vehicles, to read the whole company may seem cheaper than to look up ten ids or VINs. The
// company that asks is large, and the statistics know it (docs/decisions/one-statement.md).

const { gateway, isServer, muchLookedAt } = await startLookedAt();

/** As many rows as a large company has, in companies with twenty each. */
const ofSmall = `
  insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    select new_uuid(), 'small ' || n % ${ROWS / 20}, 'Fleet ' || n, 'Here', 'a@example.com', 'DE1', now(), now()
    from generate_series(1, ${ROWS}) n order by random();
  insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
    select new_uuid(), company, id, 'WBAA' || lpad(substr(name, 7), 13, '0'), 'bmw', now(), now() from fleet order by random();
  insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
    select new_uuid(), company, fleet_id, id, 'Log', 'Log', 'driving-log', now(), now() + interval '1 year', now()
    from vehicle order by random();
  insert into event (company, position, type, fleet_id, vehicle_ids, vins, actor, at)
    select company, row_number() over (), 'vehicle.added', fleet_id, array[id], array[vin], 'system', now() from vehicle;`;

const worlds: Record<string, World> = {};
beforeAll(async () => {
  if (!isServer) return;
  const tables = ['vehicle', 'fleet', 'contract', 'event'];
  for (const table of tables) await gateway.execute(`alter table ${table} set (autovacuum_enabled = off)`);
  await gateway.execute(ofSmall);
  for (const [company, letter] of Object.entries({ acme: 'B', globex: 'C' })) {
    worlds[company] = await newWorld(gateway, company);
    await gateway.execute(rowsOf(worlds[company], letter));
  }
  for (const table of tables) await gateway.execute(`vacuum analyze ${table}`);
  await gateway.execute(
    `select gin_clean_pending_list(name) from unnest('{event_vehicle,event_vin}'::regclass[]) name`,
  );
});

describe.skipIf(!isServer)('a large company among companies with twenty vehicles', () => {
  test.each(smallOperations(onRest))('%s reads few rows, by REST', async (name, operation) => {
    const world = worlds.acme as World;
    const ask = async () => worked(await askRest(world.client, name, callOf(operation, world)));
    expect(await muchLookedAt(ask)).toEqual({});
  });

  test.each(smallOperations(onGraphql))('%s reads few rows, by GraphQL', async (_, operation) => {
    const world = worlds.globex as World;
    const ask = async () => worked(await askGraphql(world.client, operation, callOf(operation, world)));
    expect(await muchLookedAt(ask)).toEqual({});
  });
});
