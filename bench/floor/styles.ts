/**
 * Ways to write JSON in SQL. `bench/floor/candidates.ts` measures them against each other; server.ts uses the best.
 */

/** A value: `sql` gives it, `kind` says how it becomes JSON. */
export interface Value {
  kind: 'text' | 'code' | 'number' | 'time' | 'json';
  sql: string;
  nullable: boolean;
}
/** The members of an object; those of objects in it, too. */
export interface Members {
  [name: string]: Value | Members;
}

export interface Style {
  object(members: Members): string;
  /** A list of objects, in the order of `source`: what follows `from`. */
  list(members: Members, source: string): string;
}

const value = (kind: Value['kind'], nullable: boolean) => (sql: string) => ({ kind, sql, nullable });
/** What people wrote. */
export const text = value('text', false);
/** What needs no escaping: ids, VINs, words of our own. */
export const code = value('code', false);
export const number = value('number', false);
export const time = value('time', false);
export const json = value('json', false);
export const orNull = (one: Value): Value => ({ ...one, nullable: true });

const isValue = (one: Value | Members): one is Value => typeof one.sql === 'string';

/** How times are written. The first two give the same text, `2026-11-21T08:00:00.120Z`. */
export const times: Record<string, (sql: string) => string> = {
  to_char: (sql) => `to_char(${sql}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  // One microsecond more is never printed shorter than with six digits, the last three of which are cut off.
  cast: (sql) => `overlay(left((${sql} + '1 microsecond')::text, 23) placing 'T' from 11) || 'Z'`,
  // Another format, to see what the right one costs.
  native: (sql) => sql,
};

export type Times = keyof typeof times;

const timed = (one: Value, written: Times): string =>
  one.kind === 'time' ? (times[written]?.(one.sql) ?? '') : one.sql;
/** Text that is JSON has to be told from text, but not for `format`. */
const typed = (one: Value, written: Times): string =>
  one.kind === 'json' ? `(${one.sql})::json` : timed(one, written);

/** One call for each object, which looks at the type of each value for each row. */
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

/** Rows of a subselect as they are. */
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

/** `format` with the object as it will look. `joined` says how a list is put together. */
export const format = (written: Times, joined: 'string_agg' | 'array' = 'string_agg'): Style =>
  texts(written, joined, (shape, values) => `format('${shape}', ${values.join(', ')})`);

/** The same, piece by piece. */
export const pieces = (written: Times): Style =>
  texts(written, 'string_agg', (shape, values) => {
    const [first, ...others] = shape.split('%s');
    return `('${first}'${others.map((piece, at) => ` || (${values[at]}) || '${piece}'`).join('')})`;
  });

/** Objects as text; `write` is given one as it will look, with `%s` for each of its values. */
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
