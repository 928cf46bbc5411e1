import { type RawBuilder, sql } from 'kysely';
import type { Context, Scope } from '../context.ts';
import type { Tables } from './tables.ts';

/** Large members of rows that are left out unless they are wanted. */
export interface NodeParts {
  /** The vehicles of an event. */
  vehicles: boolean;
  /** What a delivery sent. */
  requests: boolean;
}

/** Rows that can be found by their ids alone. */
export interface NodeSource {
  /** What a row is called. */
  alias: string;
  scope: Scope;
  /** What follows `from`, up to and with the conditions that confine it to the company. */
  from(ctx: Context, company: string): RawBuilder<unknown>;
  /** The row as JSON. */
  json(parts: NodeParts): RawBuilder<unknown>;
  /** Another value that `read` needs, as JSON. */
  more?(parts: NodeParts): RawBuilder<unknown>;
  /** What is shown, where that is not the row's own JSON. */
  read?(json: unknown, more: unknown): { id: string };
}

/** The rows of a table, each as this object of a row called `alias`. */
export const nodesOf = (table: keyof Tables, alias: string, object: RawBuilder<unknown>): NodeSource => ({
  alias,
  scope: 'fleets:read',
  from: (_ctx, company) => sql`${sql.table(table)} ${sql.ref(alias)} where ${sql.ref(`${alias}.company`)} = ${company}`,
  json: () => object,
});
