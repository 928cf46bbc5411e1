import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { Json } from './support/client.ts';
import { asAdmin } from './support/database.ts';
import { addVehicles, createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');
/** A gateway without workers, which would end an abandoned import. */
const idle = await startGateway();

/** Another connection that has added vehicles and not committed yet. */
async function addingBeside(fleetId: string, vins: readonly string[]): Promise<pg.Client> {
  const client = new pg.Client(asAdmin(gateway.env));
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('begin');
  await client.query(
    `insert into vehicle (company, id, fleet_id, vin, created_at) select 'acme', gen_random_uuid(), $1, vin, now() from unnest($2::text[]) vin`,
    [fleetId, vins],
  );
  return client;
}

/** Resolves when another connection waits for this one. */
async function awaited(client: pg.Client): Promise<void> {
  const { rows } = await client.query('select pg_backend_pid() as id');
  const waiting = `select from pg_stat_activity where ${rows[0].id} = any(pg_blocking_pids(pid))`;
  await until(async () => (await gateway.execute(waiting)).length > 0);
}

test.skipIf(gateway.database.kind === 'embedded')(
  'an upload records each vehicle that it adds, even if others add some meanwhile',
  async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(3000).toSorted();
    const first = await addingBeside(fleet.id, vins.slice(0, 1));
    const second = await addingBeside(fleet.id, vins.slice(1, 1501));
    const uploading = acme.post('/vehicles/file', uploadForm(fleet.id, `vin\n${vins.join('\n')}\n`));
    await awaited(first);
    // Now the upload starts again, beside a second connection that adds the same vehicles.
    await first.query('commit');
    await awaited(second);
    await second.query('commit');
    const { status, body } = await uploading;
    expect({ status, summary: body.summary }).toEqual({
      status: 201,
      summary: { received: 3000, created: 1499, existing: 1501, rejected: 0 },
    });
    const told = await until(async () => {
      const { body: events } = await acme.get(`/events?fleetId=${fleet.id}&limit=100`);
      return events.some(({ type }: Json) => type === 'import.completed') ? events : null;
    });
    const added = told.filter(({ type }: Json) => type === 'vehicle.added').flatMap(({ vehicles }: Json) => vehicles);
    expect(added.map(({ vin }: Json) => vin).toSorted()).toEqual(vins.slice(1501));
  },
);

test.skipIf(gateway.database.kind === 'embedded').each([
  { where: 'another fleet', status: 400, summary: { received: 3, created: 0, existing: 0, rejected: 1 }, vehicles: 0 },
  { where: 'its own fleet', status: 201, summary: { received: 3, created: 2, existing: 1, rejected: 0 }, vehicles: 3 },
])('an atomic upload with a VIN that is added to $where during storing', async ({ where, ...expected }) => {
  const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
  const vins = newVins(3);
  const beside = await addingBeside(where === 'another fleet' ? other.id : fleet.id, vins.slice(1, 2));
  const uploading = acme.post('/vehicles/file?mode=atomic', uploadForm(fleet.id, vins.join('\n')));
  await awaited(beside);
  await beside.query('commit');
  const { status, body } = await uploading;
  const { body: list } = await acme.get(`/fleets/${fleet.id}/vehicles`);
  expect({ status, summary: body.summary, vehicles: list.length }).toEqual(expected);
});

test.skipIf(gateway.database.kind === 'embedded')(
  'an atomic upload whose only obstacle goes between its refusal and the report of it is stored',
  async () => {
    const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
    const vins = newVins(3);
    const [obstacle] = await addVehicles(acme, vins.slice(1, 2), other);
    await gateway.execute(`create function dawdle() returns trigger language plpgsql as $$
      begin perform pg_sleep(2); return null; end $$`);
    await gateway.execute(
      'create trigger dawdle after insert on import_rejection for each statement execute function dawdle()',
    );
    const uploading = acme.post('/vehicles/file?mode=atomic', uploadForm(fleet.id, vins.join('\n')));
    const dawdles = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    await until(async () => (await gateway.execute(dawdles)).length > 0);
    expect((await acme.delete(`/vehicles/${obstacle?.id}`)).status).toBe(200);
    const { status, body } = await uploading;
    await gateway.execute('drop trigger dawdle on import_rejection; drop function dawdle()');
    expect({ status, summary: body.summary }).toEqual({
      status: 201,
      summary: { received: 3, created: 3, existing: 0, rejected: 0 },
    });
  },
);

/** How a vehicle of this fleet goes while an upload waits. */
const removals: Record<string, (fleetId: string, vehicleId: string) => Promise<unknown>> = {
  'vehicle is deleted': (_, id) => acme.delete(`/vehicles/${id}`),
  'fleet is deleted': (id) => acme.delete(`/fleets/${id}`),
  'fleet is being deleted': (id) => gateway.execute(`update fleet set deletion = '{}' where id = '${id}'`),
};
const removed = ['partial', 'atomic'].flatMap((mode) => [
  ...Object.keys(removals).map((removal) => ({ mode, where: 'another', removal })),
  { mode, where: 'its own', removal: 'vehicle is deleted' },
]);

test.skipIf(gateway.database.kind === 'embedded').each(removed)(
  'a file of mode $mode is stored as a whole if a VIN of $where fleet is freed meanwhile: the $removal',
  async ({ mode, where, removal }) => {
    const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
    const [gone = '', beside = '', last = ''] = newVins(3).toSorted();
    const holder = where === 'another' ? other : fleet;
    const [vehicle] = await addVehicles(acme, [gone], holder);
    // The upload knows by now which VINs the company has, and waits for one that may still be added.
    const adding = await addingBeside(fleet.id, [beside]);
    const uploading = acme.post(`/vehicles/file?mode=${mode}`, uploadForm(fleet.id, `${gone}\n${beside}\n${last}`));
    await awaited(adding);
    await removals[removal]?.(holder.id, vehicle.id);
    await adding.query('rollback');
    const { status, body } = await uploading;
    const summary = { received: 3, created: 3, existing: 0, rejected: 0 };
    expect({ status, summary: body.summary }).toEqual({ status: 201, summary });
    const { body: list } = await acme.get(`/fleets/${fleet.id}/vehicles`);
    expect(list.map(({ vin }: Json) => vin).toSorted()).toEqual([gone, beside, last]);
    expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(3);
  },
);

test.skipIf(gateway.database.kind === 'embedded')(
  'a file is stored as a whole if a VIN is freed while it is stored beside another file with some of its VINs',
  async () => {
    const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
    const [gone = '', first = '', second = ''] = newVins(3).toSorted();
    const [vehicle] = await addVehicles(acme, [gone], other);
    const adding = [await addingBeside(fleet.id, [first]), await addingBeside(fleet.id, [second])] as const;
    const uploading = acme.post('/vehicles/file', uploadForm(fleet.id, `${gone}\n${first}\n${second}`));
    await awaited(adding[0]);
    await adding[0].query('commit');
    await awaited(adding[1]);
    await acme.delete(`/vehicles/${vehicle.id}`);
    await adding[1].query('rollback');
    const { body } = await uploading;
    expect(body.summary).toEqual({ received: 3, created: 2, existing: 1, rejected: 0 });
    expect((await acme.get(`/fleets/${fleet.id}/vehicles`)).body.length).toBe(3);
  },
);

/** The numbers of imports and vehicles in a fleet's log, after all events are published. */
async function toldOf(fleetId: string): Promise<{ completed: number; added: number }> {
  const { id: last } = await createFleet(acme);
  await until(async () => (await acme.get(`/events?fleetId=${last}`)).body.length > 0);
  const { body } = await acme.get(`/events?fleetId=${fleetId}&type=vehicle.added,import.completed&limit=100`);
  return {
    completed: body.filter(({ type }: Json) => type === 'import.completed').length,
    added: body.reduce((sum: number, one: Json) => sum + (one.type === 'vehicle.added' ? one.vehicleCount : 0), 0),
  };
}

const COUNTS = 'query ($id: ID!) { fleet(id: $id) { vehicleCount vehicles { totalCount } } }';
const ROWS = 1_200;
const COMMON = 10;

test.each(['atomic', 'partial'])(
  'an atomic upload beside one that is %s: both see all of the other or nothing',
  async (mode) => {
    const fleets = [await createFleet(acme), await createFleet(acme)];
    const vins = newVins(2 * ROWS - COMMON);
    const files = [vins.slice(0, ROWS), vins.slice(-ROWS).toReversed()];
    let open = true;
    const seen = fleets.map(() => new Set<number>());
    const watching = fleets.map(async ({ id }, at) => {
      while (open) {
        const { body } = await acme.post('/graphql', { query: COUNTS, variables: { id } });
        seen[at]?.add(body.data.fleet.vehicleCount).add(body.data.fleet.vehicles.totalCount);
      }
    });
    const answers = await Promise.all(
      ['atomic', mode].map((each, at) =>
        acme.post(`/vehicles/file?mode=${each}`, uploadForm(fleets[at]?.id, `vin\n${files[at]?.join('\n')}\n`)),
      ),
    );
    open = false;
    await Promise.all(watching);
    const none = { received: ROWS, created: 0, existing: 0, rejected: COMMON };
    const all = { received: ROWS, created: ROWS, existing: 0, rejected: 0 };
    const second = mode === 'atomic' ? none : { ...none, created: ROWS - COMMON };
    const results = answers.map(({ body }) => body.summary);
    const firstWins = results[0].created === ROWS;
    expect(results).toEqual(firstWins ? [all, second] : [none, all]);
    for (const [at, { created }] of results.entries()) {
      expect([0, created]).toEqual(expect.arrayContaining([...(seen[at] ?? [])]));
      const fleetId = fleets[at]?.id;
      expect((await acme.get(`/fleets/${fleetId}`)).body.vehicleCount).toBe(created);
      const { completed, added } = await toldOf(fleetId);
      expect({ completed, added }).toEqual({ completed: created > 0 ? 1 : 0, added: created });
    }
  },
);

test.skipIf(gateway.database.kind === 'embedded')(
  'an upload that looks abandoned while its process commits is repeated, not begun again',
  async () => {
    const client = await idle.as('acme');
    const fleet = await createFleet(client);
    const file = `vin\n${newVins(2).join('\n')}\n`;
    const upload = () =>
      client.post('/vehicles/file', uploadForm(fleet.id, file), { 'Idempotency-Key': 'slow commit' });
    const { body: first } = await upload();
    const of = `where id = '${first.importId}'`;
    await idle.execute(`update import set state = 'STORING', due_at = now() - interval '1 minute' ${of}`);
    const beside = new pg.Client(asAdmin(idle.env));
    await beside.connect();
    onTestFinished(() => beside.end());
    await beside.query(`begin; update import set state = 'COMPLETED', due_at = null ${of}`);
    const again = upload();
    await awaited(beside);
    await beside.query('commit');
    const { status, body } = await again;
    expect({ status, body }).toEqual({ status: 201, body: first });
  },
);
