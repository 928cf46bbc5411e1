import { expect, onTestFinished, test, vi } from 'vitest';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const [acme, other] = [await gateway.as('acme'), await gateway.as('other')];
const fleet = await createFleet(acme);
await addVehicles(acme, newVins(700), fleet);
const short = await createFleet(acme);
await addVehicles(acme, newVins(60), short);

/** The number of reads that take a turn while two companies send requests: each goes by the connection of large pages. */
async function turnsOf(path: string, accept = 'application/json'): Promise<number> {
  const run = vi.spyOn(gateway.services.fairness.large.page, 'run');
  const read = vi.spyOn(gateway.services.database, 'read');
  onTestFinished(() => [run, read].forEach((spy) => void spy.mockRestore()));
  expect((await other.get('/fleets')).status).toBe(200);
  run.mockClear();
  read.mockClear();
  expect((await acme.get(path, { accept })).status).toBe(200);
  const pages = read.mock.calls.filter(([, , how]) => how?.isLargePage);
  expect(pages.length).toBe(run.mock.calls.length);
  return pages.length;
}

test.each(['application/json', 'text/csv', 'application/x-ndjson'])(
  'a whole list takes no turn before it proves to be large: %s',
  async (accept) => {
    expect(await turnsOf(`/fleets/${short.id}/vehicles`, accept)).toBe(0);
    // Its 700 rows are a page of 200, and two of 250.
    expect(await turnsOf(`/fleets/${fleet.id}/vehicles`, accept)).toBe(2);
  },
);

test('a list of few fleets takes no turn, and a page that may be large takes one', async () => {
  expect(await turnsOf('/fleets')).toBe(0);
  expect(await turnsOf(`/fleets/${short.id}/vehicles?limit=1000`)).toBe(1);
});
