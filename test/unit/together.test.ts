import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Context } from '../../src/core/context.ts';
import { together } from '../../src/core/sql/together.ts';

// What the database makes of it is for test/writes-at-once.test.ts; here is who waits for whom, which the wire does not show.

interface Row {
  company: string;
  name: string;
}
const ctx = { services: { database: { add: async () => [] } } } as unknown as Context;
const turnOver = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const rowsOf = (company: string, names: string) => [...names].map((name) => ({ company, name }));

/** What adds rows by `work`, and the names of each statement so far. */
function adding(work: (rows: readonly Row[]) => Promise<unknown>) {
  const statements: string[] = [];
  const add = together<Row>((_, company, rows) => {
    statements.push(`${company}: ${rows.map(({ name }) => name).join('')}`);
    return work(rows);
  });
  return { statements, add: (row: Row) => add(ctx, row.company, row) };
}

test('what comes in one turn, or while two statements are under way, is one statement for each company', async () => {
  const { statements, add } = adding(() => delay(5));
  const first = [...rowsOf('a', 'abc'), ...rowsOf('b', 'x'), ...rowsOf('a', 'd')].map(add);
  await turnOver();
  const second = rowsOf('a', 'ef').map(add);
  await turnOver();
  const third = rowsOf('a', 'g').map(add);
  await turnOver();
  const fourth = rowsOf('a', 'h').map(add);
  await Promise.all([...first, ...second, ...third, ...fourth]);
  expect(statements).toEqual(['a: abcd', 'b: x', 'a: ef', 'a: gh']);
});

test('a statement holds at most fifty rows, and none is forgotten', async () => {
  const { statements, add } = adding(() => delay(1));
  await Promise.all(rowsOf('a', 'n'.repeat(120)).map(add));
  expect(statements.map((statement) => statement.length - 'a: '.length)).toEqual([50, 50, 20]);
});

test('statements that are held up hold up neither the next of their company for long, nor another company', async () => {
  const held = Promise.withResolvers<void>();
  const { statements, add } = adding(async (rows) => rows[0]?.name === 'h' && held.promise);
  const slow = [add({ company: 'a', name: 'h' })];
  await turnOver();
  slow.push(add({ company: 'a', name: 'h' }));
  await turnOver();
  const next = rowsOf('a', 'bc').map(add);
  await add({ company: 'b', name: 'x' });
  await Promise.all(next);
  expect(statements).toEqual(['a: h', 'a: h', 'b: x', 'a: bc']);
  held.resolve();
  await Promise.all(slow);
});

test('a row that the server refuses fails alone; where it may have been written, nobody writes it again', async () => {
  const error = (code: string) => Object.assign(new Error(code), { code });
  const { statements, add } = adding(async (rows) => {
    await delay(1);
    if (rows.some(({ name }) => name === 'r')) throw error('23514');
    if (rows.some(({ name }) => name === 'l')) throw error('08006');
  });
  const refused = await Promise.allSettled(rowsOf('a', 'arb').map(add));
  expect(refused.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(statements.toSorted()).toEqual(['a: a', 'a: arb', 'a: b', 'a: r']);
  await expect(add({ company: 'c', name: 'r' })).rejects.toThrow('23514');
  expect(statements.filter((statement) => statement.startsWith('c'))).toEqual(['c: r']);
  const lost = await Promise.allSettled(rowsOf('b', 'alb').map(add));
  expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(statements.filter((statement) => statement.startsWith('b'))).toEqual(['b: alb']);
});
