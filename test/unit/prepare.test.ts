import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import { expect, expectTypeOf, test } from 'vitest';
import type { SendStatement } from '../../src/core/database.ts';
import { db, type PreparedStatement, prepare, prepareStatementVariants } from '../../src/core/sql/sql.ts';
import type { Tables } from '../../src/core/sql/table-types.ts';

interface Sent {
  text: string;
  values: readonly unknown[];
}

/** Sends nothing; returns the statement itself as the only row. */
const send: SendStatement = async (text, values) => [{ text, values } satisfies Sent];
async function sentBy<P>(statement: PreparedStatement<P, unknown>, given: P): Promise<Sent> {
  const [row] = await (statement as PreparedStatement<P, Sent>)(send, given);
  return row as Sent;
}

const byId = (p: { company: string; id: string }) =>
  db.selectFrom('fleet').select(['id', 'name']).where('company', '=', p.company).where('id', '=', p.id);

test('a statement is built at its first call and never again', async () => {
  let built = 0;
  const find = prepare((p: { company: string; id: string }) => {
    built += 1;
    return byId(p);
  });
  expect(built).toBe(0);
  const text = 'select "id", "name" from "fleet" where "company" = $1 and "id" = $2';
  expect(await sentBy(find, { company: 'acme', id: 'a' })).toEqual({ text, values: ['acme', 'a'] });
  // The order of values is that of the statement, not of the call.
  expect(await sentBy(find, { id: 'b', company: 'other' })).toEqual({ text, values: ['other', 'b'] });
  expect(built).toBe(1);
});

test('a value can be used twice, beside constants, and be left out', async () => {
  const claim = prepare((p: { now: string; until?: string; limit: number }) =>
    db
      .with('due', (q) =>
        q.selectFrom('vehicle').select('id').where('due_at', '<=', p.now).orderBy('due_at').limit(p.limit).forUpdate(),
      )
      .updateTable('vehicle as v')
      .from('due')
      .set({ due_at: p.until ?? null, status: 'PENDING' })
      .whereRef('v.id', '=', 'due.id')
      .where('v.due_at', '<=', p.now)
      .returning(['v.id']),
  );
  expect((await sentBy(claim, { now: 'n', until: 'u', limit: 3 })).values).toEqual(['n', 3, 'u', 'PENDING', 'n']);
  expect((await sentBy(claim, { now: 'n', limit: 3 })).values).toEqual(['n', 3, null, 'PENDING', 'n']);
});

test('lists and JSON are one value each', async () => {
  const find = prepare((p: { ids: string[] }) =>
    db.selectFrom('vehicle').select('vin').where('id', '=', sql<string>`any(${p.ids}::uuid[])`),
  );
  expect((await sentBy(find, { ids: ['a', 'b'] })).values).toEqual([['a', 'b']]);
  const raw = prepare((p: { n: number }) => sql<{ n: number }>`select ${p.n}::int as n`);
  expect(await sentBy(raw, { n: 1 })).toEqual({ text: 'select $1::int as n', values: [1] });
});

test('a statement with optional conditions is kept once for each combination used', async () => {
  let built = 0;
  const list = prepareStatementVariants<{ company: string; after?: string | null; status?: 'PENDING' | 'FAILED' }>()(
    ['after', 'status'],
    (p, has) => {
      built += 1;
      return db
        .selectFrom('vehicle as v')
        .select('v.id')
        .where('v.company', '=', p.company)
        .$if(has.after, (q) => q.where('v.id', '>', p.after))
        .$if(has.status, (q) => q.where('v.status', '=', p.status));
    },
  );
  const all = 'select "v"."id" from "vehicle" as "v" where "v"."company" = $1';
  expect(await sentBy(list, { company: 'a' })).toEqual({ text: all, values: ['a'] });
  expect(await sentBy(list, { company: 'a', after: null })).toEqual({ text: all, values: ['a'] });
  const failed = { text: `${all} and "v"."status" = $2`, values: ['a', 'FAILED'] };
  expect(await sentBy(list, { company: 'a', status: 'FAILED' })).toEqual(failed);
  const page = { text: `${all} and "v"."id" > $2 and "v"."status" = $3`, values: ['a', 'x', 'FAILED'] };
  expect(await sentBy(list, { company: 'a', after: 'x', status: 'FAILED' })).toEqual(page);
  expect(built).toBe(3);
});

test.each<[string, (p: { n: number; name: string }) => unknown]>([
  ['a sum', (p) => p.n + 1],
  ['a template', (p) => `${p.name}%`],
  ['a comparison', (p) => p.n > 1],
  ['JSON', (p) => JSON.stringify({ name: p.name })],
  ['a copy of all', (p) => ({ ...p })],
  ['a look for one', (p) => 'name' in p],
])('what is made of a value while there is none is refused: %s', async (_name, make) => {
  const wrong = prepare((p: { n: number; name: string }) => sql<object>`select ${make(p)}`);
  await expect(async () => wrong(send, { n: 1, name: 'a' })).rejects.toThrow('The statement is written once');
});

test('rows have the types that come from the database', () => {
  expectTypeOf<Selectable<Tables['vehicle']>>().toMatchObjectType<{
    id: string;
    fleet_id: string;
    status: 'PENDING' | 'ELIGIBLE' | 'INELIGIBLE' | 'UNSUPPORTED' | 'FAILED';
    warnings: string[];
    data_delivery: ('PULL' | 'PUSH')[];
    attempts: number;
    created_at: string;
    due_at: string | null;
    manufacturer: string | null;
    raw_answer: unknown;
  }>();
  expectTypeOf<Selectable<Tables['event']>['position']>().toEqualTypeOf<string | null>();
  expectTypeOf<Selectable<Tables['import_rejection']>>().toEqualTypeOf<{
    company: string;
    import_id: string;
    row: number;
    value: string;
    code: string;
    message: string;
    cells: string[] | null;
  }>();
  // Columns with a default or null may be missing; JSON is given as text.
  expectTypeOf<{
    id: string;
    company: string;
    fleet_id: string;
    vin: string;
    created_at: Date;
    reason: string;
  }>().toExtend<Insertable<Tables['vehicle']>>();
  expectTypeOf<{ claimed: true; due_at: null }>().toExtend<Updateable<Tables['vehicle']>>();
  expectTypeOf<{ minute: string; points: number }>().not.toExtend<Insertable<Tables['rate_use']>>();
});

test('the compiler refuses statements that the database would refuse', () => {
  const find = prepare(byId);
  expectTypeOf(find).returns.resolves.toEqualTypeOf<{ id: string; name: string }[]>();
  const remove = prepare((p: { id: string }) => db.deleteFrom('fleet').where('id', '=', p.id));
  expectTypeOf(remove).returns.resolves.toEqualTypeOf<never[]>();
  const set = (fields: Updateable<Tables['vehicle']>) => db.updateTable('vehicle').set(fields);
  const where = db.selectFrom('vehicle').selectAll();
  const _wrong = () => [
    // @ts-expect-error a value is missing
    find(send, { company: 'a' }),
    // @ts-expect-error a value of another type
    find(send, { company: 'a', id: 1 }),
    // @ts-expect-error a value that the statement does not know
    prepare((p: { id: string }) => db.selectFrom('fleet').selectAll().where('id', '=', p.name)),
    // @ts-expect-error no such table
    db.selectFrom('fleets'),
    // @ts-expect-error no such column
    where.where('fleetId', '=', 'a'),
    // @ts-expect-error a relation is no column
    where.select('fleet'),
    // @ts-expect-error no such status
    set({ status: 'DONE' }),
    // @ts-expect-error not null
    set({ claimed: null }),
    // @ts-expect-error a time as a number
    set({ due_at: 0 }),
    // @ts-expect-error one text for several
    set({ warnings: 'a' }),
    // @ts-expect-error JSON is written as text
    set({ reason: { code: 'a', message: 'b', actor: 'CUSTOMER', retryable: true } }),
    // @ts-expect-error a comparison with another type
    where.where('attempts', '>', 'a'),
    // @ts-expect-error no such member of a row
    async () => (await find(send, { company: 'a', id: 'b' }))[0]?.vat,
    // @ts-expect-error a condition that may be missing has to be looked for by its name
    prepareStatementVariants<{ after?: string }>()(['before'], (p) => where.where('id', '>', p.after)),
  ];
  expect(_wrong).toBeTypeOf('function');
});
