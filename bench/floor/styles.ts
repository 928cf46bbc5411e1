/** Ways to write JSON in SQL. `bench/floor/candidates.ts` compares their cost; server.ts uses the cheapest. */

/** An SQL expression, and how it becomes JSON. */
export interface Value {
  kind: 'text' | 'code' | 'number' | 'time' | 'json';
  sql: string;
  nullable: boolean;
}
/** The members of an object, with nested objects. */
export interface Members {
  [name: string]: Value | Members;
}

export interface Style {
  object(members: Members): string;
  /** A list of objects; `source` is the text after `from`, with its order. */
  list(members: Members, source: string): string;
}

const value = (kind: Value['kind'], nullable: boolean) => (sql: string) => ({ kind, sql, nullable });
/** Free text of users. */
export const text = value('text', false);
/** Text that needs no escaping: ids, VINs, codes. */
export const code = value('code', false);
export const number = value('number', false);
export const time = value('time', false);
export const json = value('json', false);
export const orNull = (one: Value): Value => ({ ...one, nullable: true });

const isValue = (one: Value | Members): one is Value => typeof one.sql === 'string';

/** Formats of times. The first two give the same text, `2026-11-21T08:00:00.120Z`. */
export const times: Record<string, (sql: string) => string> = {
  to_char: (sql) => `to_char(${sql}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  // PostgreSQL omits trailing zeros of a fraction; one microsecond more gives six digits, of which three are cut off.
  cast: (sql) => `overlay(left((${sql} + '1 microsecond')::text, 23) placing 'T' from 11) || 'Z'`,
  // PostgreSQL's own format, to see the cost of the right one.
  native: (sql) => sql,
};

export type Times = keyof typeof times;

const timed = (one: Value, written: Times): string =>
  one.kind === 'time' ? (times[written]?.(one.sql) ?? '') : one.sql;
/** Casts text that is JSON, so that it is not escaped; `format` needs no cast. */
const typed = (one: Value, written: Times): string =>
  one.kind === 'json' ? `(${one.sql})::json` : timed(one, written);

/** One json_build_object per object; PostgreSQL looks up each value's type in every row. */
export const build = (written: Times): Style => {
  const object = (members: Members): string =>
    `json_build_object(${Object.entries(members)
      .map(([name, one]) => `'${name}', ${isValue(one) ? typed(one, written) : object(one)}`)
      .join(', ')})`;
  return {
    object,
    list: (members, source) =>
      `(select coalesce(json_agg(x.o), '[]') from (select ${object(members)} as o from ${source}) x)`,
  };
};

/** json_agg over the rows of a subselect. */
export const rows = (written: Times): Style => {
  const select = (members: Members): string =>
    `select ${Object.entries(members)
      .map(([name, one]) => `${isValue(one) ? typed(one, written) : object(one)} as "${name}"`)
      .join(', ')}`;
  const object = (members: Members) => `(select row_to_json(r) from (${select(members)}) r)`;
  return {
    object,
    list: (members, source) => `(select coalesce(json_agg(r), '[]') from (${select(members)} from ${source}) r)`,
  };
};

/** One `format` with the object's text as the pattern. `joined` is the way to build a list. */
export const format = (written: Times, joined: 'string_agg' | 'array' = 'string_agg'): Style =>
  texts(written, joined, (shape, values) => `format('${shape}', ${values.join(', ')})`);

/** The object's text, concatenated with its values. */
export const pieces = (written: Times): Style =>
  texts(written, 'string_agg', (shape, values) => {
    const [first, ...others] = shape.split('%s');
    return `('${first}'${others.map((piece, at) => ` || (${values[at]}) || '${piece}'`).join('')})`;
  });

/** Builds objects as text; `write` gets an object's text with `%s` for each value. */
function texts(
  written: Times,
  joined: 'string_agg' | 'array',
  write: (shape: string, values: string[]) => string,
): Style {
  const object = (members: Members): string => {
    const values: string[] = [];
    const shape = shapeOf(members, values);
    return write(shape, values);
  };
  const shapeOf = (members: Members, values: string[]): string =>
    `{${Object.entries(members)
      .map(([name, one]) => `"${name}":${isValue(one) ? place(one, values) : shapeOf(one, values)}`)
      .join(',')}}`;
  const place = (one: Value, values: string[]): string => {
    const sql = one.kind === 'text' ? `to_json(${one.sql})` : timed(one, written);
    const bare = one.kind === 'code' || one.kind === 'time';
    if (one.nullable) values.push(`coalesce(${bare ? `'"' || ${sql} || '"'` : `(${sql})::text`}, 'null')`);
    else values.push(sql);
    return bare && !one.nullable ? '"%s"' : '%s';
  };
  return {
    object,
    list: (members, source) =>
      joined === 'array'
        ? `('[' || array_to_string(array(select ${object(members)} from ${source}), ',') || ']')`
        : `(select '[' || coalesce(string_agg(x.o, ','), '') || ']' from (select ${object(members)} as o from ${source}) x)`,
  };
}
