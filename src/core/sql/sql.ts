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

const ID_BYTES = 16;

class Ids {
  /** Asked of the system for many ids at once: asking costs more than making an id. */
  readonly #random = new Uint8Array(4096);
  #left = 0;
  #msecs = 0;
  #seq = 0;

  next(): string {
    if (this.#left === 0) this.#left = getRandomValues(this.#random).length;
    this.#left -= ID_BYTES;
    const random = this.#random.subarray(this.#left, this.#left + ID_BYTES);
    const now = Date.now();
    if (now > this.#msecs) {
      this.#msecs = now;
      this.#seq = new DataView(random.buffer, random.byteOffset).getUint32(6) >>> 1;
    } else this.#seq += 1;
    return v7({ msecs: this.#msecs, seq: this.#seq, random });
  }
}

const ids = new Ids();

/** A new UUIDv7; within one process later ids are greater. */
export const newId = (): string => ids.next();

/** The smallest UUIDv7 of a millisecond of the clock. */
export function firstIdOf(time: number): string {
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Whether the database would take this as an id. What is none cannot exist. */
export const isId = (value: string): boolean => validate(value);
