import { ListSql } from './json-list.ts';
import type { Given, ListPart, Members, Part } from './json-parts.ts';
import {
  conditionsSql,
  fromClause,
  type ListField,
  type OneField,
  prefixOf,
  type Resource,
  type RowsField,
} from './resource.ts';
import { TextSql } from './text-sql.ts';

export type { Members, Part } from './json-parts.ts';

/** A column that says whether there is (still) a place for a cursor, the argument at `path` of a field. */
export interface Check {
  read: number;
  path: 'after' | 'before';
  sql: string;
}

/**
 * Writes parts as SQL for their JSON. Values are named: `$company`, `$now`, `$a<n>_<name>` for what
 * the field of `given[n]` was given, and `$n<n>` for one of `names`. Where `given[n]` is null the field was refused, and nothing
 * is read for it.
 */
export class Writer {
  readonly checks: Check[] = [];
  /** Names that callers chose. They are values, too, so that they make no other statement. */
  readonly names: string[] = [];
  readonly #given: readonly (Given | null)[];
  readonly #hidden: (of: Resource) => boolean;
  readonly #manufacturers: (members: Members) => string;
  readonly #ofRows: boolean;

  /**
   * `manufacturers`: SQL for the JSON texts of all with these members, by slug. `ofRows`: it hangs on rows that were read before,
   * and may be there no more.
   */
  constructor(
    given: readonly (Given | null)[],
    {
      isHidden,
      manufacturers,
      ofRows,
    }: {
      isHidden: (of: Resource) => boolean;
      manufacturers: (members: Members) => string;
      ofRows: boolean;
    },
  ) {
    this.#given = given;
    this.#hidden = isHidden;
    this.#manufacturers = manufacturers;
    this.#ofRows = ofRows;
  }

  /** An expression for a part that stands by itself. */
  part(part: Part, list?: ListSql): string {
    switch (part.kind) {
      case 'one':
        return this.#one(part);
      case 'list':
        return this.#list(part);
      case 'rows':
        return this.#rows(part.field, part.members);
      case 'manufacturer':
        return `coalesce(${this.#manufacturers(part.members)} ->> ${part.field.slug}, 'null')`;
      case 'object':
        return part.unless
          ? `case when ${part.unless} then 'null' else ${this.object(part.members)} end`
          : this.object(part.members);
      case 'union': {
        const cases = part.types.map(({ when, members }) => `when ${when} then ${this.object(members)}`);
        return `case ${cases.join(' ')} end`;
      }
      case 'items':
        return list?.item(this.object(part.members, list)) ?? '';
      case 'fact':
        return list?.fact(part.fact) ?? '';
      case 'count':
        return list?.count(part.of) ?? '';
      default:
        throw new Error(`a ${part.kind} is no expression`);
    }
  }

  /** An expression for an object of the row that is there. */
  object(members: Members, list?: ListSql): string {
    const text = new TextSql();
    this.#members(text, members, list);
    return text.sql();
  }

  #members(text: TextSql, members: Members, list?: ListSql): void {
    for (const [at, [name, part, chosen]] of members.entries()) {
      text.text(at === 0 ? '{' : ',');
      if (chosen) text.value({ sql: this.#name(name), bare: true });
      else text.text(`"${name}"`);
      text.text(':');
      if (part.kind === 'text') text.text(part.text);
      else if (part.kind === 'value') text.value(part.value);
      else if (part.kind === 'cursor') text.value({ sql: list?.rowCursor() ?? '', bare: true });
      else if (part.kind === 'object' && !part.unless) this.#members(text, part.members, list);
      else if (part.kind === 'items') {
        text.text('[');
        text.value({ sql: `coalesce(${this.part(part, list)}, '')` });
        text.text(']');
      } else if (part.kind === 'one') text.value({ sql: `coalesce(${this.part(part, list)}, 'null')` });
      else text.value({ sql: this.part(part, list) });
    }
    text.text(members.length === 0 ? '{}' : '}');
  }

  #name(name: string): string {
    if (!this.names.includes(name)) this.names.push(name);
    return `$n${this.names.indexOf(name)}::text`;
  }

  #rows({ from, order }: RowsField, members: Members): string {
    return `(select '[' || coalesce(string_agg(${this.object(members)}, ',' order by ${order}), '') || ']' from ${from})`;
  }

  #one({ field, read, members }: Extract<Part, { kind: 'one' }>): string {
    const of = field.of();
    const given = this.#given[read];
    if (!given) return `'null'`;
    const object = this.object(members);
    const prefix = prefixOf(of).map(([column, value]) => `${column} = ${value}`);
    const conditions = conditionsSql(of.conditions, given.names, (name) => `$a${read}_${name}`);
    const where = [...prefix, ...this.#where(field), ...conditions].join(' and ');
    return `(select ${object} from ${fromClause(of, object + where)} where ${where})`;
  }

  /** The conditions of a field's rows beside prefix and filter; `ofAll` leaves out the `where` of the resource. */
  #where(field: OneField | ListField, { ofAll = false } = {}): string[] {
    const { on } = field;
    const of = field.of();
    const hidden = of.lacking && this.#hidden(of) ? [of.lacking.where] : [];
    const holds = ofAll || !of.where || ('within' in field && field.within && !this.#ofRows);
    return [...(holds || !of.where ? [] : [of.where]), ...(on ? [on] : []), ...hidden];
  }

  #list(part: ListPart): string {
    const given = this.#given[part.read];
    if (!given?.page) return `'null'`;
    const { field } = part;
    const where = this.#where(field);
    const wherever = this.#where(field, { ofAll: true });
    const list = new ListSql(part, given as Required<Given>, { where, wherever });
    const object = this.object(part.members, list);
    for (const path of ['after', 'before'] as const) {
      if (list.sort.lost && given.page[path] !== null)
        this.checks.push({
          read: part.read,
          path,
          sql: list.isThere(path),
        });
    }
    return list.sql(object);
  }
}
