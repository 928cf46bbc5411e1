import { type Expression, sql } from 'kysely';
import { v7, validate } from 'uuid';

/**
 * A number from 0 to 1 for each text, always the same: what is due is spread by it. Citus takes no `random()` in statements
 * that change rows.
 */
export const spread = (of: Expression<string>) => sql<number>`((hashtextextended(${of}, 0) & 65535) / 65536.0)::float8`;

/** A new UUIDv7; within one process later ids are greater. */
export const newId = (): string => v7();

/** The smallest UUIDv7 of a millisecond of the clock. */
export function firstIdOf(time: number): string {
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Whether the database would take this as an id. What is none cannot exist. */
export const isId = (value: string): boolean => validate(value);
