import type { GraphQLEnumType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { sumUpTallies } from '../src/core/operations/upkeep.ts';
import { claimDueVehicles, vehicleSchedule } from '../src/core/vehicles/due-vehicles.ts';
import type { Client, Json } from './support/client.ts';
import { asAdmin } from './support/database.ts';
import { addVehicles, contractFields, createFleet, newVins, uploadForm } from './support/factories.ts';
import { addRows, ROWS, startLookedAt } from './support/looked-at.ts';
import { schema } from './support/operation.ts';
import { execute } from './support/operator.ts';
import { publishEvents } from './support/publish.ts';
import { newWorld, type World } from './support/worlds.ts';

// The planner's statistics are occasional samples: a new or growing company is missing from them and seems to have no
// rows, so that every index seems equally good.

const { gateway, isServer, muchLookedAt, testOperations } = await startLookedAt();
const amongSmall = await startLookedAt();
const growing = await startLookedAt();
const amongMany = await startLookedAt();

const worlds: Record<string, World> = {};
const cleaned = `select gin_clean_pending_list(name) from unnest('{event_vehicle,event_vin}'::regclass[]) name`;
beforeAll(async () => {
  if (!isServer) return;
  const tables = ['vehicle', 'fleet', 'contract', 'event', 'delivery', 'vehicle_tally'];
  for (const table of tables) await gateway.execute(`alter table ${table} set (autovacuum_enabled = off)`);
  await addRows(gateway, await newWorld(gateway, 'neighbour'), 'A');
  for (const table of tables) await gateway.execute(`analyze ${table}`);
  for (const [company, letter] of Object.entries({ acme: 'B', globex: 'C' })) {
    worlds[company] = await newWorld(gateway, company);
    await addRows(gateway, worlds[company], letter);
  }
  // Usually few events come at a time; many at once make the planner avoid these indexes.
  await gateway.execute(cleaned);
});

const valuesOf = (type: string): string[] =>
  (schema.getType(type) as GraphQLEnumType).getValues().map(({ name }) => name);

const ctx = contextOf(gateway.services, 'test', null);
const due = { company: 'acme', except: [], limit: 100 };
const inBackground: [string, () => Promise<unknown>][] = [
  ['the companies whose vehicles are due', () => vehicleSchedule.companiesDue(ctx)],
  ['a claim of vehicles', () => claimDueVehicles(ctx, due)],
  ['publishing', () => publishEvents(ctx)],
];

describe.skipIf(!isServer)('a company missing from the planner’s statistics', () => {
  testOperations('reads few rows', () => ({ rest: worlds.acme as World, graphql: worlds.globex as World }));

  const lists = {
    contracts: 'ContractOrder',
    fleets: 'FleetOrder',
    vehicles: 'VehicleOrder',
    'fleet(id: $fleet) { vehicles': 'VehicleOrder',
    'fleet(id: $fleet) { contracts': 'ContractOrder',
  };
  const orders = Object.entries(lists).flatMap(([list, type]) =>
    valuesOf(`${type}Field`).flatMap((field) =>
      valuesOf('OrderDirection').map((direction) => [list, type, { field, direction }] as const),
    ),
  );
  test.each(orders)('a page of %s by %s %o reads few rows', async (list, type, order) => {
    const { client, fleetId } = worlds.globex as World;
    const query = `query ($fleet: ID!, $order: ${type}, $first: Int) {
      ${list}(first: $first, orderBy: $order) { nodes { id } } ${list.includes('{') ? '}' : ''} fleet(id: $fleet) { id } }`;
    // An order by a count looks at each fleet of the company once.
    const most = order.field.endsWith('_COUNT') ? 1.1 * ROWS : undefined;
    for (const first of [1, 100, 1_000]) {
      const variables = { fleet: fleetId, order, first };
      const asked = async () =>
        expect((await client.post('/graphql', { query, variables })).body.errors).toBeUndefined();
      expect(await muchLookedAt(asked, most), `${first}`).toEqual({});
    }
  });

  test.each(['fleets', 'vehicles', 'contracts', 'events'])('a small company counts only its own %s', async (list) => {
    const { client } = await newWorld(gateway, `small-${list}`);
    const query = `{ ${list} { totalCount } }`;
    expect(await muchLookedAt(() => client.post('/graphql', { query }))).toEqual({});
  });

  test.each([10, 900, 3_000])('an upload of %i rows looks up each row once', async (count) => {
    const { client, fleetId } = worlds.acme as World;
    const file = uploadForm(fleetId, `vin\n${newVins(count, 0, 'WP0').join('\n')}\n`);
    expect(await muchLookedAt(() => client.post('/vehicles/file', file))).toEqual({});
  });

  test.each(inBackground)('%s reads few rows', async (_, work) => {
    expect(await muchLookedAt(work)).toEqual({});
  });

  test('a full scan is noticed', async () => {
    expect(await muchLookedAt(() => gateway.execute('select count(*) from vehicle'))).not.toEqual({});
  });
});

// Autovacuum may analyse a table just after all rows were deleted, before new ones come. Then every index seems equally
// good. A statement may read all rows once, but must not compare rows with rows.
describe.skipIf(!isServer)('tables that seem empty to the planner', () => {
  const most = 12 * ROWS;
  beforeAll(async () => {
    for (const [company, letter] of Object.entries({ initech: 'D', umbrella: 'E' })) {
      const world = await newWorld(gateway, company);
      worlds[company] = world;
      await addRows(gateway, world, letter);
      await gateway.execute(
        `insert into vehicle_tally (company, fleet_id, status, delta)
         select company, fleet_id, 'PENDING', 0 from vehicle where company = '${company}'`,
      );
    }
    const emptied = `update pg_class set reltuples = 1, relpages = pg_relation_size(oid) / 8192
      where relkind = 'r' and relnamespace = current_schema::regnamespace and pg_relation_size(oid) / 8192 > 8`;
    await (gateway.env.DATABASE_URL ? execute(asAdmin(gateway.env), emptied) : gateway.execute(emptied));
  });

  const there = () => ({ rest: worlds.initech as World, graphql: worlds.umbrella as World });
  testOperations('does not compare rows with rows', there, most);

  test.each([...inBackground, ['folding tallies', () => sumUpTallies(ctx)]] satisfies typeof inBackground)(
    '%s does not compare rows with rows',
    async (_, work) => {
      expect(await muchLookedAt(work, most)).toEqual({});
    },
  );
});

/** As many rows as a large company has, in companies with twenty each. */
const ofSmall = [
  `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    select new_uuid(), 'small ' || n % ${ROWS / 20}, 'Fleet ' || n, 'Here', 'a@example.com', 'DE1', now(), now()
    from generate_series(1, ${ROWS}) n order by random()`,
  `insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
    select new_uuid(), company, id, 'WBAA' || lpad(substr(name, 7), 13, '0'), 'bmw', now(), now() from fleet order by random()`,
  `insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
    select new_uuid(), company, fleet_id, id, 'Log', 'Log', 'driving-log', now(), now() + interval '1 year', now()
    from vehicle order by random()`,
  `insert into event (company, position, type, fleet_id, vehicle_ids, vins, actor, at)
    select company, row_number() over (), 'vehicle.added', fleet_id, array[id], array[vin], 'system', now() from vehicle`,
];

// Where most companies have twenty vehicles, to read the whole company may seem cheaper than to look up ten ids or VINs. The
// company that asks is large, and the statistics know it (docs/decisions/one-statement.md).
describe.skipIf(!isServer)('a large company among companies with twenty vehicles', () => {
  const { gateway, testOperations } = amongSmall;
  const worlds: Record<string, World> = {};
  beforeAll(async () => {
    const tables = ['vehicle', 'fleet', 'contract', 'event'];
    for (const table of tables) await gateway.execute(`alter table ${table} set (autovacuum_enabled = off)`);
    for (const statement of ofSmall) await gateway.execute(statement);
    for (const [company, letter] of Object.entries({ acme: 'B', globex: 'C' })) {
      worlds[company] = await newWorld(gateway, company);
      await addRows(gateway, worlds[company], letter);
    }
    for (const table of tables) await gateway.execute(`vacuum analyze ${table}`);
    await gateway.execute(cleaned);
  });
  testOperations('reads few rows', () => ({ rest: worlds.acme as World, graphql: worlds.globex as World }));
});

// The planner expects few contracts of a company that has grown to be left after other conditions, and may begin with them.
describe.skipIf(!isServer)('a company that has grown since its statistics were made', () => {
  const { gateway, muchLookedAt } = growing;
  const terms = {
    name: 'n',
    description: 'd',
    pack: 'basic',
    from: '2031-01-01T00:00:00Z',
    to: '2032-01-01T00:00:00Z',
  };
  const tables = ['vehicle', 'contract'];

  async function creationFor(client: Client, count: number) {
    const vehicles = await addVehicles(client, newVins(count));
    const vins = vehicles.map(({ vin }) => vin);
    return () => client.post('/contracts/bulk', { fleetId: vehicles[0]?.fleetId, vins, ...terms });
  }

  test.for([
    ['long', 6, 500],
    ['short', 60, 50],
  ] as const)(
    'does not compare %s lists with all rows where plans were made for empty tables',
    async ([, lists, each]) => {
      const young = await gateway.as(`young with ${each}`);
      await gateway.execute('truncate fleet cascade');
      for (const table of tables) {
        await gateway.execute(`alter table ${table} set (autovacuum_enabled = off)`);
        await gateway.execute(`analyze ${table}`);
      }
      for (let times = 0; times < 9; times++) await (await creationFor(young, 1))();
      for (let times = 0; times < lists; times++) await (await creationFor(young, each))();
      expect(await muchLookedAt(await creationFor(young, each))).toEqual({});
    },
  );

  test('looks contracts of many vehicles up by vehicle', async () => {
    const acme = await gateway.as('acme');
    const create = async (count: number) => {
      const creation = await creationFor(acme, count);
      return async () => expect((await creation()).body.contracts).toHaveLength(count);
    };
    await (await create(1))();
    const first = await create(210);
    for (const table of tables) await gateway.execute(`analyze ${table}`);
    await first();
    for (let times = 0; times < 9; times++) await (await create(210))();
    // All contracts once for each vehicle, by the plan that is kept since there was one; not all vehicles for each contract.
    const most = 210 * 2200;
    expect(await muchLookedAt(await create(210), most)).toEqual({});
  });
});

// With many companies and fleets in its statistics, the planner expects hardly any vehicle in one fleet of one company.
describe.skipIf(!isServer)('a large fleet among many companies', async () => {
  const { gateway, muchLookedAt } = amongMany;
  const acme = await gateway.as('acme');
  const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
  const vinOf = (n: number) => `WBAL${String(n).padStart(13, '0')}`;
  beforeAll(async () => {
    await gateway.execute(`
      insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
        select new_uuid(), 'company ' || company, 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now()
        from generate_series(1, 300) company, generate_series(1, 10)`);
    await gateway.execute(`
      insert into vehicle (id, company, fleet_id, vin, created_at)
        select new_uuid(), company, id, 'WBAS' || lpad((row_number() over ())::text, 13, '0'), now()
        from fleet, generate_series(1, 10) where company <> 'acme'`);
    await gateway.execute(`
      insert into vehicle (id, company, fleet_id, vin, created_at)
        select new_uuid(), 'acme', '${fleet.id}', 'WBAL' || lpad(n::text, 13, '0'), now() from generate_series(1, 20000) n`);
    await gateway.execute('analyze fleet, vehicle');
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

  test.each(changes)('%s reads the named vehicles alone', async (name, status, change) => {
    const start = 100 + 100 * changes.findIndex(([one]) => one === name);
    const vins = Array.from({ length: 10 }, (_value, n) => vinOf(start + n));
    const asked = async () => expect(await change(vins)).toMatchObject({ status });
    expect(await muchLookedAt(asked, 100)).toEqual({});
  });

  test.each(['/vehicles', '/fleets/:id/vehicles'])(
    'vehicles at %s by a status and the end of a VIN are looked up by the VIN',
    async (path) => {
      const asked = async () => {
        const { status, body } = await acme.get(`${path.replace(':id', fleet.id)}?eligibility=PENDING&vin=0019999`);
        expect([status, body.map(({ vin }: Json) => vin)]).toEqual([200, [vinOf(19999)]]);
      };
      expect(await muchLookedAt(asked, 100)).toEqual({});
    },
  );
});
