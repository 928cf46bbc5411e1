import { type RawBuilder, sql } from 'kysely';
import { v7, validate } from 'uuid';

/** The condition of a filter's member; nothing where it has no value. An empty text is one. */
export const given = <T>(value: T | null | undefined, condition: (value: T) => RawBuilder<unknown>) =>
  value == null ? sql`` : condition(value);

/** A new UUIDv7; within one process later ids are greater. */
export const newId = (): string => v7();

/** The smallest UUIDv7 of a millisecond of the clock. */
export function firstIdOf(time: number): string {
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Whether the database would take this as an id. What is none cannot exist. */
export const isId = (value: string): boolean => validate(value);
