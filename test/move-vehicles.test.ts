import { describe, expect, inject, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { transaction } from '../src/core/database.ts';
import { moveVehicles } from '../src/core/vehicles/move-vehicles.ts';
import type { Answer, Json } from './support/client.ts';
import { asAdmin } from './support/database.ts';
import {
  addVehicle,
  addVehicles,
  contractFields,
  createContract,
  createFleet,
  miscounted,
  newVin,
  newVins,
  recount,
  unknownId,
} from './support/factories.ts';
import { askingAt, startGateway } from './support/gateway.ts';
import { execute } from './support/operator.ts';
import { publishEvents } from './support/publish.ts';
import { until } from './support/until.ts';
import { eligible, slow, UpstreamServer } from './support/upstream.ts';

const { kind } = inject('database');
const gateway = await startGateway();
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');

const vehiclesOf = async ({ id }: Json): Promise<Json[]> => (await acme.get(`/fleets/${id}/vehicles`)).body;
const eventsOf = async ({ id }: Json, type: string): Promise<Json[]> => {
  while (await publishEvents(contextOf(gateway.services, 'test', null)));
  return (await acme.get(`/events?fleetId=${id}&type=${type}`)).body;
};
const move = (body: Json): Promise<Answer> => acme.post('/vehicles/move', body);
const graphql = async (query: string, input: Json): Promise<Json> => {
  const { body } = await acme.post('/graphql', { query, variables: { input } });
  expect(body.errors).toBeUndefined();
  return body.data;
};

describe('POST /vehicles/move', () => {
  test('moves vehicles of several fleets, by ids and VINs, and lists those already there', async () => {
    const [from, other, to] = [await createFleet(acme), await createFleet(acme), await createFleet(acme)];
    const [a, b, c] = await addVehicles(acme, newVins(3), from);
    const [d] = await addVehicles(acme, newVins(1), other);
    const [e] = await addVehicles(acme, newVins(1), to);
    const named = { ids: [a.id, d.id.toUpperCase(), e.id], vins: [b.vin.toLowerCase(), a.vin] };
    const { status, body } = await move({ fleetId: to.id.toUpperCase(), ...named });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        moved: [a, b, d, e].map(({ id, vin, fleetId }) => ({ id, vin, from: fleetId })),
        notFound: { ids: [], vins: [] },
      },
    });
    const there = (vehicle: Json) => ({ ...vehicle, fleetId: to.id });
    expect([await vehiclesOf(from), await vehiclesOf(other), await vehiclesOf(to)]).toEqual([
      [c],
      [],
      [a, b, d, e].map(there),
    ]);
    const counts = await Promise.all([from, other, to].map(({ id }) => acme.get(`/fleets/${id}`)));
    expect(counts.map((one) => one.body.vehicleCount)).toEqual([1, 0, 4]);
    expect(await gateway.execute(miscounted)).toEqual([]);
  });

  test('changes many vehicles and reads them in statements of 200, each with a time limit of its own', async () => {
    const [from, to] = [await createFleet(acme), await createFleet(acme)];
    const ids = (await addVehicles(acme, newVins(450), from)).map(({ id }) => id);
    await gateway.execute('create table steps (changed int)');
    await gateway.execute(`create function note_step() returns trigger language plpgsql as $$
      begin insert into steps select count(*) from changed; return null; end $$`);
    await gateway.execute(`create trigger step after update on vehicle
      referencing new table as changed for each statement execute function note_step()`);
    const read = vi.spyOn(gateway.database, 'read');
    const MOVE = 'mutation ($input: MoveVehiclesInput!) { moveVehicles(input: $input) { vehicles { id } } }';
    const { moveVehicles: payload } = await graphql(MOVE, { fleetId: to.id, ids });
    expect(payload.vehicles).toHaveLength(450);
    expect((await gateway.execute('select changed from steps')).map(({ changed }) => changed)).toEqual([200, 200, 50]);
    await gateway.execute('drop trigger step on vehicle');
    const rows = await Promise.all(read.mock.results.map(async ({ value }) => (await value)?.length ?? 0));
    read.mockRestore();
    expect(rows.filter((count) => count >= 50)).toEqual([200, 200, 50]);
  });

  test('contracts move unchanged, and are deleted with their new fleet', async () => {
    const vehicle = await addVehicle(acme);
    const contract = await createContract(acme, vehicle);
    const to = await createFleet(acme);
    expect((await move({ fleetId: to.id, ids: [vehicle.id] })).status).toBe(200);
    expect((await acme.get(`/contracts/${contract.id}`)).body).toEqual({ ...contract, fleetId: to.id });
    // Only the new fleet knows the vehicle, and its contracts conflict as before.
    expect(await acme.post('/contracts', contractFields(vehicle))).toMatchObject({
      status: 404,
      body: { code: 'VEHICLE_NOT_FOUND' },
    });
    expect(await acme.post('/contracts', contractFields({ ...vehicle, fleetId: to.id }))).toMatchObject({
      status: 409,
      body: { conflicts: [contract.id] },
    });
    expect((await acme.delete(`/fleets/${vehicle.fleetId}`)).status).toBe(200);
    expect((await acme.get(`/contracts/${contract.id}`)).status).toBe(200);
    expect((await acme.delete(`/fleets/${to.id}`)).status).toBe(200);
    expect((await acme.get(`/contracts/${contract.id}`)).status).toBe(404);
  });

  test('a moved vehicle keeps its eligibility', async () => {
    const vehicle = await addVehicle(acme);
    await gateway.execute(`update vehicle set attempts = 3, verified_at = now(), primary_user_assigned = true,
      reason = '{"code": "X", "message": "y", "actor": "OPERATOR", "retryable": true}' where id = '${vehicle.id}'`);
    const whole = async () => (await gateway.execute(`select * from vehicle where id = '${vehicle.id}'`))[0];
    const before = await whole();
    const { id: fleetId } = await createFleet(acme);
    await move({ fleetId, vins: [vehicle.vin] });
    expect(await whole()).toEqual({ ...before, fleet_id: fleetId });
  });

  test('both fleets and the vehicle have the event; a vehicle that stays has none', async () => {
    const [from, to] = [await createFleet(acme), await createFleet(acme)];
    const vehicles = await addVehicles(acme, newVins(1001), from);
    const [stayed] = await addVehicles(acme, newVins(1), to);
    const ids = [...vehicles, stayed].map(({ id }) => id);
    await acme.post('/vehicles/move', { fleetId: to.id, ids }, { 'x-request-id': 'move-1' });
    const data = { from: from.id, to: to.id };
    for (const fleet of [from, to]) {
      const events = await eventsOf(fleet, 'vehicle.moved');
      expect(events).toMatchObject([1000, 1].map((vehicleCount) => ({ data, vehicleCount, requestId: 'move-1' })));
      expect(events.flatMap((event) => event.vehicles.map((one: Json) => one.id)).toSorted()).toEqual(
        vehicles.map(({ id }) => id).toSorted(),
      );
    }
    await move({ fleetId: to.id, ids });
    expect(await eventsOf(to, 'vehicle.moved')).toHaveLength(2);
    const { vehicle } = await graphql(
      'query ($input: VehicleBy!) { vehicle(by: $input) { timeline { nodes { type fleetId } } } }',
      { id: vehicles[0].id },
    );
    expect(vehicle.timeline.nodes).toEqual([
      { type: 'VEHICLE_ADDED', fleetId: from.id },
      { type: 'VEHICLE_MOVED', fleetId: from.id },
      { type: 'VEHICLE_MOVED', fleetId: to.id },
    ]);
  });

  test('a webhook can select it alone', async () => {
    const { status, body } = await acme.post('/webhooks', { url: 'https://example.com/', types: ['vehicle.moved'] });
    expect({ status, types: body.types }).toEqual({ status: 201, types: ['vehicle.moved'] });
  });

  test.each([{}, { ids: [] }, { vins: [] }, { ids: [], vins: [] }, { ids: null, vins: null }])(
    'neither ids nor vins is 400: %j',
    async (names) => {
      const { id: fleetId } = await createFleet(acme);
      expect(await move({ fleetId, ...names })).toMatchObject({ status: 400, body: { code: 'NOTHING_TO_MOVE' } });
    },
  );

  test("unknown vehicles and another company's are listed as given", async () => {
    const { id: fleetId } = await createFleet(acme);
    const theirs = await addVehicle(globex);
    const ids = [theirs.id, unknownId, 'not-an-id'];
    const vins = [theirs.vin, 'nonsense', ` ${newVin()}`];
    expect(await move({ fleetId, ids, vins })).toMatchObject({
      status: 200,
      body: { moved: [], notFound: { ids, vins } },
    });
    expect((await globex.get(`/vehicles/${theirs.id}`)).body).toEqual(theirs);
  });

  test('an unknown, foreign or missing fleet is 404 or 400, and nothing moves', async () => {
    const vehicle = await addVehicle(acme);
    for (const fleetId of [unknownId, 'not-an-id', (await createFleet(globex)).id]) {
      expect(await move({ fleetId, ids: [vehicle.id] })).toMatchObject({
        status: 404,
        body: { code: 'FLEET_NOT_FOUND' },
      });
    }
    expect(await move({ ids: 'x', vins: [1] })).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ path: 'fleetId' }, { path: 'ids' }, { path: 'vins.0' }] },
    });
    const tooMany = Array(10_001).fill(vehicle.vin);
    expect(await move({ fleetId: vehicle.fleetId, vins: tooMany })).toMatchObject({ status: 413 });
    expect((await acme.get(`/vehicles/${vehicle.id}`)).body).toEqual(vehicle);
  });

  test('the error for a VIN of another fleet says how to move the vehicle', async () => {
    const vehicle = await addVehicle(acme);
    const { id: fleetId } = await createFleet(acme);
    const refused = await acme.post('/vehicles', { fleetId, vins: [vehicle.vin] });
    expect(refused.body.errors).toMatchObject([
      { code: 'VIN_IN_ANOTHER_FLEET', message: expect.stringContaining('moveVehicles') },
    ]);
    await move({ fleetId, vins: [vehicle.vin] });
    expect((await acme.post('/vehicles', { fleetId, vins: [vehicle.vin] })).body.summary).toMatchObject({
      existing: 1,
    });
  });
});

// Storing an answer locks the fleets known before the call.
test.runIf(kind === 'postgresql')('an answer that arrives during a move is stored at once', async () => {
  const upstream = await UpstreamServer.start();
  upstream.always('eligibility', slow(700, eligible()));
  const asking = await startGateway({ on: gateway, workers: true, settings: askingAt(upstream) });
  const client = await asking.as('moving');
  const to = await createFleet(client);
  const { id } = await addVehicle(client);
  await until(async () => upstream.count('eligibility') > 0);
  // A long move: the vehicle is locked when the answer arrives, and in another fleet when it can be stored.
  const moved = gateway.execute(`do $$ begin
    update vehicle set fleet_id = '${to.id}' where id = '${id}'; perform pg_sleep(1.5); end $$`);
  await moved;
  await gateway.execute(recount);
  await until(async () => (await client.get(`/vehicles/${id}`)).body.eligibility.status === 'ELIGIBLE');
  expect((await client.get(`/vehicles/${id}`)).body.fleetId).toBe(to.id);
  await asking.close();
  await upstream.close();
});

describe('by GraphQL', () => {
  const counted = 'fleet { id vehicleCount eligibilitySummary { pending } vehicles { totalCount } }';
  const shown = (id: string, count: number) => ({
    id,
    vehicleCount: count,
    eligibilitySummary: { pending: count },
    vehicles: { totalCount: count },
  });

  test('moveVehicles returns the fleet and the vehicles after the move', async () => {
    const vehicle = await addVehicle(acme);
    const { id: fleetId } = await createFleet(acme);
    const moved = await graphql(
      `mutation ($input: MoveVehiclesInput!) { moveVehicles(input: $input) {
        ${counted} vehicles { id vin fleet { id } } notFound { ids vins } } }`,
      { fleetId, ids: [vehicle.id, unknownId], vins: ['SHORT'] },
    );
    expect(moved.moveVehicles).toEqual({
      fleet: shown(fleetId, 1),
      vehicles: [{ id: vehicle.id, vin: vehicle.vin, fleet: { id: fleetId } }],
      notFound: { ids: [unknownId], vins: ['SHORT'] },
    });
  });

  test('each payload shows its fleet after the change, also beside others of the operation', async () => {
    const { id: fleetId } = await createFleet(acme);
    const [first, second, third] = newVins(3);
    const text = (name: string, type: string, input: string) => `${name}: ${type}(input: ${input}) { ${counted} }`;
    const add = (vins: unknown) => `{ fleetId: "${fleetId}", vins: ${JSON.stringify(vins)} }`;
    const { body } = await acme.post('/graphql', {
      query: `mutation {
        ${text('one', 'addVehicles', add([first]))}
        ${text('three', 'addVehicles', add([second, third]))}
        ${text('two', 'deleteVehicles', add([first]))} }`,
    });
    expect(body.data).toEqual({
      one: { fleet: shown(fleetId, 1) },
      three: { fleet: shown(fleetId, 3) },
      two: { fleet: shown(fleetId, 2) },
    });
    const [vehicle] = await vehiclesOf({ id: fleetId });
    const last = await graphql(
      `mutation ($input: DeleteVehicleInput!) { deleteVehicle(input: $input) { ${counted} } }`,
      {
        id: vehicle?.id,
      },
    );
    expect(last.deleteVehicle).toEqual({ fleet: shown(fleetId, 1) });
  });

  test('a payload shows the fleet without the scope to read', async () => {
    const on = await startGateway({ settings: { AUTH_SCOPES: 'on' } });
    const writer = await on.as('acme', { scope: 'fleets:write' });
    const { id: fleetId } = await createFleet(writer);
    const query = `mutation ($input: MoveVehiclesInput!) {
      moveVehicles(input: $input) { fleet { id } vehicles { vin } } }`;
    const [{ vin }] = await addVehicles(writer, newVins(1));
    const { body } = await writer.post('/graphql', { query, variables: { input: { fleetId, vins: [vin] } } });
    expect(body.data).toEqual({ moveVehicles: { fleet: { id: fleetId }, vehicles: [{ vin }] } });
    const reader = await on.as('acme', { scope: 'fleets:read' });
    expect(await reader.post('/vehicles/move', { fleetId, vins: [vin] })).toMatchObject({ status: 403 });
  });
});

test('a move waits for another of the company, and takes a vehicle from where that one left it', async (context) => {
  context.skip(gateway.database.kind === 'embedded', 'it has one connection');
  const [from, over, to] = [await createFleet(acme), await createFleet(acme), await createFleet(acme)];
  const [vehicle] = await addVehicles(acme, newVins(1), from);
  const ids = [vehicle?.id];
  const caller = { company: 'acme', subject: 'someone', scopes: null, expiresAt: Number.POSITIVE_INFINITY };
  const ctx = contextOf(gateway.services, 'first', caller);
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const moved = Promise.withResolvers<void>();
  const first = transaction(ctx, async () => {
    await moveVehicles(ctx, { fleetId: over.id, ids });
    moved.resolve();
    await until(async () => (await execute(asAdmin(gateway.env), waiting)).length > 0);
  });
  await moved.promise;
  const second = move({ fleetId: to.id, ids });
  await first;
  expect((await second).body).toMatchObject({ moved: [{ id: vehicle?.id, from: over.id }], notFound: { ids: [] } });
});
