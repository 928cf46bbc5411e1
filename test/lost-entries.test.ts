import { afterAll, afterEach, expect, inject, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { upkeep } from '../src/jobs/upkeep.ts';
import type { Json } from './support/client.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { addVehicle, createContract } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

// The indexes of a server are its operator's (docs/operations.md).
if (inject('database').kind !== 'embedded') test.skip('the embedded database only', () => {});
else {
  const told: string[] = [];
  const env = await databaseEnv();
  const database = await openDatabase(databaseConfig(env), (message) => told.push(message));
  afterAll(() => database.close());
  const gateway = await startGateway({ on: { env, database } });
  const acme = await gateway.as('acme');
  const failures: unknown[] = [];
  const job = upkeep({
    open: () => contextOf(gateway.services, 'job', null),
    withBackoff: (step) => step(),
    onError: (error) => void failures.push(error),
  });
  const { now } = performance;
  let aheadMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + aheadMs);
  afterAll(() => void vi.restoreAllMocks());
  afterEach(() => void [told, failures].map((list) => list.splice(0)));

  const runUpkeep = async () => {
    aheadMs += 86_400_000;
    await job.run(new AbortController().signal);
  };

  /** Does work of which this index takes no notice. */
  async function without<T>(index: string, work: () => Promise<T>): Promise<T> {
    const setReady = (ready: boolean) =>
      gateway.execute(`update pg_index set indisready = ${ready} where indexrelid = '${index}'::regclass`);
    await setReady(false);
    return work().finally(() => setReady(true));
  }

  const overlapping = (id: string, other: string) =>
    `update contract set starts_at = (select starts_at from contract where id = '${other}') where id = '${id}'`;

  test('upkeep finds nothing where every index has every row', async () => {
    for (let count = 0; count < 20; count++) await createContract(acme, await addVehicle(acme));
    await runUpkeep();
    expect([...told, ...failures]).toEqual([]);
  });

  test('a vehicle that an index has lost is found again after upkeep, which says so', async () => {
    const { fleetId, vin } = await without('vehicle_by_fleet', () => addVehicle(acme));
    const listed = async () => (await acme.get(`/fleets/${fleetId}/vehicles`)).body.map((one: Json) => one.vin);
    expect(await listed()).toEqual([]);
    await runUpkeep();
    expect(await listed()).toEqual([vin]);
    expect(told).toEqual([
      expect.stringMatching(/^The index vehicle_by_fleet lacked entries \(.+\), and was rebuilt\.$/),
    ]);
    const { body } = await gateway.anyone.get('/metrics');
    expect(body).toContain('fleet_gateway_indexes_rebuilt_total{index="vehicle_by_fleet"} 1');
  });

  test('a contract that the index of periods has lost is found again', async () => {
    const vehicle = await addVehicle(acme);
    const period = { from: '2032-01-01T00:00:00Z', to: '2033-01-01T00:00:00Z' };
    const { id } = await without('contract_no_overlap', () => createContract(acme, vehicle));
    const later = await createContract(acme, vehicle, period);
    await runUpkeep();
    expect(told).toEqual([
      expect.stringMatching(
        /^The index contract_no_overlap lacked entries \(it has \d+ of \d+ rows\), and was rebuilt\.$/,
      ),
    ]);
    await expect(gateway.execute(overlapping(later.id, id))).rejects.toThrow('contract_no_overlap');
  });

  test('a contract that the hash index of ids has lost is found without a token again', async () => {
    const { id } = await without('contract_by_hash', async () => createContract(acme, await addVehicle(acme)));
    const found = async () => (await gateway.anyone.get(`/contracts/${id}`)).status;
    expect(await found()).toBe(404);
    await runUpkeep();
    expect(await found()).toBe(200);
    expect(told).toEqual([expect.stringMatching(/^The index contract_by_hash lacked entries/)]);
  });

  test.each(['event_vin', 'event_vehicle'])(
    'an event that the inverted index %s has lost is found again',
    async (index) => {
      await addVehicle(acme);
      await without(index, () => gateway.execute('update event set position = seq where position is null'));
      await runUpkeep();
      expect(told).toEqual([expect.stringMatching(`^The index ${index} lacked entries`)]);
      told.length = 0;
      await runUpkeep();
      expect([...told, ...failures]).toEqual([]);
    },
  );

  test('contracts that overlap meanwhile stay, and the log says what to do', async () => {
    const vehicle = await addVehicle(acme);
    const { id } = await createContract(acme, vehicle);
    const later = await createContract(acme, vehicle, { from: '2032-01-01T00:00:00Z', to: '2033-01-01T00:00:00Z' });
    await without('contract_no_overlap', () => gateway.execute(overlapping(later.id, id)));
    await runUpkeep();
    expect(failures).toEqual([expect.objectContaining({ message: expect.stringContaining('rows violate it') })]);
    expect((await acme.get(`/contracts/${later.id}`)).status).toBe(200);
  });
}
