import { afterEach, expect, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { publish } from '../src/jobs/publish-events.ts';
import type { Json } from './support/client.ts';
import { addVehicle, contractFields, createContract } from './support/factories.ts';
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

/** A period that a token outlives, and that the database's clock does not reach. */
function nextPeriod() {
  const [from, to] = [Date.now() + 600_000, Date.now() + 1_200_000];
  const moments: [number, string][] = [
    [from - 1, 'SCHEDULED'],
    [from, 'ACTIVE'],
    [to - 1, 'ACTIVE'],
    [to, 'ENDED'],
  ];
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), moments };
}

const setClock = (now: number) => void vi.useFakeTimers({ toFake: ['Date'], now });

test('the status of a contract follows one clock in every answer and filter', async () => {
  const vehicle = await addVehicle(acme);
  const { from, to, moments } = nextPeriod();
  const { id } = await createContract(acme, vehicle, { from, to });
  const conditions = encodeURIComponent(JSON.stringify({ company: 'acme' }));
  for (const [now, status] of moments) {
    setClock(now);
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
});

const creation = 'mutation ($input: CreateContractInput!) { createContract(input: $input) { contract { id status } } }';
const deletion = 'mutation ($id: ID!) { deleteContract(input: { id: $id }) { contract { status } } }';

test('a contract created or deleted at the boundary of its period has the status of that moment', async () => {
  const vehicle = await addVehicle(acme);
  const { from, to, moments } = nextPeriod();
  for (const [now, status] of moments) {
    setClock(now);
    const made = await createContract(acme, vehicle, { from, to, pack: `rest ${now}` });
    const input = contractFields(vehicle, { from, to, pack: `graphql ${now}` });
    const { body } = await acme.post('/graphql', { query: creation, variables: { input } });
    const { contract } = body.data.createContract;
    expect([made.status, contract.status]).toEqual([status, status]);
    const gone = await acme.post('/graphql', { query: deletion, variables: { id: contract.id } });
    expect(gone.body.data.deleteContract.contract).toEqual({ status });
  }
});

test('events of a contract’s start and end come at that very millisecond', async () => {
  await gateway.execute('delete from contract');
  const vehicle = await addVehicle(acme);
  const { from, to, moments } = nextPeriod();
  const { id } = await createContract(acme, vehicle, { from, to });
  const job = publish({
    open: () => contextOf(gateway.services, 'job', null),
    withBackoff: (step) => step(),
    onError: (error) => expect.fail(String(error)),
  });
  const ending = new AbortController().signal;
  for (const [now] of moments) {
    setClock(now);
    // A job without due work returns the time of the next due work.
    const next = now < Date.parse(from) ? from : now < Date.parse(to) ? to : null;
    expect(await job.run(ending)).toBe(next);
    const { body } = await acme.get(`/events?contractId=${id}&type=contract.started,contract.ended`);
    expect(body.map(({ type, timestamp }: Json) => [type, timestamp])).toEqual(
      [
        ['contract.started', from],
        ['contract.ended', to],
      ].slice(0, now < Date.parse(from) ? 0 : now < Date.parse(to) ? 1 : 2),
    );
  }
});
