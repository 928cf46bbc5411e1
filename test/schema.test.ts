import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { beyondMikroOrm, difference, otherTypes, schemaSession } from './support/schema.ts';

// Migrations make the database, and entities tell of it. That these tests notice what they should is shown in test/slow.
// The committed list is written anew by `npx vitest run -u --project embedded test/schema.test.ts`.

const { orm, env, execute, undone } = await schemaSession();

test('MikroORM finds no difference between the entities and the migrated database', async () => {
  expect(await difference(orm)).toBe('');
  expect(await otherTypes(orm)).toEqual([]);
  expect(await orm.migrator.checkSchema()).toBe(false);
});

test.runIf(env.DATABASE_URL)("MikroORM's own command line finds none, either", async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'schema:check'], {
    env: { ...process.env, DATABASE_URL: env.DATABASE_URL, NO_COLOR: '1' },
  });
  expect(stdout).toContain('No changes required, schema is up-to-date');
});

test('what MikroORM does not compare is as the committed list says', async () => {
  await expect(await beyondMikroOrm(orm)).toMatchFileSnapshot('schema.catalogue.sql');
});

/** Indexes that do not begin with the company, by why. */
const ofAllCompanies: Record<string, string[]> = {
  'who needs no token names an id alone': ['contract_by_hash', 'fleet_by_hash'],
  'what is old, or due, is found whosesoever it is': [
    ...['delivery_by_id', 'event_by_id', 'idempotency_key_age', 'import_due', 'import_finished'],
    ...['schedule_by_time', 'webhook_due'],
  ],
  'inverted ones have no order': ['event_vehicle', 'event_vin'],
  'it would have to be made anew, beside which nobody could write contracts': ['contract_no_overlap'],
};

test('all other indexes of what companies have begin with the company', async () => {
  const rows = await execute(`select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
    join pg_attribute a on a.attrelid = i.indrelid and a.attname = 'company'
    where c.relnamespace = 'public'::regnamespace and i.indkey[0] <> a.attnum order by 1`);
  expect(rows.map(({ name }) => name)).toEqual(Object.values(ofAllCompanies).flat().toSorted());
});

test('what entities write as SQL makes what the database has', async () => {
  const before = await beyondMikroOrm(orm);
  const entities = [...orm.getMetadata().getAll().values()];
  const written = entities.flatMap(({ tableName, indexes, triggers }) => [
    ...indexes.flatMap(({ name, expression }) => (expression ? [[`index ${name}`, expression]] : [])),
    ...triggers.flatMap(({ name, expression }) =>
      expression ? [[`trigger ${name} on ${tableName}`, expression]] : [],
    ),
  ]) as [string, string][];
  expect(written.length).toBeGreaterThan(0);
  const after = await undone(async () => {
    for (const [what, expression] of written) {
      await execute(`drop ${what}`);
      await execute(expression);
    }
    return beyondMikroOrm(orm);
  });
  expect(after).toBe(before);
});
