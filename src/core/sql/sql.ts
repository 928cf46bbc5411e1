import { getRandomValues } from 'node:crypto';
import { type Expression, type SelectQueryBuilder, sql } from 'kysely';
import { v7, validate } from 'uuid';
import { prepare } from './prepare.ts';
import { db } from './tables.ts';

/**
 * A number from 0 to 1 for each text, always the same: what is due is spread by it. Citus takes no `random()` in statements
 * that change rows.
 */
export const spread = (of: Expression<string>) => sql<number>`((hashtextextended(${of}, 0) & 65535) / 65536.0)::float8`;

/**
 * `any` of what a query of one column finds, which runs once. `in` would let the planner choose: where its statistics say that a
 * table is all but empty, it may look at all that the query looks at again for each row.
 */
export const anyOf = <DB, Table extends keyof DB, Value>(query: SelectQueryBuilder<DB, Table, Record<string, Value>>) =>
  sql<Value>`any(array(${query}))`;

/** `any` of a list of ids, and of texts. */
export const anyId = (ids: readonly string[]) => sql<string>`any(${ids}::uuid[])`;
export const anyText = (texts: readonly string[]) => sql<string>`any(${texts}::text[])`;

/** Lists by the names of columns, each with the type of its elements. */
type Lists = Readonly<Record<string, readonly [values: readonly unknown[], type: string]>>;

/** Rows of lists that lie side by side. */
export function listRows<L extends Lists, const Alias extends string>(alias: Alias, lists: L) {
  const columns = Object.values(lists).map(([values, type]) => sql`${values}::${sql.raw(type)}[]`);
  const names = Object.keys(lists).join(', ');
  return sql<{ [Name in keyof L]: L[Name][0][number] }>`unnest(${sql.join(columns)})`.as<Alias>(
    sql.raw(`${alias}(${names})`),
  );
}

/** Holds the lock of this name until the open transaction ends. */
export const holdLock = prepare((p: { name: string }) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended(${p.name}::text, 0))`.as('locked')),
);

/** Random bytes are asked of the system for many ids at once: asking costs more than making an id. */
const random = new Uint8Array(4096);
const ID_BYTES = 16;
let taken = random.length;
let msecs = 0;
let seq = 0;

/** A new UUIDv7; within one process later ids are greater. */
export function newId(): string {
  if (taken === random.length) {
    getRandomValues(random);
    taken = 0;
  }
  const own = random.subarray(taken, taken + ID_BYTES);
  taken += ID_BYTES;
  const now = Date.now();
  if (now > msecs) {
    msecs = now;
    seq = new DataView(own.buffer, own.byteOffset).getUint32(6) >>> 1;
  } else seq += 1;
  return v7({ msecs, seq, random: own });
}

/** The smallest UUIDv7 of a millisecond of the clock. */
export function firstIdOf(time: number): string {
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Whether the database would take this as an id. What is none cannot exist. */
export const isId = (value: string): boolean => validate(value);
