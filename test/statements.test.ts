import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CompiledQuery, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { contextOf, contextOfNewestRead } from '../src/core/context.ts';
import type { WriteOptions } from '../src/core/database.ts';
import { db, everyStatementText, newId, prepare } from '../src/core/sql/sql.ts';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { genericPlan, type Plan } from './support/plans.ts';

type Row = Record<string, unknown>;

const gateway = await startGateway();
const { services, database } = gateway;
const core = join(import.meta.dirname, '../src/core');
const modules = globSync('**/*.ts', { cwd: core });
for (const file of modules) await import(pathToFileURL(join(core, file)).href);

type Run = (statement: string) => Promise<Row[]>;
const inTransaction = <T>(work: (run: Run) => Promise<T>) =>
  database.orm.em
    .fork()
    .transactional((em) =>
      work(async (statement) => (await em.getKysely().executeQuery<Row>(CompiledQuery.raw(statement))).rows),
    );

/** Lets the database parse a statement and plan it for any values, without running it. */
const plan = (text: string) => inTransaction((run) => genericPlan<Plan>(run, text));

describe('the database understands', () => {
  test.each(everyStatementText())('%s', async (text) => {
    await plan(text);
  });
});

test.each([
  ['an unknown column', 'select nothing from fleet', '42703'],
  ['a value of no type', 'select id from fleet where $1 is null', '42P18'],
  ['a comparison of a text with an id', 'select id from fleet where id = $1::text', '42883'],
  [
    'a conflict that no key notices',
    'insert into rate_use values (now(), $1, 1) on conflict (who) do nothing',
    '42P10',
  ],
])('it would not understand %s', async (_name, text, code) => {
  await expect(plan(text)).rejects.toMatchObject({ code });
});

const indexesOf = ({ 'Index Name': index, Plans: below = [] }: Plan): string[] => [
  ...(index ? [index] : []),
  ...below.flatMap(indexesOf),
];

test('none scans the GiST index of periods, which can lose an entry meanwhile, even where that seems best', async () => {
  const scans: string[] = [];
  const undone = new Error('undone');
  const looking = inTransaction(async (run) => {
    await run('drop index contract_by_vehicle');
    // A scan through a bitmap loses none.
    for (const other of ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'])
      await run(`set local enable_${other} = off`);
    for (const text of everyStatementText()) {
      if (indexesOf(await genericPlan<Plan>(run, text)).includes('contract_no_overlap')) scans.push(text);
    }
    throw undone;
  });
  await expect(looking).rejects.toBe(undone);
  expect(scans).toEqual([]);
});

describe('a prepared statement', () => {
  const at = '2026-03-01T12:00:00.120Z';
  const addEvent = prepare(
    (p: { id: string; company: string; at: string; vins: readonly string[]; position: bigint; data: string }) =>
      db
        .insertInto('event')
        .values({
          id: p.id,
          company: p.company,
          type: 'test',
          actor: 'system',
          at: p.at,
          vins: p.vins,
          position: p.position,
          data: p.data,
        })
        .returning(['at', 'vins', 'vehicle_ids', 'position', 'data', 'request_id']),
  );
  const eventOf = prepare((p: { id: string }) => db.selectFrom('event').selectAll().where('id', '=', p.id));
  const vins = ['NULL', ' ', '"\\\n', '{,}', "'"];
  const given = (position: bigint) => ({
    id: newId(),
    company: 'acme',
    at,
    vins,
    position,
    data: JSON.stringify({ a: [1, null, "'"] }),
  });
  const row = {
    // The time in PostgreSQL's format, in the session's time zone.
    at: expect.any(String),
    vins,
    vehicle_ids: [],
    data: { a: [1, null, "'"] },
    request_id: null,
  };
  const context = () => contextOf(services, 'test', null);

  const newest = () => contextOfNewestRead(context());
  const short: WriteOptions = { short: true };

  test.each([
    ['its own connection', {}, 9007199254740993n],
    ['a shared connection', short, 9007199254740994n],
  ])('accepts and returns the types of its tables, by %s', async (_name, asked, position) => {
    const event = given(position);
    expect(await addEvent(context(), event, asked)).toEqual([{ ...row, position: String(position) }]);
    for (const how of [{}, 'read', 'search'] as const) {
      const [found] = await eventOf(newest(), { id: event.id }, how);
      expect(found).toMatchObject({ ...row, id: event.id, position: String(position), fleet_id: null });
    }
  });

  test('belongs to the open transaction, by any way of sending', async () => {
    const ctx = context();
    const events = [given(1n), given(2n)] as const;
    const rolledBack = ctx.em.transactional(async () => {
      await addEvent(ctx, events[0], short);
      await addEvent(ctx, events[1]);
      await expect(addEvent(ctx, events[0], { mayFail: true })).rejects.toMatchObject({ code: '23505' });
      for (const { id } of events) expect(await eventOf(newest(), { id }, 'read')).toHaveLength(1);
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    for (const { id } of events) expect(await eventOf(newest(), { id }, 'read')).toEqual([]);
  });

  test('fails like any other statement', async () => {
    const wrong = prepare((p: { n: number }) => sql`select 1 / ${p.n}::int`);
    await expect(wrong(newest(), { n: 0 }, 'read')).rejects.toMatchObject({ code: '22012' });
  });
});

describe.skipIf(database.kind === 'embedded')('a connection', () => {
  /** Statements with different texts, as for different queries of clients. */
  const shape = (n: number) => `select $1::int + ${n} as sum`;
  const ask = async (n: number) => database.send(shape(n), [1]);

  test('statements of client queries replace each other, and no others', async () => {
    const acme = await gateway.as('acme');
    await createFleet(acme);
    await database.orm.em.fork().transactional(async () => {
      for (let n = 0; n < 1000; n++) {
        for (let use = 0; use < 4; use++) expect(await ask(n)).toEqual([{ sum: n + 1 }]);
      }
      // A replaced statement is prepared again.
      for (let use = 0; use < 4; use++) expect(await ask(0)).toEqual([{ sum: 1 }]);
    });
    // All statements used the same few connections.
    const kept = await Promise.all(
      Array.from({ length: 10 }, () =>
        database.send('select count(*)::int as count from pg_prepared_statements where $1', [true]),
      ),
    );
    for (const [row] of kept as { count: number }[][]) expect(row?.count).toBeLessThanOrEqual(310);
    expect(await acme.get('/fleets')).toMatchObject({ status: 200 });
  });

  test('a statement used once or twice is not prepared', async () => {
    const before = await database.send('select count(*)::int as count from pg_prepared_statements where $1', [true]);
    for (let n = 2000; n < 2100; n++) for (let use = 0; use < 2; use++) await ask(n);
    expect(await database.send('select count(*)::int as count from pg_prepared_statements where $1', [true])).toEqual(
      before,
    );
  });
});
