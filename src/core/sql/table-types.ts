import type { InferEntityProperties, SnakeCase } from '@mikro-orm/sql';
import type { ColumnType } from 'kysely';
import type { entities } from '../../entities/index.ts';

// MikroORM's own InferKyselyDB says Date where text comes, and is wrong for relations whose key has several columns.

type Built<B> = B extends () => infer R ? R : B;
type Options<B> = Built<B> extends { '~options': infer O } ? O : never;
type Value<B> = Built<B> extends { '~type'?: { value: infer V } } ? V : never;

/** Relations are no columns: the property beside each names and types its column. */
type ColumnKeys<P> = { [K in keyof P]: Options<P[K]> extends { kind: string } ? never : K }[keyof P];

type Null<O> = O extends { nullable: true } ? null : never;
type Optional<O> = O extends
  | { nullable: true }
  | { default: unknown }
  | { defaultRaw: unknown }
  | { autoincrement: true }
  ? undefined
  : never;

/** JSON is its value when read and its text when written. */
type IsJson<V> = '__raw' extends keyof V ? true : false;
type Read<V> =
  IsJson<V> extends true ? (V extends { __runtime?: infer R } ? R : never) : V extends Date | bigint ? string : V;
type Write<V> =
  IsJson<V> extends true
    ? string
    : V extends Date
      ? Date | string
      : V extends bigint
        ? string | number | bigint
        : V extends readonly (infer E)[]
          ? readonly E[]
          : V;

type Column<B> = ColumnType<
  Read<Value<B>> | Null<Options<B>>,
  Write<Value<B>> | Null<Options<B>> | Optional<Options<B>>,
  Write<Value<B>> | Null<Options<B>>
>;
type Table<E> =
  InferEntityProperties<E> extends infer P ? { [K in ColumnKeys<P> & string as SnakeCase<K>]: Column<P[K]> } : never;

/** The tables as statements see them, from the entities: times and large numbers are text, enumerations unions. */
export type Tables = {
  [E in (typeof entities)[number] as E extends { tableName?: infer N }
    ? Extract<NonNullable<N>, string>
    : never]: Table<E>;
};
