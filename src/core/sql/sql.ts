import { TransactionContext } from '@mikro-orm/core';
import { type RawBuilder, sql } from 'kysely';
import { v7, validate } from 'uuid';
import type { Context } from '../context.ts';
import { PAGE_MAX } from './page-size.ts';
import { db } from './tables.ts';

/** Runs a statement on the primary, inside the open transaction if there is one. */
export async function write<Row>(ctx: Context, statement: RawBuilder<Row>): Promise<Row[]> {
  if (inTransaction()) return (await statement.execute(ctx.em.getKysely())).rows;
  return pastKysely(ctx, 'send', statement);
}

/** Runs, like `write`, a short statement that adds rows and waits for nobody else's: many of them share a connection. */
export async function add(ctx: Context, statement: RawBuilder<unknown>): Promise<void> {
  await (inTransaction() ? write(ctx, statement) : pastKysely(ctx, 'add', statement));
}

/** For what looks at rows until it finds enough, or counts them. */
export const ALL_ROWS = Number.POSITIVE_INFINITY;

/**
 * Runs a query where reads go: a replica if there is one, else the primary; inside the open transaction if there is one.
 * `rows` is how many it reads at most: what may be more than a page gets a connection of its own.
 */
export async function read<Row>(ctx: Context, query: RawBuilder<Row>, rows = 1): Promise<Row[]> {
  if (rows > PAGE_MAX || inTransaction()) {
    return (await query.execute(ctx.em.getKysely({ type: 'read' }))).rows;
  }
  return pastKysely(ctx, 'read', query);
}

const inTransaction = (): boolean => TransactionContext.currentTransactionContext() !== undefined;

/** Kysely's way to the database costs as much as a short statement, and keeps large values in memory long after they are sent. */
async function pastKysely<Row>(ctx: Context, way: 'send' | 'read' | 'add', statement: RawBuilder<Row>): Promise<Row[]> {
  const { sql, parameters } = statement.compile(db);
  return (await ctx.services.database[way](sql, parameters)) as Row[];
}

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
