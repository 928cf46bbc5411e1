import { afterEach, expect, test, vi } from 'vitest';
import type { Json } from './support/client.ts';
import { addVehicle, createContract } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');

afterEach(() => void vi.useRealTimers());

const statuses = ['SCHEDULED', 'ACTIVE', 'ENDED'];
const document = `query ($fleet: ID!, $id: ID!, $vin: String!) {
  contract(id: $id) { status }
  contracts { nodes { id status } }
  vehicle(by: { vin: $vin }) { contracts { nodes { id status } } }
  fleet(id: $fleet) { contracts { nodes { id status } }
    ${statuses.map((status) => `${status}: contracts(filter: { status: ${status} }) { totalCount nodes { id status } }`).join('\n')} }
  ${statuses.map((status) => `${status}: contracts(filter: { status: ${status} }) { totalCount nodes { id status } }`).join('\n')}
}`;

test('the status of a contract follows from one clock, wherever it is shown and by whatever it is asked for', async () => {
  const vehicle = await addVehicle(acme);
  // Near enough for a token to outlive it, and far enough for the database's clock not to get there.
  const [from, to] = [Date.now() + 600_000, Date.now() + 1_200_000];
  const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const { id } = await createContract(acme, vehicle, period);
  const conditions = encodeURIComponent(JSON.stringify({ company: 'acme' }));
  const moments: [number, string][] = [
    [from - 1, 'SCHEDULED'],
    [from, 'ACTIVE'],
    [to - 1, 'ACTIVE'],
    [to, 'ENDED'],
  ];
  for (const [now, status] of moments) {
    vi.useFakeTimers({ toFake: ['Date'], now });
    const variables = { fleet: vehicle.fleetId, id, vin: vehicle.vin };
    const { body } = await acme.post('/graphql', { query: document, variables });
    const { contract, contracts, vehicle: itsVehicle, fleet, ...byStatus } = body.data;
    const shown = { id, status };
    expect([contract, contracts, itsVehicle.contracts, fleet.contracts]).toEqual([
      { status },
      ...Array(3).fill({ nodes: [shown] }),
    ]);
    for (const lists of [byStatus, fleet] as Json[]) {
      for (const one of statuses) {
        expect([one, lists[one]]).toEqual([
          one,
          one === status ? { totalCount: 1, nodes: [shown] } : { totalCount: 0, nodes: [] },
        ]);
      }
    }
    expect((await acme.get(`/contracts/${id}`)).body).toMatchObject(shown);
    expect((await acme.get(`/contracts?conditions=${conditions}`)).body).toMatchObject([shown]);
  }
  const { body } = await acme.post('/graphql', {
    query: 'mutation ($id: ID!) { deleteContract(input: { id: $id }) { contract { status } } }',
    variables: { id },
  });
  expect(body.data.deleteContract.contract).toEqual({ status: 'ENDED' });
});
