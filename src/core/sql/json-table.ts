import type { SnakeCase } from '@mikro-orm/sql';
import { z } from 'zod';
import { kindOf } from '../fields.ts';
import { type JsonSql, json, pick, type Selection, type ValueSql } from './selection.ts';
import type { Tables } from './tables.ts';

/** How the other members are made: at least those that no column of the table is called like. */
type Made<Name extends keyof Tables, T> = Pick<JsonSql<T>, NotColumns<Name, T>> & Partial<JsonSql<T>>;
type NotColumns<Name extends keyof Tables, T> = {
  [Member in keyof T & string]: SnakeCase<Member> extends keyof Tables[Name] ? never : Member;
}[keyof T & string];

const kinds: Readonly<Record<string, (column: string) => ValueSql>> = {
  uuid: json.code,
  enum: json.code,
  string: json.text,
  number: json.number,
  time: json.time,
};

/**
 * How the members of a resource are made of a row of its table, called `alias` in the statement: each from the column of
 * its name, as its schema says, but for those that `made` makes.
 */
export function jsonTable<Name extends keyof Tables & string, Schema extends z.ZodObject>(
  _table: Name,
  alias: string,
  { shape }: Schema,
  made: Made<Name, z.output<Schema>>,
): JsonSql<z.output<Schema>> {
  const members = Object.entries(shape).map(([name, schema]) => {
    const column = `${alias}.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
    const value = (kinds[kindOf(schema)] ?? json.value)(column);
    return [name, schema instanceof z.ZodNullable ? json.orNull(value) : value];
  });
  return { ...Object.fromEntries(members), ...made };
}

/** A selection of all that a schema has; objects in it that may be null are wanted whole. */
export function selectionOf<Schema extends z.ZodObject>({ shape }: Schema): Selection<z.output<Schema>> {
  const members = Object.entries(shape).map(([name, schema]) => [
    name,
    schema instanceof z.ZodObject ? selectionOf(schema) : true,
  ]);
  return Object.fromEntries(members);
}

/** What shows, of a value that may have more: all that the schema has. */
export function shapeOf<Schema extends z.ZodObject>(schema: Schema) {
  const fields = selectionOf(schema);
  return (value: z.output<Schema>) => pick(value, fields);
}
