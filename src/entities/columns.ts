import { DateTimeType, p, Type, UnderscoreNamingStrategy } from '@mikro-orm/core';

/** Elements that PostgreSQL writes without quotes in the text of an array: defaults are compared with its text. */
const PLAIN = /^(?!null$)[^\s{},"\\]+$/i;

function element(value: unknown): string {
  if (value === null) return 'NULL';
  const text = String(value);
  return PLAIN.test(text) ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** An array of PostgreSQL. MikroORM's own type changes 'NULL', spaces at ends, line breaks, quotes and backslashes. */
class NativeArray<T> extends Type<readonly T[] | null, string | null> {
  override convertToDatabaseValue(value: readonly T[] | null): string | null {
    return value && `{${value.map(element).join(',')}}`;
  }

  /** Without this, `em.assign` expects a text. */
  override get runtimeType(): string {
    return 'array';
  }
}

const arrayOf = <T>(columnType: string) => p.type(NativeArray).columnType(columnType).$type<T[]>();
export const texts = <T extends string | null = string>() => arrayOf<T>('text[]');
export const uuids = () => arrayOf<string>('uuid[]');
export const integers = () => arrayOf<number>('int[]');
export const booleans = () => arrayOf<boolean>('boolean[]');

/** A time, read as JSON has it: by itself, PostgreSQL writes it in the session's style and zone. */
class Time extends DateTimeType {
  override convertToJSValueSQL(column: string): string {
    return `(to_json(${column}) #>> '{}')`;
  }

  override convertToJSValue(value: unknown): never {
    return (typeof value === 'string' ? new Date(value) : value) as never;
  }
}

export const time = () => p.type(Time).columnType('timestamptz').$type<Date>();

/** A value as JSON: an object in an entity and in rows, text in what statements write. */
export const json = <T>() => p.json<T>().$type<T, string>();

/** A check that a text has one to so many characters, as PostgreSQL prints it. */
export const lengthOf = (column: string, most: number) => `length(${column}) >= 1 AND length(${column}) <= ${most}`;

type Target = Parameters<typeof p.manyToOne>[0];

/** Another row of the same company, by a column of its own. */
export const refersTo = <T extends Target>(target: T, column: string) =>
  p.manyToOne(target).ref().joinColumns('company', column).ownColumns(column);

/** The parent of a row; the row goes with it. */
export const belongsTo = <T extends Target>(target: T, column: string) =>
  refersTo(target, column).deleteRule('cascade').updateRule('no action');

/** Constraint names as PostgreSQL makes them; those of foreign keys leave out `company`, their first column. */
export class Names extends UnderscoreNamingStrategy {
  override indexName(...[table, columns, type]: Parameters<UnderscoreNamingStrategy['indexName']>): string {
    if (type === 'foreign') return `${table}_${columns.filter((column) => column !== 'company').join('_')}_fkey`;
    return super.indexName(table, columns, type);
  }
}
