// What can go wrong about a move: two commands at a time, servers that cannot copy, lost slots, odd addresses. Left out without HAProxy.
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { describe, expect, inject, test } from 'vitest';
import { createFleet } from '../support/factories.ts';
import { hasHaproxy } from '../support/haproxy.ts';
import { twoInstallations } from '../support/installations.ts';
import { at as atServer, createRole, execute } from '../support/operator.ts';
import { until } from '../support/until.ts';

describe.skipIf(!hasHaproxy || inject('database').kind === 'embedded')('a move', async () => {
  const { servers, pools, startHere, inFront, fill, rowsOf, settled, moved, pick } = await twoInstallations();
  const here = { a: await startHere('a'), b: await startHere('b') };
  const { proxy, as, companies, run, urls } = await inFront(here);
  /** Past HAProxy, which takes a gateway of a busy machine for away. */
  const at = (name: 'a' | 'b', company: string) => as(company, here[name]);
  const served = (company: string) => until(async () => (await as(company).get('/fleets')).body.length === 1);
  const ended = ({ code, output }: { code: number; output: string }) => {
    expect([code, output]).toEqual([0, expect.any(String)]);
    return output;
  };
  const refused = ({ code, output }: { code: number; output: string }) => {
    expect([code, output]).toEqual([1, expect.any(String)]);
    return output;
  };
  const tablesWithRows = async (name: 'a' | 'b', company: string) =>
    Object.entries(await rowsOf(name, company)).flatMap(([table, rows]) => (rows.length > 0 ? [table] : []));
  const leftovers = async () => {
    const left = `select pubname::text as name from pg_publication union all select subname from pg_subscription
      union all select slot_name from pg_replication_slots`;
    return (await Promise.all(Object.values(pools).map((pool) => pool.query(left)))).flatMap(({ rows }) => rows);
  };

  test('of a company waits for other commands about it: there, there again, and back', async () => {
    const client = at('a', 'twice');
    await fill(client, 'twice');
    await until(() => settled('a', 'twice'));
    const before = await rowsOf('a', 'twice');
    // The first command waits in its midst.
    const lock = await pools.a.connect();
    await lock.query('begin');
    await lock.query(`insert into placement (company, state, installation) values ('twice', 'HERE', 'a')`);
    const first = companies('move', 'twice', 'b');
    const isWaiting = `select from pg_stat_activity where application_name = 'fleet-gateway companies' and wait_event_type = 'Lock'`;
    await until(async () => (await pools.a.query(isWaiting)).rowCount === 1);
    const again = companies('move', 'twice', 'b');
    await again.says('waits for another command');
    const back = companies('move', 'twice', 'a');
    await back.says('waits for another command');
    await lock.query('commit');
    lock.release();
    const outputs = [ended(await first.ended), ended(await again.ended), ended(await back.ended)];
    expect(outputs.map((output) => /twice is in (\w)\s*$/.exec(output)?.[1])).toEqual(['b', 'b', 'a']);
    expect(pick(await rowsOf('a', 'twice'), moved)).toEqual(pick(before, moved));
    expect(await tablesWithRows('b', 'twice')).toEqual(['placement']);
    expect((await client.get('/fleets')).body).toHaveLength(1);
  });

  test('of several companies at a time leaves an entry of each in the file of the map', async () => {
    const names = Array.from({ length: 6 }, (_, at) => `placed-${at}`);
    for (const { ended: result } of names.map((name) => companies('place', name, 'b'))) ended(await result);
    const map = await readFile(proxy.map, 'utf8');
    expect(map.split('\n')).toEqual(expect.arrayContaining(names.map((name) => `${name} b`)));
  });

  test('of a company with an odd name moves its own rows alone', async () => {
    const name = `o'neil "x" \\ %41:$1/../ü${'n'.repeat(150)}`;
    await fill(at('a', name), 'odd');
    await fill(at('a', `${name}n`), 'longer');
    await until(async () => (await settled('a', name)) && (await settled('a', `${name}n`)));
    const [before, longer] = [await rowsOf('a', name), await rowsOf('a', `${name}n`)];
    ended(await companies('move', '--', name, 'b').ended);
    expect(pick(await rowsOf('b', name), moved)).toEqual(pick(before, moved));
    expect(pick(await rowsOf('a', `${name}n`), moved)).toEqual(pick(longer, moved));
    expect(await tablesWithRows('b', `${name}n`)).toEqual([]);
    await served(name);
  });

  test('goes on deleting where it was killed', async () => {
    const client = at('a', 'large');
    await createFleet(client);
    const rows = 30_000;
    await pools.a.query(`insert into idempotency_key (company, key, request, created_at)
      select 'large', n::text, '', now() from generate_series(1, ${rows}) n`);
    const move = companies('move', 'large', 'b');
    await move.says('served by b');
    move.kill();
    await move.ended;
    const output = ended(await companies('move', 'large', 'b').ended);
    expect(output).toMatch(/deleted [\d,]+ rows from a/);
    expect(await tablesWithRows('a', 'large')).toEqual(['placement']);
    expect((await rowsOf('b', 'large')).idempotency_key).toHaveLength(rows);
  });

  test('deletes a row, too, that changes while it deletes', async () => {
    await createFleet(at('a', 'changing'));
    const move = companies('move', 'changing', 'b');
    await move.says('served by b');
    move.kill();
    await move.ended;
    await pools.a.query(
      `insert into idempotency_key (company, key, request, created_at) values ('changing', 'k', '', now())`,
    );
    const lock = await pools.a.connect();
    await lock.query('begin');
    await lock.query('lock table idempotency_key in share mode');
    const again = companies('move', 'changing', 'b');
    const isWaiting = `select from pg_stat_activity where query like 'delete from idempotency_key%' and wait_event_type = 'Lock'`;
    await until(async () => (await pools.a.query(isWaiting)).rowCount === 1);
    await lock.query(`update idempotency_key set request = 'x' where company = 'changing'`);
    await lock.query('commit');
    lock.release();
    ended(await again.ended);
    expect(await tablesWithRows('a', 'changing')).toEqual(['placement']);
  });

  test('that cannot begin leaves nothing behind, and says why', async () => {
    const client = at('a', 'begins');
    await fill(client, 'begins');
    const nothing = async (output: string, reason: RegExp) => {
      expect(output).toMatch(reason);
      expect(output).toContain('begins stays in a');
      expect(await leftovers()).toEqual([]);
      expect((await rowsOf('a', 'begins')).placement).toMatchObject([{ state: 'HERE' }]);
      expect(await tablesWithRows('b', 'begins')).toEqual(['placement']);
      expect((await client.get('/fleets')).status).toBe(200);
    };
    await execute(
      servers.a.admin,
      ...createRole('mover'),
      'grant "gate-way" to mover',
      `grant create on database fleets to mover`,
    );
    const mover = atServer(urls.a, 'fleets', 'mover');
    await nothing(refused(await run({ ...urls, a: mover }, 'move', 'begins', 'b').ended), /replication/i);

    const slots = `select pg_create_physical_replication_slot('full_' || n) from generate_series(1, current_setting('max_replication_slots')::int) n`;
    await pools.a.query(slots);
    const full = refused(await companies('move', 'begins', 'b').ended);
    await pools.a.query('select pg_drop_replication_slot(slot_name) from pg_replication_slots');
    await nothing(full, /all replication slots are in use/);

    // libpq does not know what pg is told by this.
    ended(await run({ ...urls, a: `${urls.a}&uselibpqcompat=true` }, 'move', 'begins', 'b').ended);
  });

  test('whose slot has gone is given up', async () => {
    const client = at('a', 'failover');
    await fill(client, 'failover');
    const move = companies('move', 'failover', 'b');
    await move.says('copying');
    await until(async () => (await pools.b.query('select from pg_subscription')).rowCount === 1);
    move.kill();
    await move.ended;
    // As after a failover of the source.
    const [{ name }] = (await pools.b.query('select subname as name from pg_subscription')).rows;
    await pools.b.query(`alter subscription ${name} disable`);
    await until(async () => (await pools.a.query('select from pg_replication_slots where active')).rowCount === 0);
    await pools.a.query('select pg_drop_replication_slot(slot_name) from pg_replication_slots');
    expect(refused(await companies('move', 'failover', 'b').ended)).toContain('give the move up (--abort)');
    ended(await companies('move', 'failover', 'b', '--abort').ended);
    expect(await leftovers()).toEqual([]);
    expect((await client.get('/fleets')).body).toHaveLength(1);
    ended(await companies('move', 'failover', 'b').ended);
    await served('failover');
  });

  test('to a server without a worker for the copy says so', async () => {
    await fill(at('a', 'workers'), 'workers');
    const restart = async (change: string) => {
      await pools.b.query(change);
      await servers.b.end('SIGINT');
      await servers.b.start();
    };
    await restart('alter system set max_logical_replication_workers = 0');
    await until(() => pools.b.query(`select from process`).catch(() => null));
    const move = companies('move', 'workers', 'b');
    await move.says('max_logical_replication_workers');
    move.kill();
    await move.ended;
    await restart('alter system reset max_logical_replication_workers');
    await until(() => pools.b.query(`select from process`).catch(() => null));
    ended(await companies('move', 'workers', 'b').ended);
    await served('workers');
  });

  test('between databases that cannot be two installations is refused', async () => {
    await fill(at('a', 'single'), 'single');
    const { url, admin } = await servers.a.database('empty');
    const empty = refused(await run({ ...urls, b: admin }, 'list').ended);
    expect(empty).toContain('npm run migrate -- up');
    execFileSync(process.execPath, ['src/commands/migrate.ts', 'up'], { env: { DATABASE_URL: url } });
    const twice = await run({ ...urls, b: urls.a }, 'move', 'single', 'b').ended;
    expect(refused(twice)).toContain('single has rows in a and b');
    const beside = await run({ ...urls, b: admin }, 'move', 'single', 'b').ended;
    expect(refused(beside)).toContain('one PostgreSQL');
    expect((await rowsOf('a', 'single')).placement).toEqual([]);
  });

  test('finds the tables whatever the search_path of its role, or says what the role lacks', async () => {
    await createFleet(at('a', 'path'));
    const bare = (url: string) => url.replace(/&options=[^&]*/, '');
    await pools.a.query('create table public.mikro_orm_migrations (id int); create table public.placement (id int)');
    const list = await run({ a: bare(urls.a), b: bare(urls.b) }, 'list').ended;
    expect(ended(list)).toContain('path');
    await pools.a.query('drop table public.mikro_orm_migrations, public.placement');
    await execute(servers.a.admin, ...createRole('stranger'), 'grant connect on database fleets to stranger');
    const stranger = atServer(urls.a, 'fleets', 'stranger');
    expect(refused(await run({ ...urls, a: stranger }, 'list').ended)).toContain('or name a superuser');
  });
});
