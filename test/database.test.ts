import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { DriverException, UniqueConstraintViolationException } from '@mikro-orm/core';
import { sql } from 'kysely';
import { describe, expect, test, vi } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { asAdmin, databaseConfig, databaseEnv, testDatabase } from './support/database.ts';
import { execute as administer } from './support/operator.ts';
import { BUDGET_MS } from './support/until.ts';

const { database, env } = await testDatabase();
/** A separate database. */
const other = await databaseEnv();
const empty = await databaseEnv({ isEmpty: true });
const execute = (statement: string) => database.orm.em.fork().execute<Record<string, unknown>[]>(statement);

const eventually = <T>(check: () => T | Promise<T>) => vi.waitFor(check, BUDGET_MS);

const ids = {
  fleet: '00000000-0000-7000-8000-000000000001',
  vehicle: '00000000-0000-7000-8000-000000000002',
};
await execute(`insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
  values ('${ids.fleet}', 'acme', '0', 'Here 1', 'fleet@acme.example', 'DE1', now(), now())`);
const insertVehicle = `insert into vehicle (id, company, fleet_id, vin, created_at)
  values ('${ids.vehicle}', 'acme', '${ids.fleet}', 'WBA00000000000001', now())`;
await execute(insertVehicle);
const at = new Date('2026-03-01T12:00:00.120Z');

describe('both databases', () => {
  test('a notification arrives after its transaction commits, and never after a rollback', async () => {
    const heard: string[] = [];
    const stop = await database.listen('Some channel', (payload) => heard.push(payload));
    const notify = (payload: string) => database.notify('Some channel', payload);
    const failure = database.orm.em.fork().transactional(async (em) => {
      notify('rolled back');
      await em.transactional(async () => notify('rolled back, too'));
      throw new Error('no');
    });
    await expect(failure).rejects.toThrow('no');
    await database.orm.em.fork().transactional(async (em) => {
      await em.transactional(async () => notify('within'));
      notify('committed');
      await em.execute('select 1');
      expect(heard).toEqual([]);
    });
    expect(heard).toEqual(['within', 'committed']);
    notify('outside');
    await stop();
    notify('too late');
    await database.orm.em.fork().execute('select 1');
    expect(heard).toEqual(['within', 'committed', 'outside']);
  });

  test('what a notification starts has no part in the transaction that sent it', async () => {
    const inContext = () => database.orm.em.fork({ useContext: true });
    const started = Promise.withResolvers<unknown>();
    const stop = await database.listen('Work', () => started.resolve(inContext().execute('select 1 as one')));
    await inContext().transactional(async () => database.notify('Work', ''));
    expect(await started.promise).toEqual([{ one: 1 }]);
    await stop();
  });

  test("a unique violation is a UniqueConstraintViolationException with the constraint's name", async () => {
    const failure = await execute(insertVehicle.replace(ids.vehicle, ids.fleet)).catch((error) => error);
    expect(failure).toBeInstanceOf(UniqueConstraintViolationException);
    expect(failure).toMatchObject({ code: '23505', constraint: 'vehicle_vin', table: 'vehicle' });
  });

  test('a vehicle count needs an existing fleet', async () => {
    const nowhere = `insert into vehicle_tally (company, fleet_id, status, delta) values ('acme', $1, 'PENDING', 1)`;
    const failure = await execute(nowhere.replace('$1', `'${crypto.randomUUID()}'`)).catch((error) => error);
    expect(failure).toMatchObject({ code: '23503', constraint: 'vehicle_tally_fleet_id_fkey' });
  });

  test.skipIf(database.kind === 'embedded')('a connection lost in a transaction is replaced', async () => {
    // Loses more connections than the pool has.
    for (let lost = 0; lost < 12; lost++) {
      const work = database.orm.em.fork().transactional(async (em) => {
        const [row] = await em.execute<{ pid: number }[]>('select pg_backend_pid() as pid');
        await execute(`select pg_terminate_backend(${row?.pid})`);
        await em.execute('select 1');
      });
      await expect(work).rejects.toThrow();
    }
    expect(await execute('select 1 as one')).toEqual([{ one: 1 }]);
    await eventually(() => expect(database.connections?.()).toMatchObject({ used: 0, waiting: 0 }));
  });

  test('an exclusion violation has its code and constraint', async () => {
    const contract = (id: number) => `insert into contract
      (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
      values ('00000000-0000-7000-8000-00000000010${id}', 'acme', '${ids.fleet}', '${ids.vehicle}', 'n', 'd', 'p',
        '2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z', now())`;
    await execute(contract(1));
    const failure = await execute(contract(2)).catch((error) => error);
    expect(failure).toBeInstanceOf(DriverException);
    expect(failure).toMatchObject({ code: '23P01', constraint: 'contract_no_overlap' });
  });

  test('transactions that lock a row follow one another', async () => {
    const increment = () =>
      database.orm.em.fork().transactional(async (em) => {
        const [row] = await em.execute<{ name: string }[]>(
          `select name from fleet where id = '${ids.fleet}' for update`,
        );
        await em.execute('update fleet set name = ? where id = ?', [String(Number(row?.name) + 1), ids.fleet]);
      });
    await Promise.all(Array.from({ length: 20 }, increment));
    expect(await execute(`select name from fleet where id = '${ids.fleet}'`)).toEqual([{ name: '20' }]);
  });

  test('a failed nested transaction undoes only its own changes', async () => {
    await database.orm.em.fork().transactional(async (em) => {
      await em.execute(`update fleet set vat = 'outer' where id = '${ids.fleet}'`);
      const nested = em.transactional(async (inner) => {
        await inner.execute(`update fleet set vat = 'inner' where id = '${ids.fleet}'`);
        throw new Error('no');
      });
      await expect(nested).rejects.toThrow('no');
    });
    expect(await execute(`select vat from fleet where id = '${ids.fleet}'`)).toEqual([{ vat: 'outer' }]);
  });

  test.each(['kysely', 'send', 'read', 'add'] as const)('values are stored and read unchanged, by %s', async (way) => {
    const kysely = database.orm.em.fork().getKysely();
    const statement = sql<Record<string, unknown>>`
      select ${at}::timestamptz as at, ${at}::timestamptz at time zone 'UTC' as local, array[${at}::timestamptz] as times,
        ${'2026-03-01'}::date as day, ${['a', null, 'b,"c"']}::text[] as texts, ${[1, 2]}::int[] as ints,
        ${'1 day 02:00'}::interval as interval, ${JSON.stringify({ a: [1] })}::jsonb as json, ${true}::boolean as yes,
        ${null}::text as none, ${7}::int as int, ${'9007199254740993'}::int8 as big,
        ${['9007199254740993']}::int8[] as bigs, 1.50 as exact, count(*) as count from fleet`;
    const { sql: text, parameters } = statement.compile(kysely);
    const rows = way === 'kysely' ? (await statement.execute(kysely)).rows : await database[way](text, parameters);
    // Times are text in the session's DateStyle, an unusual one on a server; never a Date.
    const times =
      database.kind === 'embedded'
        ? {
            at: '2026-03-01 12:00:00.12+00',
            local: '2026-03-01 12:00:00.12',
            day: '2026-03-01',
            interval: '1 day 02:00:00',
          }
        : {
            at: '01/03/2026 08:30:00.12 NST',
            local: '01/03/2026 12:00:00.12',
            day: '01/03/2026',
            interval: 'P1DT2H',
          };
    expect(rows).toEqual([
      {
        ...times,
        times: [times.at],
        texts: ['a', null, 'b,"c"'],
        ints: [1, 2],
        json: { a: [1] },
        yes: true,
        none: null,
        int: 7,
        big: '9007199254740993',
        bigs: ['9007199254740993'],
        exact: '1.50',
        count: '1',
      },
    ]);
  });
});

describe.runIf(database.kind === 'embedded')('embedded', () => {
  const run = (script: string, DATA_DIR: string) =>
    spawn(process.execPath, ['--input-type=module', '--eval', script], {
      env: { ...process.env, DATA_DIR },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const open = `
    import { openDatabase } from './src/database/open-database.ts';
    const { orm } = await openDatabase({ DATA_DIR: process.env.DATA_DIR, DATABASE_READ_URLS: [] });`;

  test('a second process on the same DATA_DIR is refused', async () => {
    const second = run(open, env.DATA_DIR);
    const [output, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')]);
    expect(output).toContain(`DATA_DIR ${env.DATA_DIR} is in use by another process`);
    expect(code).toBe(1);
  });

  test('committed rows survive kill -9', async () => {
    const child = run(
      `${open}
      await orm.em.fork().execute("create table kept as select generate_series(1, 1000) as n");
      console.log('committed');
      setInterval(() => {}, 1000);`,
      other.DATA_DIR,
    );
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    child.kill('SIGKILL');
    if (child.signalCode === null && child.exitCode === null) await once(child, 'exit');
    const reopened = await openDatabase(databaseConfig(other));
    const [row] = await reopened.orm.em.fork().execute<{ n: number }[]>('select count(*)::int as n from kept');
    await reopened.close();
    expect(row).toEqual({ n: 1000 });
  });

  test('a query beside the open transaction is refused, as it would wait for ever', async () => {
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
    const later = await database.orm.em.fork().transactional(async () => {
      await expect(execute('select 1')).rejects.toThrow('outside the open transaction');
      await expect(database.orm.em.fork().transactional(async () => {})).rejects.toThrow(
        'outside the open transaction',
      );
      return [committed.then(() => execute('select 1 as one'))];
    });
    commit();
    expect(await later[0]).toEqual([{ one: 1 }]);
  });

  test('long queries leave the event loop free', async () => {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    await execute('select count(*) from generate_series(1, 2000000)');
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(3);
  });
});

describe.runIf(database.kind === 'postgresql')('postgresql', () => {
  test('processes that start at once on an empty database migrate it once', async () => {
    const config = databaseConfig(empty);
    const all = await Promise.all([1, 2, 3].map(() => openDatabase(config)));
    expect(await Promise.all(all.map((each) => each.unready()))).toEqual([null, null, null]);
    await Promise.all(all.map((each) => each.close()));
  });

  test('another process receives notifications, also after its connection was cut', async () => {
    const heard: string[] = [];
    const second = await openDatabase(databaseConfig(env));
    await second.listen('news', (payload) => heard.push(payload));
    database.notify('news', 'first');
    await eventually(() => expect(heard).toEqual(['first']));
    await administer(
      asAdmin(env),
      `select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen "news"'`,
    );
    // An empty payload means that notifications may be missing.
    await eventually(() => expect(heard).toEqual(['first', '']));
    database.notify('news', 'second');
    await eventually(() => expect(heard).toEqual(['first', '', 'second']));
    await second.close();
  });

  test('no database function notifies, since a notifying commit blocks all others', async () => {
    expect(await execute(`select proname from pg_proc where prosrc ~* 'notify' and prolang <> 12`)).toEqual([]);
  });

  test('queries work again after every connection was cut', async () => {
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    await Promise.all([execute('select pg_sleep(0.01)'), execute('select pg_sleep(0.01)')]);
    await administer(asAdmin(env), cut);
    await eventually(async () => expect(await execute('select 1 as one')).toEqual([{ one: 1 }]));
    expect(await database.unready()).toBe(null);
  });

  test('a statement may run for 30 seconds, and a transaction may be idle for 60', async () => {
    const [row] = await execute(`select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`);
    expect(row).toEqual({ statement: '30s', idle: '1min' });
  });

  test('the first statement of a process may bypass MikroORM', async () => {
    const second = await openDatabase(databaseConfig(env));
    expect(await second.send('select 1 as one', [])).toEqual([{ one: 1 }]);
    await second.close();
  });

  const read = async (text: string, values: readonly unknown[]) =>
    (await database.read(text, values)) ?? database.send(text, values);

  describe('short reads', () => {
    const backend = 'select pg_backend_pid() as pid, $1::int as n';
    const hundred = Array.from({ length: 100 }, (_, n) => n);

    test('share two connections, and each gets its own answer', async () => {
      const rows = (await Promise.all(hundred.map((n) => read(backend, [n])))).flat() as Record<string, number>[];
      expect(rows.map(({ n }) => n)).toEqual(hundred);
      expect(new Set(rows.map(({ pid }) => pid)).size).toBe(2);
    });

    test('an invalid one fails, and the others are answered', async () => {
      const answers = await Promise.allSettled(hundred.map((n) => read('select 100 / $1::int as n', [n % 10])));
      expect(answers.map(({ status }) => status)).toEqual(hundred.map((n) => (n % 10 ? 'fulfilled' : 'rejected')));
      expect(answers[0]).toMatchObject({ reason: { code: '22012' } });
    });

    test('are sent again if their connections are cut', async () => {
      const slow = hundred.map((n) => read('select pg_sleep(0.01), $1::int as n', [n]));
      await execute(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep(0.01)%'`);
      expect((await Promise.all(slow)).flat()).toEqual(hundred.map((n) => expect.objectContaining({ n })));
    });

    test('do not wait behind large pages, which have a connection of their own', async () => {
      const inOrder: string[] = [];
      const answered = (what: string) => () => inOrder.push(what);
      const page = () => database.read('select pg_sleep(0.3), pg_backend_pid() as pid', [], { isLargePage: true });
      const pages = [1, 2, 3, 4].map(() => page().finally(answered('page')));
      await Promise.all(hundred.map((n) => read(backend, [n]).finally(answered('short'))));
      const rows = (await Promise.all(pages)).flat() as { pid: number }[];
      expect(inOrder.slice(-3)).toEqual(['page', 'page', 'page']);
      expect(new Set(rows.map(({ pid }) => pid)).size).toBe(1);
    });

    test('wait for a lock without delaying others', async () => {
      const held = Promise.withResolvers<void>();
      const locked = Promise.withResolvers<void>();
      const holder = database.orm.em.fork().transactional(async (em) => {
        await em.execute('lock table contract in access exclusive mode');
        locked.resolve();
        await held.promise;
      });
      await locked.promise;
      const inOrder: string[] = [];
      const waiting = hundred.slice(0, 8).map(async (n) => {
        await read('select count(*) from contract where $1::int >= 0', [n]);
        inOrder.push('waiting');
      });
      const others = hundred.map(async (n) => {
        await read(backend, [n]);
        inOrder.push('other');
      });
      await Promise.all(others);
      expect(inOrder).toEqual(hundred.map(() => 'other'));
      held.resolve();
      await Promise.all([...waiting, holder]);
    });
  });

  test('an insert that waits for a lock runs once, and is not repeated if its connection is cut', async () => {
    await execute('create table added (n integer)');
    const text = 'insert into added values ($1) returning pg_sleep(0.01)';
    const add = async (n: number) => (await database.add(text, [n])) ?? database.send(text, [n]);
    const numbers = [1, 2, 3, 4, 5, 6, 7, 8];
    const locked = Promise.withResolvers<void>();
    const added = Promise.withResolvers<void>();
    const holder = database.orm.em.fork().transactional(async (em) => {
      await em.execute('lock table added in access exclusive mode');
      locked.resolve();
      await added.promise;
    });
    await locked.promise;
    const adds = numbers.map(add);
    // Each insert waits on its own connection after a shared one has been blocked for some time.
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'insert into added%'`;
    await eventually(async () => expect(await execute(waiting)).toHaveLength(numbers.length));
    added.resolve();
    await Promise.all([...adds, holder]);
    expect(await execute('select n from added order by n')).toEqual(numbers.map((n) => ({ n })));

    let over = false;
    const adding = Promise.allSettled(numbers.map(add)).finally(() => {
      over = true;
    });
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
      where state = 'active' and query like 'insert into added%'`;
    await eventually(async () => expect(over || (await execute(cut)).length > 0).toBe(true));
    const made = (await adding).filter(({ status }) => status === 'fulfilled').length;
    const [row] = await execute('select count(*)::int as count from added');
    expect(Number(row?.count) - numbers.length).toBeLessThanOrEqual(numbers.length);
    expect(Number(row?.count) - numbers.length).toBeGreaterThanOrEqual(made);
    // The pool notices the end of a connection with a delay.
    await eventually(async () => expect(await add(9)).toHaveLength(1));
  });

  test('the error for an unreachable server has its address without the password', async () => {
    const opening = openDatabase({ ...databaseConfig(env), DATABASE_URL: 'postgresql://me:secret@127.0.0.1:1/fleets' });
    const failure = await opening.catch((error) => error);
    expect(failure.message).toMatch(/^Cannot connect to the database at 127\.0\.0\.1:1\/fleets: .*ECONNREFUSED/);
    expect(failure.message).not.toContain('secret');
  });
});
