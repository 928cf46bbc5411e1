import { afterEach, describe, expect, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { beginImport } from '../src/core/imports/import-vehicles.ts';
import { upkeep } from '../src/jobs/upkeep.ts';
import type { Client, Json } from './support/client.ts';
import { createFleet, newVin, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway({ settings: { IMPORTS_KEEP_DAYS: '7' } });
const acme = await gateway.as('acme');

const runUpkeep = async () => {
  const job = upkeep({
    open: () => contextOf(gateway.services, 'job', null),
    withBackoff: (step) => step(),
    onError: (error) => expect.fail(String(error)),
  });
  await job.run(new AbortController().signal);
};
const count = async (table: string, where = 'true'): Promise<number> => {
  const [row] = await gateway.execute<{ count: number }>(`select count(*)::int as count from ${table} where ${where}`);
  return row?.count ?? -1;
};

const DAY_MS = 86_400_000;
afterEach(() => void vi.useRealTimers());

/** Ways to send a file with a key; each returns the import's id or the error code. */
const ways: Record<
  string,
  (client: Client, fleetId: string, csv: string, key: string, mode?: string) => Promise<Json>
> = {
  async REST(client, fleetId, csv, key, mode = 'partial') {
    const form = uploadForm(fleetId, csv);
    const { body } = await client.post(`/vehicles/file?mode=${mode}`, form, { 'idempotency-key': key });
    return body;
  },
  async GraphQL(client, fleetId, csv, key, mode = 'partial') {
    const query =
      'mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) { import { id } rejected { code } } }';
    const form = new FormData();
    const input = { fleetId, file: null, mode: mode.toUpperCase() };
    form.append('operations', JSON.stringify({ query, variables: { input } }));
    form.append('map', '{"0":["variables.input.file"]}');
    form.append('0', new Blob([csv], { type: 'text/csv' }), 'vins.csv');
    const { data, errors } = (await client.post('/graphql', form, { 'idempotency-key': key })).body;
    if (errors) return errors[0].extensions;
    return { importId: data.importVehicles.import.id, rejected: data.importVehicles.rejected };
  },
};

describe.each(Object.entries(ways))('The Idempotency-Key of an upload, in %s', (_, send) => {
  test('is valid for 24 hours, and not longer', async () => {
    const [{ id: fleetId }, key, file] = [await createFleet(acme), crypto.randomUUID(), newVin()];
    const { importId } = await send(acme, fleetId, file, key);
    const age = (hours: number) =>
      gateway.execute(`update import set started_at = now() - interval '${hours} hours' where id = '${importId}'`);
    await age(23.9);
    expect((await send(acme, fleetId, file, key)).importId).toBe(importId);
    expect((await send(acme, fleetId, newVin(), key)).code).toBe('IDEMPOTENCY_KEY_REUSED');
    await age(24.1);
    const other = newVin();
    const again = await send(acme, fleetId, other, key);
    expect(again.importId).toMatch(/^[0-9a-f-]{36}$/);
    expect(again.importId).not.toBe(importId);
    expect((await send(acme, fleetId, other, key)).importId).toBe(again.importId);
    // The import itself is unchanged and can still be read by its id.
    expect(await acme.get(`/imports/${importId}`)).toMatchObject({ status: 200, body: { state: 'COMPLETED' } });
  });

  test('ends at that very millisecond', async () => {
    const [{ id: fleetId }, key, file] = [await createFleet(acme), crypto.randomUUID(), newVin()];
    const now = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now });
    const { importId } = await send(acme, fleetId, file, key);
    const began = (ms: number) =>
      gateway.execute(`update import set started_at = '${new Date(ms).toISOString()}' where id = '${importId}'`);
    await began(now - DAY_MS + 1);
    expect((await send(acme, fleetId, file, key)).importId).toBe(importId);
    await began(now - DAY_MS);
    expect((await send(acme, fleetId, file, key)).importId).not.toBe(importId);
  });

  test.each(['partial', 'atomic'])('replays a refusal of rows, too (%s)', async (mode) => {
    const [{ id: fleetId }, other, key, vin] = [
      await createFleet(acme),
      await createFleet(acme),
      crypto.randomUUID(),
      newVin(),
    ];
    await acme.post('/vehicles', { fleetId: other.id, vins: [vin] });
    const first = await send(acme, fleetId, vin, key, mode);
    expect(first).toMatchObject({ importId: expect.any(String), rejected: [{ code: 'VIN_IN_ANOTHER_FLEET' }] });
    await acme.delete('/vehicles', { fleetId: other.id, vins: [vin] });
    const again = await send(acme, fleetId, vin, key, mode);
    expect({ ...again, requestId: '' }).toEqual({ ...first, requestId: '' });
    expect((await send(acme, fleetId, newVin(), key, mode)).code).toBe('IDEMPOTENCY_KEY_REUSED');
    const { importId, rejected } = await send(acme, fleetId, vin, crypto.randomUUID(), mode);
    expect([importId, rejected]).toEqual([expect.not.stringContaining(first.importId), []]);
  });
});

describe('Imports past IMPORTS_KEEP_DAYS', () => {
  /** Stores old imports with refused rows. */
  async function leftBehind(imports: number, rows: number, fields: string): Promise<string> {
    const { id: fleetId } = await createFleet(acme);
    await gateway.execute(
      `with made as (
         insert into import (id, company, fleet_id, mode, dry_run, state, started_at, finished_at)
         select gen_random_uuid(), 'acme', '${fleetId}', 'partial', false, ${fields} from generate_series(1, ${imports})
         returning id
       )
       insert into import_rejection (company, import_id, row, value, code, message)
       select 'acme', made.id, n, 'x', 'VIN_INVALID_LENGTH', 'is too short' from made, generate_series(1, ${rows}) n`,
    );
    return fleetId;
  }
  const daysAgo = (days: number) => `now() - interval '${days} days'`;

  test('are deleted with all their refused rows; younger and running ones stay', async () => {
    const stays = {
      young: await leftBehind(3, 2, `'COMPLETED', ${daysAgo(8)}, ${daysAgo(6.99)}`),
      failed: await leftBehind(1, 2, `'FAILED', ${daysAgo(6)}, ${daysAgo(6)}`),
    };
    const goes = {
      many: await leftBehind(250, 3, `'COMPLETED', ${daysAgo(9)}, ${daysAgo(7.01)}`),
      large: await leftBehind(2, 12_000, `'FAILED', ${daysAgo(400)}, ${daysAgo(400)}`),
    };
    const running = await leftBehind(1, 2, `'RUNNING', ${daysAgo(30)}, null`);
    await gateway.execute(`update import set due_at = now() + interval '30 s' where fleet_id = '${running}'`);
    // An import that ended and runs again.
    const again = await leftBehind(1, 2, `'RUNNING', ${daysAgo(30)}, ${daysAgo(20)}`);
    await gateway.execute(`update import set due_at = now() + interval '30 s' where fleet_id = '${again}'`);
    await runUpkeep();
    const left = (fleetId: string) => count('import', `fleet_id = '${fleetId}'`);
    expect(await Promise.all(Object.values(goes).map(left))).toEqual([0, 0]);
    expect(await Promise.all([...Object.values(stays), running, again].map(left))).toEqual([3, 1, 1, 1]);
    expect(
      await count(
        'import_rejection r',
        'not exists (select from import i where i.company = r.company and i.id = r.import_id)',
      ),
    ).toBe(0);
    const rejections = (fleetId: string) =>
      count('import_rejection', `import_id in (select id from import where fleet_id = '${fleetId}')`);
    expect(await Promise.all([...Object.values(stays), running, again].map(rejections))).toEqual([6, 2, 2, 2]);
    await gateway.execute(`delete from fleet where id in ('${running}', '${again}')`);
  });

  test('are deleted in steps: no transaction deletes many rows', async () => {
    // Autovacuum may do the same at any moment: the planner takes the tables for nearly empty.
    for (const table of ['import', 'import_rejection']) {
      await gateway.execute(`alter table ${table} set (autovacuum_enabled = off)`);
      await gateway.execute(`analyze ${table}`);
    }
    await leftBehind(2, 12_000, `'COMPLETED', ${daysAgo(9)}, ${daysAgo(8)}`);
    const { orm } = gateway.database;
    const taken: number[] = [];
    let rows = 0;
    const heard = new WeakSet<object>();
    const fork = orm.em.fork.bind(orm.em);
    orm.em.fork = ((...args: Parameters<typeof fork>) => {
      const em = fork(...args);
      const getKysely = em.getKysely.bind(em);
      em.getKysely = ((...options: Parameters<typeof getKysely>) => {
        const kysely = getKysely(...options) as Json;
        const executor = kysely.getExecutor();
        if (heard.has(executor)) return kysely;
        heard.add(executor);
        const run = executor.executeQuery.bind(executor);
        executor.executeQuery = async (...query: Json[]) => {
          const result = await run(...query);
          if (query[0].sql.includes('delete from "import_rejection"')) rows += result.rows.length;
          // The last statement of each transaction deletes imports.
          if (query[0].sql.includes('delete from "import" ')) {
            taken.push(rows);
            rows = 0;
          }
          return result;
        };
        return new Proxy(kysely, { get: (target, name) => (name === 'getExecutor' ? () => executor : target[name]) });
      }) as typeof em.getKysely;
      return em;
    }) as typeof fork;
    await runUpkeep();
    orm.em.fork = fork;
    expect(taken.length).toBeGreaterThan(4);
    expect(Math.max(...taken)).toBeLessThanOrEqual(5000);
    expect(await count('import', `finished_at < ${daysAgo(7)}`)).toBe(0);
  });

  test('a deleted import is not found', async () => {
    const { id: fleetId } = await createFleet(acme);
    const { body } = await acme.post('/vehicles/file', uploadForm(fleetId, `${newVin()}\nSHORT\n`));
    await gateway.execute(`update import set finished_at = ${daysAgo(8)} where id = '${body.importId}'`);
    await runUpkeep();
    for (const path of [`/imports/${body.importId}`, body.rejectedCsv]) {
      expect(await acme.get(path)).toMatchObject({ status: 404, body: { code: 'IMPORT_NOT_FOUND' } });
    }
    expect((await acme.get(`/fleets/${fleetId}`)).body.vehicleCount).toBe(1);
  });
});

test('an importId whose rows were all refused may be sent again, and its file is read anew', async () => {
  const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
  const [importId, vin] = [crypto.randomUUID(), newVin()];
  await acme.post('/vehicles', { fleetId: other.id, vins: [vin] });
  const send = () => acme.post(`/vehicles/file?importId=${importId}`, uploadForm(fleet.id, vin));
  expect((await send()).body.code).toBe('VALIDATION_FAILED');
  await acme.delete('/vehicles', { fleetId: other.id, vins: [vin] });
  expect((await send()).body).toMatchObject({ importId, summary: { created: 1 } });
});

test('an import whose process ended may be sent again after 30 seconds, and not before', async () => {
  const fleet = await createFleet(acme);
  const [importId, vin] = [crypto.randomUUID(), newVin()];
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now });
  const at = (ms: number) => new Date(ms).toISOString();
  await beginImport(
    contextOf(gateway.services, 'test', { company: 'acme', subject: '', scopes: null, expiresAt: now + DAY_MS }),
    'acme',
    { fleetId: fleet.id, importId, mode: 'partial', dryRun: false },
  );
  const send = () => acme.post(`/vehicles/file?importId=${importId}`, uploadForm(fleet.id, vin));
  vi.setSystemTime(at(now + 29_999));
  expect((await send()).body.code).toBe('IDEMPOTENCY_IN_PROGRESS');
  vi.setSystemTime(at(now + 30_000));
  expect((await send()).body).toMatchObject({ importId, summary: { created: 1 } });
});
