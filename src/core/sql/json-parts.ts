import type { Page } from './page.ts';
import type { ListField, LookupField, OneField, RowsField, ValueField } from './resource.ts';
import type { ValueSql } from './selection.ts';

/** The parts of an object by name, in the order of the answer; `chosen`: the caller has chosen the name. */
export type Members = readonly (readonly [name: string, part: Part, chosen?: boolean])[];

/** Whether rows lie beyond a page, and the cursors of its ends. */
export type PageFact = 'hasNext' | 'hasPrevious' | 'first' | 'last';

/** A piece of an answer. `read` is the index of its arguments. */
export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'value'; value: ValueSql; make?: ValueField['make'] }
  /** An object of the current row; null where `unless` holds. */
  | { kind: 'object'; members: Members; unless?: string | undefined }
  /** An object of the current row, of the first type that fits. */
  | { kind: 'union'; types: readonly { name: string; when: string; members: Members }[] }
  | { kind: 'one'; field: OneField; read: number; members: Members }
  | { kind: 'rows'; field: RowsField; members: Members }
  | { kind: 'manufacturer'; field: LookupField; members: Members }
  | { kind: 'member'; name: string }
  | { kind: 'list'; field: ListField; read: number; members: Members }
  /** In a list: its items, a fact of its page, the cursor of a row, its count and whether that is exact. */
  | { kind: 'items'; members: Members }
  | { kind: 'fact'; fact: PageFact }
  | { kind: 'cursor' }
  | { kind: 'count'; of?: 'isExact' };
export type ListPart = Extract<Part, { kind: 'list' }>;

/** The arguments of all fields of an answer, or what is wrong with them. */
export type ArgumentList = readonly (FieldArguments | Error)[];

/** The arguments of a field: the names of its conditions, its page, and the values of both. */
export interface FieldArguments {
  names: readonly string[];
  page?: Page;
  values: Readonly<Record<string, unknown>>;
  /** A key of everything that changes the statement's text. */
  shape: string;
}
