import type { z } from 'zod';
import type { FixedSortOrder, SortOrders } from './order.ts';
import type { PageArguments } from './page.ts';

/** What lists of a table's rows have beside what each row has. */
export interface ListDescription {
  /** The schema of the filter; each member names a condition. */
  filter?: z.ZodType<object>;
  /** The orders that lists offer, or their fixed order; by default the order of the ids. */
  orders?: SortOrders;
  order?: FixedSortOrder;
  readPage?(args: object): PageArguments;
  /** Whether all rows of the company meet `where`: evaluated once, for counts. */
  whereForAll?: string;
  /** Columns of ids that precede the order in an index, by the names of the conditions for one id. */
  leading?: Readonly<Record<string, string>>;
  /** Indexes for conditions that few rows may meet: the first one that serves a condition of the filter is used. */
  seeks?: readonly IndexSeek[];
  /** A column by which lists are sorted, and the bounds of it that conditions have. */
  bounds?: { column: string; of: Readonly<Record<string, readonly ColumnBound[]>> };
  /** Rows whose stored numbers are behind: the condition for one, and these few rows with their present numbers. */
  behind?: { is: string; columns: readonly string[]; table: string };
  /** The number of rows that most companies do not exceed; by default it is not known. */
  expected?: number;
}

type ColumnBound = { operator: '>=' | '<='; value: string };

/** An index that begins with the company and the column of a condition. `?` is the value of the condition. */
export interface IndexSeek {
  by: string;
  /** Values that are looked up first, many of which may have no row, and SQL for the rows of one, `one.of`. */
  values?: { sql: string; rows: string };
  /** The rows are those of one look-up or the other; none is in both. */
  finds: readonly IndexFind[];
}

export interface IndexFind {
  /** A set of values, `one.of`, each of which is looked up: before version 17, rows of several values have no order. */
  each?: string;
  /** Conditions by name as the index has them, in place of the resource's own. */
  where?: Readonly<Record<string, string>>;
  /** Columns of the index that no condition sets to one value: no other index has this order. */
  order: string;
}
