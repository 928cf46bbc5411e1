import { parse } from 'uuid';
import { z } from 'zod';
import { ValidationFailed } from '../errors.ts';
import { readInput } from '../input.ts';
import { PAGE_DEFAULT, PAGE_MAX } from './page-size.ts';
import { isId } from './sql.ts';

/** How many items a page may be asked to hold. */
export const pageSize = z.number().int().min(1, 'is at least 1').max(PAGE_MAX, `is at most ${PAGE_MAX}`);

/** Arguments of a Relay connection. */
export const pageInput = z.object({
  first: pageSize.nullish(),
  after: z.string().nullish(),
  last: pageSize.nullish(),
  before: z.string().nullish(),
});

/** A part of a list in the order of its ids, which is the order of creation. */
export interface Page {
  limit: number;
  after: string | null;
  before: string | null;
  /** Counts from the end. */
  backward: boolean;
}

/** Items of a page, oldest first, and whether it would have had more without its limit. */
export interface Slice<T> {
  items: T[];
  more: boolean;
}

/** Reads connection arguments; throws ValidationFailed for sizes out of range and cursors that are none of ours. */
export function readPage(input: unknown): Page {
  const { first, after, last, before } = readInput(pageInput, input);
  if (first != null && last != null) {
    throw new ValidationFailed([
      { path: 'last', code: 'INVALID', message: 'goes without first: ask for one end of the list' },
    ]);
  }
  return {
    limit: first ?? last ?? PAGE_DEFAULT,
    after: after == null ? null : idOfCursor(after, 'after'),
    before: before == null ? null : idOfCursor(before, 'before'),
    backward: last != null,
  };
}

/** The whole list's first page of `limit` items. */
export const firstPage = (limit: number): Page => ({ limit, after: null, before: null, backward: false });

/** A cursor says where in the list a row stands; it stays right when rows are added or deleted around it. */
export const cursorOf = (id: string): string => Buffer.from(parse(id)).toString('base64url');

function idOfCursor(cursor: string, path: string): string {
  const bytes = Buffer.from(cursor, 'base64url');
  const id = bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  if (!isId(id) || bytes.toString('base64url') !== cursor)
    throw new ValidationFailed([{ path, code: 'INVALID_CURSOR', message: 'is not a cursor of this list' }]);
  return id;
}

/** Makes a slice of the rows of a page, of which one more was read. */
export function sliceOf<T>(rows: T[], page: Page): Slice<T> {
  const more = rows.length > page.limit;
  const items = more ? rows.slice(0, page.limit) : rows;
  if (page.backward) items.reverse();
  return { items, more };
}
