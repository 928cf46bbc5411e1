import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Client, Json } from './support/client.ts';
import {
  addVehicles,
  contractFields,
  createContract,
  createFleet,
  fleetFields,
  newVin,
  newVins,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

// The objects of a mutation's payload may be deleted before the payload is read.

const gateway = await startGateway({ settings: { RATE_LIMIT_PER_MINUTE: '0', LIMIT_UPLOADS: '1000' } });

const FLEET = `{ id name vehicleCount eligibilitySummary { pending } vehicles(first: 2) { totalCount nodes { id fleet { id } } }
  contracts { totalCount nodes { vehicle { vin } } } imports { nodes { id fleet { id } } } timeline { totalCount } }`;
const CONTRACT = `{ id fleet { id } vehicle { id fleet { name } } timeline { totalCount } }`;
const VEHICLE = `{ id fleet ${FLEET} contracts { nodes ${CONTRACT} } timeline { totalCount } eligibility { status } }`;

/** A fleet with vehicles, one of which has a contract, and another fleet. */
async function makeWorld(client: Client) {
  const [fleet, other] = await Promise.all([createFleet(client), createFleet(client)]);
  const vehicles = await addVehicles(client, newVins(3), fleet);
  const contract = await createContract(client, vehicles[0]);
  return { fleet, other, vehicles, contract };
}
type World = Awaited<ReturnType<typeof makeWorld>>;

const mutations: Record<string, [payload: string, input: (world: World) => Json]> = {
  createFleet: [`fleet ${FLEET}`, () => fleetFields],
  updateFleet: [`fleet ${FLEET}`, ({ fleet }) => ({ id: fleet.id, name: 'Another' })],
  deleteFleet: [`fleet ${FLEET}`, ({ fleet }) => ({ id: fleet.id })],
  addVehicles: [
    `vehicles ${VEHICLE} fleet ${FLEET}`,
    ({ fleet, vehicles }) => ({ fleetId: fleet.id, vins: [newVin(), vehicles[1].vin] }),
  ],
  deleteVehicle: [`vehicle ${VEHICLE} fleet ${FLEET}`, ({ vehicles }) => ({ id: vehicles[0].id })],
  deleteVehicles: [`fleet ${FLEET}`, ({ fleet, vehicles }) => ({ fleetId: fleet.id, ids: [vehicles[0].id] })],
  moveVehicles: [
    `vehicles ${VEHICLE} fleet ${FLEET}`,
    ({ other, vehicles }) => ({ fleetId: other.id, ids: vehicles.map(({ id }) => id) }),
  ],
  createContract: [`contract ${CONTRACT}`, ({ vehicles }) => contractFields(vehicles[1])],
  updateContract: [`contract ${CONTRACT}`, ({ contract }) => ({ id: contract.id, name: 'Another' })],
  deleteContract: [`contract ${CONTRACT}`, ({ contract }) => ({ id: contract.id })],
  importVehicles: [`import { id fleet ${FLEET} }`, ({ fleet }) => ({ fleetId: fleet.id, file: null })],
};

async function mutate(client: Client, name: string, world: World): Promise<Json> {
  const [payload, inputOf] = mutations[name] as (typeof mutations)[string];
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`;
  const query = `mutation ($input: ${type}) { ${name}(input: $input) { ${payload} } }`;
  const operation = { query, variables: { input: inputOf(world) } };
  if (name !== 'importVehicles') return (await client.post('/graphql', operation)).body;
  const form = new FormData();
  form.append('operations', JSON.stringify(operation));
  form.append('map', '{"0":["variables.input.file"]}');
  form.append('0', new Blob([newVins(3).join('\n')], { type: 'text/csv' }), 'vins.csv');
  return (await client.post('/graphql', form)).body;
}

/** Checks that errors have only NOT_FOUND codes, and that a null payload has an error. */
function judge({ data, errors = [] }: Json, name: string): void {
  expect(data, JSON.stringify(errors)).toBeDefined();
  const codes = errors.map(({ extensions }: Json) => extensions.code);
  expect(codes, JSON.stringify(errors)).toEqual(
    codes.filter((code: string) => /^(FLEET|VEHICLE|CONTRACT)_NOT_FOUND$/.test(code)),
  );
  if (data[name] === null) expect(codes).not.toEqual([]);
}

const deletions: Record<string, (client: Client, world: World) => Promise<unknown>> = {
  'its fleets': (client, { fleet, other }) =>
    Promise.all([fleet, other].map(({ id }) => client.delete(`/fleets/${id}`))),
  'its vehicles': (client, { vehicles }) => Promise.all(vehicles.map(({ id }) => client.delete(`/vehicles/${id}`))),
  'its contracts': (client, { contract }) => client.delete(`/contracts/${contract.id}`),
};

const all = Object.keys(mutations).flatMap((name) =>
  Object.keys(deletions).map((deletion) => [name, deletion] as const),
);

describe('objects deleted between a change and the read of its payload are null, with a code', () => {
  test.each(all)('%s and %s', async (name, deletion) => {
    const client = await gateway.as(`held ${name} ${deletion}`);
    const world = await makeWorld(client);
    let deleted: Promise<unknown> | undefined;
    // Payloads are read outside of transactions, by ids of written rows or of the changed fleet.
    for (const way of ['slowRead', 'read', 'send'] as const) {
      const send = gateway.database[way].bind(gateway.database) as (...statement: never[]) => Promise<never>;
      const held = vi.spyOn(gateway.database, way).mockImplementation((async (...statement: never[]) => {
        if (
          !deleted &&
          /with ordinality \w+\(\w+, .*n\)|from fleet f |from vehicle as "v"/.test(String(statement[0]))
        ) {
          deleted = Promise.resolve();
          deleted = deletions[deletion]?.(client, world);
          await deleted;
        }
        return send(...statement);
      }) as never);
      onTestFinished(() => void held.mockRestore());
    }
    judge(await mutate(client, name, world), name);
    expect(deleted).toBeDefined();
  });
});

test('mutations beside random deletions cause no internal error', async () => {
  const client = await gateway.as('random');
  for (let round = 0; round < 4; round++) {
    await Promise.all(
      all.map(async ([name, deletion]) => {
        const world = await makeWorld(client);
        const [answer] = await Promise.all([mutate(client, name, world), deletions[deletion]?.(client, world)]);
        judge(answer, name);
      }),
    );
  }
});
