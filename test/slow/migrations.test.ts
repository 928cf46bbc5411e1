import { expect, test } from 'vitest';
import { beyondMikroOrm, difference, schemaSession } from '../support/schema.ts';

const { orm, execute, undone } = await schemaSession();

/** Columns, constraints (whether validated or not), indexes, triggers, names of functions: what a migration may change. */
async function everything(): Promise<string> {
  const columns =
    await execute(`select concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) as line
    from information_schema.columns where table_schema = 'public' order by 1`);
  const constraints =
    await execute(`select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) as line
    from pg_constraint where connamespace = 'public'::regnamespace and contype <> 't' order by 1`);
  const bodies = /\$(function|procedure)\$[\s\S]*?\$\1\$/g;
  const others = (await beyondMikroOrm(orm)).replaceAll(bodies, '').replaceAll(/^(not validated: .*)?\n/gm, '');
  return [
    ...columns.map(({ line }) => line),
    ...constraints.map(({ line }) => line?.replace(' NOT VALID', '')),
    others,
  ].join('\n');
}

const id = `'01980000-0000-7000-8000-000000000001'`;
/** What triggers count of three vehicles, one of which changes and one goes; and what is left when their fleet goes. */
async function counted() {
  await execute(`insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    values (${id}, 'acme', 'n', 'a', 'e', 'v', now(), now())`);
  await execute(`insert into vehicle (id, company, fleet_id, vin, created_at)
    select gen_random_uuid(), 'acme', ${id}, 'WBA0000000000000' || n, now() from generate_series(1, 3) n`);
  await execute(`update vehicle set status = 'ELIGIBLE' where vin = 'WBA00000000000001'`);
  await execute(`delete from vehicle where vin = 'WBA00000000000002'`);
  const counts = await execute(
    'select status, sum(delta)::int as count from vehicle_tally group by status order by status',
  );
  await execute('delete from fleet');
  const left = await execute(
    'select (select count(*)::int from vehicle) + (select count(*)::int from vehicle_tally) as left',
  );
  return [...counts, ...left];
}
const right = [{ status: 'ELIGIBLE', count: 1 }, { status: 'PENDING', count: 1 }, { left: 0 }];

async function expectCounted(): Promise<void> {
  const triggers = await execute(`select from pg_trigger where tgname = 'vehicle_tally_insert'`);
  if (triggers.length > 0) expect(await undone(counted)).toEqual(right);
}

test('every migration can be taken back, and leaves what was there before it', { timeout: 120_000 }, async () => {
  const names = (await orm.migrator.getExecuted()).map(({ name }) => name);
  const last = await everything();
  for (const name of names.toReversed()) await orm.migrator.down({ migrations: [name] });
  const tables = `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`;
  expect(await execute(`${tables} and relname not like 'mikro%'`)).toEqual([]);
  for (const name of names) {
    const before = await everything();
    await orm.migrator.up({ migrations: [name] });
    const after = await everything();
    await expectCounted();
    await orm.migrator.down({ migrations: [name] });
    expect(await everything(), name).toBe(before);
    await expectCounted();
    await orm.migrator.up({ migrations: [name] });
    expect(await everything(), name).toBe(after);
  }
  expect(await everything()).toBe(last);
  expect(await difference(orm)).toBe('');
});
