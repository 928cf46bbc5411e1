// Two demos, refused starts and a restart in fresh folders (`FOLDERS`): every row is found by every index.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { amcheck } from '@electric-sql/pglite/contrib/amcheck';
import { btree_gist } from '@electric-sql/pglite/contrib/btree_gist';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { runGateway, spawnGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

// An index of the embedded database once lacked an entry after two demos (docs/decisions/periods.md). `FOLDERS=200` looks longer.

const FOLDERS = Number(process.env.FOLDERS ?? 2);

/** Runs the demo twice against one process, and waits until its contracts are carried out. */
async function demonstrate(DATA_DIR: string): Promise<void> {
  const gateway = await spawnGateway({ DATA_DIR });
  const demo = gateway.as('demo');
  const token = demo.headers.authorization?.slice('Bearer '.length) ?? '';
  const args = ['--import', './src/preload.js', 'src/commands/demo.ts', '--url', gateway.url, '--token', token];
  await promisify(execFile)(process.execPath, args);
  // Another process on the same folder is refused.
  expect(await runGateway({ DATA_DIR }).exited).not.toBe(0);
  await promisify(execFile)(process.execPath, args);
  const pending = `/contracts?conditions=${encodeURIComponent('{"company":"demo"}')}&activation=PENDING`;
  await until(async () => (await demo.get(pending)).body.length === 0);
  expect(await gateway.stop()).toBe(0);
}

/** What indexes lack of the rows of their tables, in the words of the database; `checked` counts them. */
async function lostEntries(dataDir: string): Promise<{ checked: number; lost: string[] }> {
  const db = await PGlite.create({ dataDir, extensions: { btree_gist, amcheck } });
  try {
    await db.exec('create extension amcheck');
    const { rows } = await db.query<{ name: string }>(
      `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
       where c.relnamespace = 'public'::regnamespace and a.amname = 'btree'`,
    );
    const lost: string[] = [];
    for (const { name } of rows) {
      await db.query('select bt_index_check($1::regclass, true)', [name]).catch((error) => lost.push(String(error)));
    }
    // Each contract by its own vehicle, pack and period, through the index alone.
    await db.exec('set enable_seqscan = off; set enable_indexscan = off; drop index contract_by_vehicle');
    const { rows: contracts } = await db.query<{ id: string; vehicle_id: string; pack: string; period: string }>(
      'select id, vehicle_id, pack, tstzrange(starts_at, ends_at)::text as period from contract',
    );
    const text = `select id from contract
      where vehicle_id = $1 and pack = $2 and tstzrange(starts_at, ends_at) && $3::tstzrange`;
    for (const { id, vehicle_id, pack, period } of contracts) {
      const found = await db.query<{ id: string }>(text, [vehicle_id, pack, period]);
      const plan = await db.query(`explain ${text}`, [vehicle_id, pack, period]);
      expect(JSON.stringify(plan.rows)).toContain('Index Scan on contract_no_overlap');
      const ids = found.rows.map((row) => row.id);
      if (ids.length !== 1 || ids[0] !== id) lost.push(`contract ${id} of ${period} is found as ${ids.join()}`);
    }
    expect(contracts.length).toBeGreaterThan(40);
    return { checked: rows.length, lost };
  } finally {
    await db.close();
  }
}

describe.runIf(inject('database').kind === 'embedded').each(Array.from({ length: FOLDERS }, (_, at) => at + 1))(
  'In fresh folder %i, with demos, refused starts and a restart',
  async () => {
    const folder = await mkdtemp(join(inject('database').folder, 'demo-'));
    afterAll(() => rm(folder, { recursive: true, force: true }));

    test('contracts are carried out', () => demonstrate(folder));
    test('and after a restart', () => demonstrate(folder));
    test('every row is found by every index', async () => {
      const { checked, lost } = await lostEntries(join(folder, 'pglite'));
      expect(lost).toEqual([]);
      expect(checked).toBeGreaterThan(30);
    });
  },
);
