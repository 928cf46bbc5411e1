import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TextSqlWriter } from '../src/core/sql/selection.ts';
import { startGateway } from './support/gateway.ts';

// The database's text must equal the concatenated pieces.

const { execute } = await startGateway();

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
      const [row] = await execute<{ text: string }>(`select ${made.sql()} as text`);
      expect(row?.text).toBe(expected);
    }),
    { numRuns: 200 },
  );
});

test('two thousand values are allowed', async () => {
  const made = new TextSqlWriter();
  for (let left = 2000; left > 0; left--) made.value({ sql: '1', bare: true });
  const [row] = await execute<{ length: number }>(`select length(${made.sql()}) as length`);
  expect(row?.length).toBe(6000);
});
