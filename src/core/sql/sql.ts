import { getRandomValues } from 'node:crypto';
import {
  type CompiledQuery,
  type DeleteResult,
  DummyDriver,
  type Expression,
  type InsertResult,
  Kysely,
  type MergeResult,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryExecutorProvider,
  type SelectQueryBuilder,
  sql,
  type UpdateResult,
} from 'kysely';
import { NIL, v7, validate } from 'uuid';
import type { Context } from '../context.ts';
import { read, type SendStatement, search, type WriteOptions, write } from '../database.ts';
import type { Tables } from './table-types.ts';

/** Writes SQL and runs none. */
export const db = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (kysely) => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

type Statement<Row> = { compile(executor: QueryExecutorProvider): CompiledQuery<Row> };
/** The row type of a result; a statement without `returning` has none. */
type Returned<Row> = Row extends InsertResult | UpdateResult | DeleteResult | MergeResult ? never : Row;

/** Sends a statement with its values, as a change unless it is called a read or a search (core/database.ts); gives its rows. */
export type PreparedStatement<P, Row> = (
  to: Context | SendStatement,
  values: P,
  how?: keyof typeof readers | WriteOptions,
) => Promise<Returned<Row>[]>;

const readers = { read, search };

type Compiled<P> = { text: string; values: ((values: P) => unknown)[] };

/** Stands for a value while the statement is built, and cannot be taken for one. */
class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  [Symbol.toPrimitive](): never {
    throw new TypeError(`The statement is written once for all values: ${this.name} has none yet.`);
  }

  toJSON(): never {
    return this[Symbol.toPrimitive]();
  }
}

const unnamed = (): never => {
  throw new TypeError('The statement is written once for all values: name each that it takes.');
};
const standIns = new Proxy({}, { get: (_, name) => new Parameter(String(name)), ownKeys: unnamed, has: unnamed });

/** Constant numbers are written into the text: for a parameter, the planner takes a limit for a tenth of the table. */
function compile<P extends object>(statement: Statement<unknown>): Compiled<P> {
  const { sql, parameters } = statement.compile(db);
  const values: Compiled<P>['values'] = [];
  const text = sql.replaceAll(/\$(\d+)/g, (_, number) => {
    const one = parameters[number - 1];
    if (typeof one === 'number' && one >= 0) return String(one);
    values.push(one instanceof Parameter ? (given) => given[one.name as keyof P] ?? null : () => one);
    return `$${values.length}`;
  });
  return { text, values };
}

const registered: (() => string[])[] = [];

/** Every statement of the loaded modules, in each of its variants: for the test that has all of them planned. */
export const everyStatementText = (): string[] => registered.flatMap((texts) => texts());

/** The values as `build` sees them: it uses an optional one only where `has` says that it is there. */
type Present<P, Name extends keyof P> = { [K in keyof P]-?: K extends Name ? NonNullable<P[K]> : P[K] };
type Has<Name extends string> = Readonly<Record<Name, boolean>>;

/** A prepared statement with a text for each combination of these optional values that is used; null counts as missing. */
export const prepareStatementVariants =
  <P extends object>() =>
  <const Name extends keyof P & string, Row>(
    names: readonly Name[],
    build: (p: Present<P, Name>, has: Has<Name>) => Statement<Row>,
  ): PreparedStatement<P, Row> => {
    const variants: Compiled<P>[] = [];
    /** `variant` has a bit for each name. */
    const compiled = (variant: number) => {
      const has = () => names.map((name, at) => [name, (variant & (1 << at)) !== 0]);
      variants[variant] ??= compile(build(standIns as Present<P, Name>, Object.fromEntries(has()) as Has<Name>));
      return variants[variant];
    };
    registered.push(() => Array.from({ length: 1 << names.length }, (_, variant) => compiled(variant).text));
    return (to, given, how) => {
      const variant = names.reduce((bits, name, at) => (given[name] == null ? bits : bits | (1 << at)), 0);
      const { text, values } = compiled(variant);
      const taken = values.map((value) => value(given));
      const send = () => {
        if (typeof to === 'function') return to(text, taken);
        return typeof how === 'string' ? readers[how](to, text, taken, true) : write(to, text, taken, how);
      };
      return send() as Promise<Returned<Row>[]>;
    };
  };

/**
 * A statement that is built when it is first sent and kept as text; each call gives values only. `build` sees a
 * placeholder for each value, so it cannot look at values or compute with them. A value that a call leaves out is null.
 */
export const prepare = <P extends object, Row>(build: (p: P) => Statement<Row>): PreparedStatement<P, Row> =>
  prepareStatementVariants<P>()([], (p) => build(p as P));

/** All ids come after it. */
export const LOWEST_ID: string = NIL;

const ID_BYTES = 16;
/** A clock that goes back further was wrong: rows are in the order of their times, as those of other processes. */
const MOST_BACK_MS = 10_000;

class Ids {
  /** Random bytes for many ids: a call of the system for each would cost more than the id. */
  readonly #random = new Uint8Array(4096);
  #left = 0;
  #msecs = 0;
  #seq = 0;

  next(): string {
    if (this.#left === 0) this.#left = getRandomValues(this.#random).length;
    this.#left -= ID_BYTES;
    const random = this.#random.subarray(this.#left, this.#left + ID_BYTES);
    const now = Date.now();
    if (now > this.#msecs || now < this.#msecs - MOST_BACK_MS) {
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
export const lowestIdAtTime = (time: number): string =>
  v7({ msecs: Math.max(0, time), seq: 0, random: new Uint8Array(ID_BYTES) });

/** Whether the database accepts this as an id. No row has another. */
export const isId = (value: string): boolean => validate(value);

/** The ids that can exist, each once. */
export const uniqueIds = (ids: readonly string[]) => [...new Set(ids.filter(isId).map((id) => id.toLowerCase()))];

/** A number from 0 to 1 for each text, always the same: due times are spread by it. */
export const hashFraction = (of: Expression<string>) =>
  sql<number>`((hashtextextended(${of}, 0) & 65535) / 65536.0)::float8`;

/** `any` of a query of one column, which runs once. `in` may run it again for each row of a table that seems empty. */
export const anyOf = <DB, Table extends keyof DB, Value>(query: SelectQueryBuilder<DB, Table, Record<string, Value>>) =>
  sql<Value>`any(array(${query}))`;

/** The company and the id of a row. */
export type RowKey = { company: string; id: string };

export const asTimestamptz = (time: Date | string) => sql<string>`${time}::timestamptz`;

/** `any` of a list of ids, and of texts. */
export const anyOfIds = (ids: readonly string[]) => sql<string>`any(${ids}::uuid[])`;
export const anyOfTexts = (texts: readonly string[]) => sql<string>`any(${texts}::text[])`;

type Lists = Readonly<Record<string, readonly [values: readonly unknown[], type: string]>>;

/** Rows of lists of equal length. */
export function unnestLists<L extends Lists, const Alias extends string>(alias: Alias, lists: L) {
  const columns = Object.values(lists).map(([values, type]) => sql`${values}::${sql.raw(type)}[]`);
  const names = Object.keys(lists).join(', ');
  return sql<{ [Name in keyof L]: L[Name][0][number] }>`unnest(${sql.join(columns)})`.as<Alias>(
    sql.raw(`${alias}(${names})`),
  );
}

/** Rows of a JSON list of objects, by the SQL of its columns. */
export const jsonRecordset = <Row, const Alias extends string>(alias: Alias, list: string, columns: string) =>
  sql<Row>`jsonb_to_recordset(${list}::jsonb)`.as<Alias>(sql.raw(`${alias}(${columns})`));

/** Holds the lock of this name until the open transaction ends. */
export const holdAdvisoryLock = prepare((p: { name: string }) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended(${p.name}::text, 0))`.as('locked')),
);

type Cache<Key, Value> = { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown };

/** The cache's value for a key, made and stored if there is none. */
export function getOrCreate<Key, Value>(map: Cache<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** Numbers the values that a text names: `$company` becomes `$1`, wherever it is used. */
export function numberParameters(named: string) {
  const names: string[] = [];
  const text = named.replaceAll(/\$([a-z]\w*)/g, (_, name: string) => {
    const at = names.indexOf(name);
    return `$${at < 0 ? names.push(name) : at + 1}`;
  });
  return { text, names, values: (given: Readonly<Record<string, unknown>>) => names.map((name) => given[name]) };
}
