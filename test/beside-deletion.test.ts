import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Answer, Json } from './support/client.ts';
import { asAdmin } from './support/database.ts';
import { addVehicle, contractFields, createFleet, newVin, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

// A change of a fleet waits for a lock, and the fleet's deletion for the change: what happens is stored and said so, or neither.

const gateway = await startGateway({ settings: { RATE_LIMIT_PER_MINUTE: '0', LIMIT_UPLOADS: '100' } });
const acme = await gateway.as('acme');

/** Another connection with an open transaction. */
async function begin(): Promise<pg.Client> {
  const client = new pg.Client(asAdmin(gateway.env));
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('begin');
  return client;
}

const waitingForLocks = `select from pg_stat_activity where datname = current_database()
  and wait_event_type = 'Lock' and clock_timestamp() - query_start > interval '100 ms'`;
const waiting = (count: number) => until(async () => (await gateway.execute(waitingForLocks)).length >= count);

/** The vehicle of another transaction, which is in the way of its VIN until that commits. */
const uncommitted = (fleetId: string, vin: string) =>
  `insert into vehicle (id, company, fleet_id, vin, created_at, due_at)
   values (gen_random_uuid(), 'acme', '${fleetId}', '${vin}', now(), now())`;

interface Change {
  event: string;
  /** What the change waits for. */
  holds(world: World): string;
  request(world: World): Promise<Answer>;
}
type World = { fleetId: string; otherId: string; vin: string; vins: string[]; own: Json };

const addMutation = `mutation ($fleetId: ID!, $vins: [String!]!) {
  addVehicles(input: { fleetId: $fleetId, vins: $vins }) { summary { created existing } fleet { id } } }`;
const adds = {
  event: 'vehicle.added',
  holds: ({ otherId, vin }: World) => uncommitted(otherId, vin),
};
const changes: Record<string, Change> = {
  'vehicles, one of which another fleet gets': {
    ...adds,
    request: ({ fleetId, vin, vins }) => acme.post('/vehicles', { fleetId, vins: [...vins, vin] }),
  },
  'vehicles in GraphQL, one of which another fleet gets': {
    ...adds,
    request: ({ fleetId, vin, vins }) =>
      acme.post('/graphql', { query: addMutation, variables: { fleetId, vins: [...vins, vin] } }),
  },
  'vehicles with a key, one of which another fleet gets': {
    ...adds,
    request: ({ fleetId, vin, vins }) =>
      acme.post('/vehicles', { fleetId, vins: [...vins, vin] }, { 'idempotency-key': vin }),
  },
  'a file with vehicles, one of which another fleet gets': {
    ...adds,
    request: ({ fleetId, vin, vins }) => acme.post('/vehicles/file', uploadForm(fleetId, [...vins, vin].join('\n'))),
  },
  'a vehicle that is moved to it': {
    event: 'vehicle.moved',
    holds: ({ own }) => `select from vehicle where vin = '${own.vin}' for update`,
    request: ({ fleetId, own }) => acme.post('/vehicles/move', { fleetId, vins: [own.vin] }),
  },
  'a contract': {
    event: 'contract.created',
    holds: ({ own }) => `select from vehicle where vin = '${own.vin}' for update`,
    request: ({ own }) => acme.post('/contracts', contractFields(own)),
  },
};

describe.skipIf(gateway.database.kind === 'embedded')('beside the deletion of its fleet', () => {
  test.each(Object.entries(changes))('%s', async (name, { event, holds, request }) => {
    const own = await addVehicle(acme);
    const { id: otherId } = await createFleet(acme);
    const fleetId = name === 'a contract' ? own.fleetId : (await createFleet(acme)).id;
    const world = { fleetId, otherId, vin: newVin(), vins: newVins(60), own };
    const [lock, places] = [await begin(), await begin()];
    await lock.query(holds(world));
    await places.query(`select from fleet where id = '${otherId}' for update`);
    const answer = request(world);
    await waiting(1);
    const deletion = acme.delete(`/fleets/${fleetId}`);
    // A file holds its fleet at its end only: the deletion is first.
    await (name.startsWith('a file') ? deletion : waiting(2));
    // These take the company's other places: another statement of the change would wait for the deletion.
    const others = Array.from({ length: 20 }, () => acme.patch(`/fleets/${otherId}`, { vat: 'DE2' }));
    await waiting(4);
    await lock.query('commit');
    await deletion;
    await places.query('rollback');
    const { status, body } = await answer;
    const told = await gateway.execute(`select from event where fleet_id = '${fleetId}' and type = '${event}'`);
    expect([status < 300 && !body.errors ? 'stored' : 'not', body]).toEqual([told.length > 0 ? 'stored' : 'not', body]);
    await Promise.all(others);
  });
});
