import { reasonCodeSchema, reasonSchema } from '../reason.ts';
import { type JsonMembers, jsonSql } from './selection.ts';

/** Members of a reason in a JSON column, with the code as a value of the enumeration. */
export function reasonJsonMembers(column: string): JsonMembers {
  const member = (name: string) => ({ sql: `coalesce((${column} -> '${name}')::text, 'null')` });
  const members = Object.keys(reasonSchema.shape).map((name) => [name, member(name)]);
  return { ...Object.fromEntries(members), code: jsonSql.known(`(${column} ->> 'code')`, reasonCodeSchema.options) };
}
