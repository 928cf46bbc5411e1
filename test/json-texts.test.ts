import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { nodeResources } from '../src/core/reads/root-fields.ts';
import { fromClause, type ResourceFields } from '../src/core/sql/resource.ts';
import { isValueSql, type JsonMembers, TextSqlWriter, type ValueSql } from '../src/core/sql/selection.ts';
import { numberParameters } from '../src/core/sql/sql.ts';
import { makeWorld } from './documents/world.ts';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

// PostgreSQL writes the JSON of answers, as text.

const gateway = await startGateway();
const acme = await gateway.as('acme');

const text = async (path: string) => (await fetch(`${gateway.url}${path}`, { headers: acme.headers })).text();

/** The text of the list of fleets, and the joined texts of its items, which PostgreSQL writes. */
async function fleetsTwice() {
  const list = await text('/fleets');
  const items = await Promise.all(JSON.parse(list).map(({ id }: { id: string }) => text(`/fleets/${id}`)));
  return { list, items };
}

test('a REST list is the text of its items, for any text', async () => {
  const name = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 40 })
    .filter((one) => one.isWellFormed() && !one.includes('\0') && one.trim() === one);
  const odd = [
    '"',
    '\\',
    '\\u0041',
    '\u0001\u001f\u007f',
    'ü€😀',
    'a\u2028b',
    '{}',
    '","',
    'x'.repeat(255),
    '😀'.repeat(100),
  ];
  const texts = [...odd, ...fc.sample(name, 20)];
  // Each fleet has three of the texts.
  const fleets = Array.from({ length: texts.length / 3 }, (_, at) => texts.slice(at * 3, at * 3 + 3));
  for (const [name = '', companyAddress = '', vat = ''] of fleets)
    await createFleet(acme, { name, companyAddress, vat });
  const { list, items } = await fleetsTwice();
  expect(items).toHaveLength(fleets.length);
  expect(list).toBe(`[${items.join()}]`);
});

test('times of a list equal those of its items, truncated to milliseconds', async () => {
  const places = ['.999999', '.9995', '.12', '.001', '.000999', ''].map(
    (fraction) => `2026-03-29 01:59:59${fraction}Z`,
  );
  const times = [...places, '0001-01-01 00:00:00Z', '1969-12-31 23:59:59.9999Z', '9999-12-31 23:59:59.999Z'];
  for (const time of times) {
    const { id } = await createFleet(acme);
    await gateway.execute(`update fleet set created_at = '${time}', updated_at = '${time}' where id = '${id}'`);
  }
  const { list, items } = await fleetsTwice();
  expect(list).toBe(`[${items.join()}]`);
  expect(list).toContain('"updatedAt":"2026-03-29T01:59:59.999Z"');
  expect(list).toContain('"updatedAt":"1969-12-31T23:59:59.999Z"');
});

describe('pieces of text and values', () => {
  /** An SQL value with its text. */
  const value = fc.oneof(
    fc.integer().map((number) => ({ sql: `${number}::bigint`, text: `${number}` })),
    fc.uuid().map((id) => ({ sql: `'${id}'::uuid`, text: id })),
    fc.boolean().map((is) => ({ sql: `${is}::text`, text: `${is}` })),
    fc.string().map((words) => ({
      sql: `to_json('${words.replaceAll('\0', '').replaceAll("'", "''")}'::text)`,
      text: JSON.stringify(words.replaceAll('\0', '')),
    })),
    // With operands of unknown type, PostgreSQL would choose JSON's operators.
    fc.constantFrom('{}', '[1, 2]', 'null').map((json) => ({ sql: `'${json}'::jsonb`, text: json })),
  );
  const piece = fc.oneof(
    fc.string({ unit: fc.constantFrom('{', '"', "'", '\\', '%', '%s', ',', 'é') }).map((text) => ({ text })),
    fc.record({ value, bare: fc.boolean() }),
  );

  test('any number of pieces and values is concatenated correctly', async () => {
    const someOrMany = fc.oneof(fc.array(piece, { maxLength: 8 }), fc.array(piece, { minLength: 150, maxLength: 160 }));
    await fc.assert(
      fc.asyncProperty(someOrMany, async (pieces) => {
        const made = new TextSqlWriter();
        let expected = '';
        for (const one of pieces) {
          if ('text' in one) {
            made.text(one.text);
            expected += one.text;
          } else {
            made.value({ sql: one.value.sql, ...(one.bare && { bare: true }) });
            expected += one.bare ? `"${one.value.text}"` : one.value.text;
          }
        }
        const [row] = await gateway.execute<{ text: string }>(`select ${made.sql()} as text`);
        expect(row?.text).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });

  test('two thousand values are allowed', async () => {
    const made = new TextSqlWriter();
    for (let left = 2000; left > 0; left--) made.value({ sql: '1', bare: true });
    const [row] = await gateway.execute<{ length: number }>(`select length(${made.sql()}) as length`);
    expect(row?.length).toBe(6000);
  });
});

// Concatenated JSON is null if a member is null, and a list would skip the row.
describe('members', () => {
  beforeAll(() => makeWorld(gateway, 'members'));
  const values: Record<string, string> = { company: `'members'`, now: 'now()', running: `'{}'` };

  /** Fields of a row that need no other row. */
  const ownFields = (fields: ResourceFields = {}): JsonMembers =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, field]): [string, ValueSql | JsonMembers][] => {
        if (field.kind === 'value') return [[name, field.value]];
        return field.kind === 'object' && !field.unless
          ? [[name, { ...field.members, ...ownFields(field.fields) }]]
          : [];
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
});
