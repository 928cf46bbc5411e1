import { parse } from 'uuid';
import { z } from 'zod';
import { ValidationFailed } from '../errors.ts';
import { readInput } from '../input.ts';
import {
  CREATION_ORDER,
  isCursorText,
  type ListPosition,
  readSortOrder,
  type SortOrder,
  type SortOrders,
} from './order.ts';
import { isId } from './sql.ts';

/** Counting stops here where no count is stored. */
export const MOST_COUNTED_ROWS = 100_000;
export const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 1000;

const PLANNED = [10, 100, MAX_PAGE_SIZE];
/** The size that a page's statement is planned for: sorting all rows can pay for 1,000 rows, but not for one. */
export const plannedPageSize = (limit: number): number => PLANNED.find((size) => limit <= size) ?? MAX_PAGE_SIZE;

export const pageSizeSchema = z
  .int()
  .min(1, 'must be at least 1')
  .max(MAX_PAGE_SIZE, `must be at most ${MAX_PAGE_SIZE}`);

const pageInput = z.object({
  first: pageSizeSchema.nullish(),
  after: z.string().nullish(),
  last: pageSizeSchema.nullish(),
  before: z.string().nullish(),
  orderBy: z.unknown().optional(),
});

export type ListInput<Filter = never> = { page: PageArguments; filter?: Filter | null | undefined };

export interface PageArguments {
  limit: number;
  order: SortOrder;
  after: ListPosition | null;
  before: ListPosition | null;
  /** From the end of the list. */
  backward: boolean;
}

/** Reads connection arguments; throws ValidationFailed for sizes, orders and cursors that the list does not have. */
export function readPageArguments(input: unknown, orders?: SortOrders): PageArguments {
  const { first, after, last, before, orderBy } = readInput(pageInput, input);
  const order = orders && orderBy != null ? readSortOrder(orderBy, orders) : CREATION_ORDER;
  if (first != null && last != null) {
    const message = 'must not be given together with first: ask for one end of the list';
    throw new ValidationFailed([{ path: 'last', code: 'INVALID', message }]);
  }
  return {
    limit: first ?? last ?? DEFAULT_PAGE_SIZE,
    order,
    after: after == null ? null : readCursor(after, order, 'after'),
    before: before == null ? null : readCursor(before, order, 'before'),
    backward: last != null,
  };
}

/** The values of a page's bounds by their names in statements. */
export const pageBoundValues = ({ after, before }: PageArguments) => ({
  after: after?.id,
  after_text: after?.text,
  before: before?.id,
  before_text: before?.text,
});

const ID_BYTES = 16;

/** A cursor marks the position of a row; it stays valid when rows around it are added, changed or deleted. */
export function cursorOf({ id, text }: ListPosition, order: SortOrder): string {
  if (order.name === CREATION_ORDER.name) return Buffer.from(parse(id)).toString('base64url');
  const sorted = text === null ? order.name : `${order.name}=${text}`;
  return Buffer.concat([parse(id), Buffer.from(sorted)]).toString('base64url');
}

function readCursor(cursor: string, order: SortOrder, path: string): ListPosition {
  const bytes = Buffer.from(cursor, 'base64url');
  const hex = bytes.subarray(0, ID_BYTES).toString('hex');
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const sorted = bytes.subarray(ID_BYTES).toString();
  const text = sorted.startsWith(`${order.name}=`) ? sorted.slice(order.name.length + 1) : null;
  const isText = order.by ? isCursorText(order.by, text) : text === null;
  // A cursor that this list would write differently is malformed, or belongs to another order.
  if (isId(id) && isText && cursorOf({ id, text }, order) === cursor) return { id, text };
  const message = 'is not a cursor of this list in this order; begin with the first page';
  throw new ValidationFailed([{ path, code: 'INVALID_CURSOR', message }]);
}
