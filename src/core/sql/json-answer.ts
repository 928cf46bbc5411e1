import pg from 'pg';
import type { Context } from '../context.ts';
import { ListSqlWriter } from './json-list.ts';
import { hidesRows, listSelectionOf, rowSelectionOf, rowsSql } from './list-rows.ts';
import type { AnswerMembers, AnswerPart, FieldArguments, ListAnswerPart, Resource } from './resource.ts';
import { TextSqlWriter } from './selection.ts';

/** A column with whether the row of a cursor, the argument at `path` of a field, still exists. */
export type CursorCheck = { read: number; path: 'after' | 'before'; sql: string };

/**
 * Writes parts as SQL for their JSON. Values are named: `$company`, `$now`, `$a<n>_<name>` of the field `given[n]`, and
 * `$n<n>` of `names`. Nothing is read for a field whose `given[n]` is null.
 */
export class AnswerSqlWriter {
  readonly checks: CursorCheck[] = [];
  /** Names that callers chose: values of the statement, so that they are no part of its text. */
  readonly names: string[] = [];
  readonly #ctx: Context;
  readonly #given: readonly (FieldArguments | null)[];
  readonly #ofRows: boolean;

  /** `ofRows`: for rows that were read before, and may be deleted since. */
  constructor(ctx: Context, given: readonly (FieldArguments | null)[], { ofRows }: { ofRows: boolean }) {
    this.#ctx = ctx;
    this.#given = given;
    this.#ofRows = ofRows;
  }

  part(part: AnswerPart, list?: ListSqlWriter): string {
    switch (part.kind) {
      case 'one':
        return this.#one(part);
      case 'list':
        return this.#list(part);
      case 'rows': {
        const { from, order } = part.field;
        const objects = `string_agg(${this.object(part.members)}, ',' order by ${order})`;
        return `(select '[' || coalesce(${objects}, '') || ']' from ${from})`;
      }
      case 'manufacturer':
        return this.#manufacturer(part.field.slug ?? '', part.members);
      case 'object': {
        const object = this.object(part.members);
        return part.unless ? `case when ${part.unless} then 'null' else ${object} end` : object;
      }
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

  object(members: AnswerMembers, list?: ListSqlWriter): string {
    const text = new TextSqlWriter();
    this.#members(text, members, list);
    return text.sql();
  }

  #members(text: TextSqlWriter, members: AnswerMembers, list?: ListSqlWriter): void {
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

  #one({ field, read, members }: Extract<AnswerPart, { kind: 'one' }>): string {
    const given = this.#given[read];
    if (!given) return `'null'`;
    const rows = rowSelectionOf(field.of(), { ...this.#wanted(field.of(), given, read), on: field.on });
    return `(${rowsSql(rows, this.object(members))})`;
  }

  #wanted(of: Resource, { names }: FieldArguments, read: number) {
    return { names, param: (name: string) => `$a${read}_${name}`, hidden: hidesRows(this.#ctx, of) };
  }

  #list(part: ListAnswerPart): string {
    const { field, read } = part;
    const given = this.#given[read];
    if (!given?.page) return `'null'`;
    const { page } = given;
    const of = field.of();
    const wanted = { ...field, ...this.#wanted(of, given, read), within: field.within && !this.#ofRows };
    const list = new ListSqlWriter(listSelectionOf(of, page.order, wanted), page, field, given);
    const object = this.object(part.members, list);
    for (const path of ['after', 'before'] as const) {
      if (list.list.sort.lost && page[path] !== null) this.checks.push({ read, path, sql: list.isThere(path) });
    }
    return list.sql(object);
  }

  /** A manufacturer's JSON: a constant, since a parameter would be sent and parsed each time. `$` means a value. */
  #manufacturer(slug: string, members: AnswerMembers): string {
    const all = this.#ctx.services.manufacturers.list();
    const texts = Object.fromEntries(all.map((one) => [one.id, objectJson(members, one)]));
    return `coalesce(${pg.escapeLiteral(JSON.stringify(texts).replaceAll('$', '\\u0024'))}::jsonb ->> ${slug}, 'null')`;
  }
}

/** An object that is not in the database, as JSON. */
export const objectJson = (members: AnswerMembers, of: object): string =>
  `{${members.map(([name, part]) => `"${name}":${part.kind === 'text' ? part.text : JSON.stringify(part.kind === 'member' ? of[part.name as never] : null)}`)}}`;
