import { expect, test } from 'vitest';
import { nodeResources, rootQueryFields } from '../../src/core/reads/root-fields.ts';
import type { Resource, ResourceField } from '../../src/core/sql/resource.ts';
import { isValueSql, type JsonMembers } from '../../src/core/sql/selection.ts';
import { entities } from '../../src/entities/index.ts';

// Descriptions of resources contain SQL as text, which the compiler does not check: this test checks their columns.

const columnName = (property: string) => property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** Relations are no columns; the scalar property beside each relation is one. */
const tables = new Map(
  entities.map((entity) => {
    const { tableName, properties } = entity.init().meta;
    const columns = Object.entries(properties).flatMap(([name, { kind }]) =>
      kind === 'scalar' ? [columnName(name)] : [],
    );
    return [tableName, new Set(columns)];
  }),
);

/** Columns by table alias. */
type Aliases = ReadonlyMap<string, ReadonlySet<string>>;

function aliasesIn(text: string): Aliases {
  const found = new Map<string, ReadonlySet<string>>();
  // `(select … as pending, …) s` and `unnest(…) u(id, vin)`
  const made = new Set([...text.matchAll(/\bas (\w+)/g)].map(([, name = '']) => name));
  for (const [, name = ''] of text.matchAll(/\) (\w+)/g)) found.set(name, made);
  for (const [, name = '', columns = ''] of text.matchAll(/ (\w+)\(([\w, ]+)\)/g))
    found.set(name, new Set(columns.split(', ')));
  for (const [, table = '', name = ''] of text.matchAll(/(?:^(?!join )|\bfrom |\bjoin )(\w+) (\w+)/g)) {
    const columns = tables.get(table);
    if (columns) found.set(name, columns);
  }
  return found;
}

/** Column references in a text that no table has. */
function unknownIn(text: string, around: Aliases): string[] {
  const bare = text.replaceAll(/'(?:[^']|'')*'/g, `''`);
  const aliases = new Map([...around, ...aliasesIn(bare)]);
  return [...bare.matchAll(/(?<![\w$.])([a-z]\w*)\.([a-z]\w*)/g)]
    .filter(([, alias = '', column = '']) => !aliases.get(alias)?.has(column))
    .map(([name]) => `${name} in ${text}`);
}

let named = 0;
const unknown = new Set<string>();
function check(text: string | undefined, around: Aliases): void {
  if (text === undefined) return;
  named += 1;
  for (const one of unknownIn(text, around)) unknown.add(one);
}

function checkMembers(members: JsonMembers, around: Aliases): void {
  for (const made of Object.values(members)) {
    if (!isValueSql(made)) checkMembers(made, around);
    else for (const text of [made.sql, made.row?.sql]) check(text, around);
  }
}

const seen = new Set<Resource>();

const joinsIn = ({ joins, lookups }: Resource): string[] => Object.values({ ...joins, ...lookups });

/** The aliases of a resource's table and joins. */
function checkResource(of: Resource): Aliases {
  const own = new Map([of.table, ...joinsIn(of)].flatMap((text) => [...aliasesIn(text)]));
  if (seen.has(of)) return own;
  seen.add(of);
  const alias = of.id.split('.')[0];
  const sorted = Object.values(of.orders ?? {}).flatMap(({ by }) =>
    by ? [by.kind === 'number' ? by.column : `${alias}.${by.column}`] : [],
  );
  const texts = [
    ...[of.id, `${alias}.company`, of.where, of.lacking?.where, ...joinsIn(of)],
    ...Object.values(of.conditions).map(([sql]) => sql),
    ...[...sorted, ...(of.order?.columns ?? []), ...(of.order?.placeOf('$id') ?? [])],
  ];
  for (const text of texts) check(text, own);
  checkMembers(of.members, own);
  for (const field of Object.values(of.fields ?? {})) checkField(field, own);
  return own;
}

function checkField(field: ResourceField, around: Aliases): void {
  if (field.kind === 'one' || field.kind === 'list') {
    const both = new Map([...around, ...checkResource(field.of())]);
    check(field.on, both);
    for (const text of (field.kind === 'list' && field.under) || []) check(text, both);
    const { storedCount } = field.kind === 'list' ? field : {};
    if (!storedCount) return;
    check(storedCount.all, both);
    const counted = new Map([...both, ...aliasesIn(storedCount.from)]);
    for (const text of [
      storedCount.from,
      storedCount.sum,
      ...Object.values(storedCount.conditions).map(([sql]) => sql),
    ])
      check(text, counted);
  } else if (field.kind === 'manufacturer') check(field.slug, around);
  else if (field.kind === 'union')
    for (const { when, ...own } of Object.values(field.types))
      checkField({ kind: 'object', unless: when, ...own }, around);
  else if (field.kind === 'value') checkMembers({ value: field.value }, around);
  else {
    const inside = new Map([...around, ...aliasesIn('from' in field ? field.from : '')]);
    for (const text of [
      'from' in field ? field.from : undefined,
      'unless' in field ? field.unless : undefined,
      'order' in field ? field.order : undefined,
    ])
      check(text, inside);
    checkMembers(field.members, inside);
    for (const one of Object.values(('fields' in field && field.fields) || {})) checkField(one, inside);
  }
}

test('every column that a description names is a column of its table', () => {
  for (const field of Object.values(rootQueryFields)) checkField(field, new Map());
  for (const of of Object.values(nodeResources)) checkResource(of);
  expect([...unknown]).toEqual([]);
  expect(seen.size).toBeGreaterThan(8);
  expect(named).toBeGreaterThan(200);
});

test.each([
  ['v.fleet = ?', 'vehicle v'],
  ['c.fleet_id = ? and cv.vins = ?', 'contract c'],
  ['exists (select from fleet gone where gone.removed is not null)', ''],
  [`coalesce((select sum(t.difference) from vehicle_tally t), 0)`, ''],
  ['(select count(s.done) from (select 1 as undone) s)', ''],
  ['u.name', 'unnest(e.vehicle_ids, e.vins) with ordinality u(id, vin, n)'],
])('%s would be noticed', (text, around) => {
  expect(unknownIn(text, aliasesIn(around))).not.toEqual([]);
});
