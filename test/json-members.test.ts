import { expect, test } from 'vitest';
import { nodeResources } from '../src/core/reads/root-fields.ts';
import { fromClause, type ResourceFields } from '../src/core/sql/resource.ts';
import { isValueSql, type JsonMembers, type ValueSql } from '../src/core/sql/selection.ts';
import { numberParameters } from '../src/core/sql/sql.ts';
import { makeWorld } from './documents/world.ts';
import { startGateway } from './support/gateway.ts';

// Concatenated JSON is null if a member is null, and a list would skip the row.

const gateway = await startGateway();
await makeWorld(gateway, 'acme');

const values: Record<string, string> = { company: `'acme'`, now: 'now()', running: `'{}'` };

/** Fields of a row that need no other row. */
const ownFields = (fields: ResourceFields = {}): JsonMembers =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]): [string, ValueSql | JsonMembers][] => {
      if (field.kind === 'value') return [[name, field.value]];
      return field.kind === 'object' && !field.unless ? [[name, { ...field.members, ...ownFields(field.fields) }]] : [];
    }),
  );

/** Members with their paths. */
const membersOf = (table: JsonMembers): [path: string, sql: string][] =>
  Object.entries(table).flatMap(([name, made]): [string, string][] =>
    isValueSql(made)
      ? [[name, made.sql]]
      : membersOf(made).map(([path, sql]): [string, string] => [`${name}.${path}`, sql]),
  );

test.each(Object.entries(nodeResources))('no member of any %s is SQL null', async (_, of) => {
  const members = membersOf({ ...of.members, ...ownFields(of.fields) });
  const counts = members.map(([, sql], at) => `count(*) filter (where (${sql}) is null)::int as m${at}`).join(', ');
  const { text, names } = numberParameters(
    `select count(*)::int as rows, ${counts} from ${fromClause(of, counts)} where ${of.id.split('.')[0]}.company = $company`,
  );
  const statement = text.replaceAll(/\$(\d+)/g, (_, number) => values[names[number - 1] ?? ''] ?? 'null');
  const [row] = await gateway.execute<Record<string, number>>(statement);
  expect(row?.rows).toBeGreaterThan(1);
  expect(members.filter((_, at) => row?.[`m${at}`] !== 0).map(([path]) => path)).toEqual([]);
});
