import type { RawBuilder } from 'kysely';
import type { Context } from '../context.ts';

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
  /** What follows `from`, up to and with the conditions that confine it to the company; null where the caller may see none. */
  from(ctx: Context, company: string): RawBuilder<unknown> | null;
  /** The row as JSON. */
  json(parts: NodeParts): RawBuilder<unknown>;
  /** Another value that `read` needs, as JSON. */
  more?(parts: NodeParts): RawBuilder<unknown>;
  /** What is shown, where that is not the row's own JSON. */
  read?(json: unknown, more: unknown): { id: string };
}
