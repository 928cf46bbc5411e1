import type { PageArguments } from './page.ts';
import type { ListField, ManufacturerField, NestedRowsField, SingleRowField, ValueField } from './resource.ts';
import type { ValueSql } from './selection.ts';

/** The parts of an object by name, in the order of the answer; `chosen`: the caller has chosen the name. */
export type AnswerMembers = readonly (readonly [name: string, part: AnswerPart, chosen?: boolean])[];

/** Whether rows lie beyond a page, and the cursors of its ends. */
export type PageFact = 'hasNext' | 'hasPrevious' | 'first' | 'last';

/** A piece of an answer. `read` is the index of its arguments. */
export type AnswerPart =
  | { kind: 'text'; text: string }
  | { kind: 'value'; value: ValueSql; make?: ValueField['make'] }
  /** An object of the current row; null where `unless` holds. */
  | { kind: 'object'; members: AnswerMembers; unless?: string | undefined }
  /** An object of the current row, of the first type that fits. */
  | { kind: 'union'; types: readonly { name: string; when: string; members: AnswerMembers }[] }
  | { kind: 'one'; field: SingleRowField; read: number; members: AnswerMembers }
  | { kind: 'rows'; field: NestedRowsField; members: AnswerMembers }
  | { kind: 'manufacturer'; field: ManufacturerField; members: AnswerMembers }
  | { kind: 'member'; name: string }
  | { kind: 'list'; field: ListField; read: number; members: AnswerMembers }
  /** In a list: its items, a fact of its page, the cursor of a row, its count and whether that is exact. */
  | { kind: 'items'; members: AnswerMembers }
  | { kind: 'fact'; fact: PageFact }
  | { kind: 'cursor' }
  | { kind: 'count'; of?: 'isExact' };
export type ListAnswerPart = Extract<AnswerPart, { kind: 'list' }>;

/** The arguments of all fields of an answer, or what is wrong with them. */
export type ArgumentList = readonly (FieldArguments | Error)[];

/** The arguments of a field: the names of its conditions, its page, and the values of both. */
export interface FieldArguments {
  names: readonly string[];
  page?: PageArguments;
  values: Readonly<Record<string, unknown>>;
  /** A key of everything that changes the statement's text. */
  shape: string;
}
