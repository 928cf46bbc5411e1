import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { beyondMikroOrm, difference, otherTypes, schemaSession } from './support/schema.ts';

// Compares entities with the migrated database; test/slow/schema-changes.test.ts tests that these tests notice changes.
// Rewrite the committed list with `npx vitest run -u --project embedded test/schema.test.ts`.

const { orm, env, execute, undone } = await schemaSession();

test('MikroORM finds no difference between the entities and the migrated database', async () => {
  expect(await difference(orm)).toBe('');
  expect(await otherTypes(orm)).toEqual([]);
  expect(await orm.migrator.checkSchema()).toBe(false);
});

test.runIf(env.DATABASE_URL)("MikroORM's own command line finds no difference, either", async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'schema:check'], {
    env: { ...process.env, DATABASE_URL: env.DATABASE_URL, NO_COLOR: '1' },
  });
  expect(stdout).toContain('No changes required, schema is up-to-date');
});

test('objects that MikroORM does not compare match the committed list', async () => {
  await expect(await beyondMikroOrm(orm)).toMatchFileSnapshot('schema.catalogue.sql');
});

/** Indexes that do not begin with the company, by reason. */
const ofAllCompanies: Record<string, string[]> = {
  'callers without a token name only an id': ['contract_by_hash', 'fleet_by_hash'],
  'programs are those of the gateway, whichever company wants them': [
    ...['activation_by_vin', 'activation_waiting', 'vehicle_by_vin_hash'],
  ],
  'old and due rows are searched across companies': [
    ...['delivery_by_id', 'event_by_id', 'idempotency_key_age', 'import_due', 'import_finished'],
    ...['schedule_by_time', 'webhook_due'],
  ],
  'processes look for what has changed, of all companies': ['placement_changed'],
  'claims of a process are of any company': ['activation_by_claim', 'vehicle_by_claim'],
  'inverted indexes have no order': ['event_vehicle', 'event_vin'],
  'rebuilding it would block writes of contracts': ['contract_no_overlap'],
};

test('all other indexes on company data begin with the company', async () => {
  const rows = await execute(`select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
    join pg_attribute a on a.attrelid = i.indrelid and a.attname = 'company'
    where c.relnamespace = current_schema::regnamespace and i.indkey[0] <> a.attnum order by 1`);
  expect(rows.map(({ name }) => name)).toEqual(Object.values(ofAllCompanies).flat().toSorted());
});

test('SQL in entities creates the objects of the database', async () => {
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
