import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Event } from '../events/event.ts';
import { eventRows } from '../events/events.ts';
import { endOfLog } from '../events/log.ts';
import type { Source } from '../followers.ts';
import { whereSql } from '../sql/list-statement.ts';
import { numbered } from '../sql/prepare.ts';
import { jsonText } from '../sql/selection.ts';
import { onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';

const READ_AT_ONCE = 100;

/** Events after a position of a company's log; reading goes on from `end`, at once if there may be `more`. */
export interface LogPage {
  events: readonly { position: string; event: Event }[];
  end: string;
  more: boolean;
}

/** What reads on after a position: the events of a company that meet conditions on values of these names. */
export function nextEvents(
  company: string,
  given: Readonly<Record<string, unknown>>,
  names: readonly string[],
  hidden: boolean,
) {
  const where = whereSql(eventRows, { company }, names, hidden);
  const end = endOfLog(sql.raw('$company')).compile(db).sql;
  const statement = numbered(
    `select log."end"::text, page.position::text, page.json from (select ${end} as "end") log left join lateral (
       select e.position, ${jsonText(eventRows.members)}::json as json from event e
       where e.position > $position::bigint and ${where} order by e.position limit ${READ_AT_ONCE}
     ) page on true order by page.position`,
  );
  return async (ctx: Context, after: string): Promise<LogPage> => {
    const values: Record<string, unknown> = { ...given, company, position: after };
    const rows = (await onPrimary(ctx)(
      statement.text,
      statement.names.map((name) => values[name]),
    )) as { end: string; position: string | null; json: Event }[];
    const events = rows.flatMap(({ position, json }) => (position === null ? [] : [{ position, event: json }]));
    const more = events.length === READ_AT_ONCE;
    // What was not wanted need not be looked through again.
    return { events, end: (more ? events.at(-1)?.position : rows[0]?.end) ?? after, more };
  };
}

/** Events and their vehicles that are kept for followers that are a little behind. */
const KEPT = 20_000;
const sizeOf = ({ events }: LogPage): number => events.reduce((sum, { event }) => sum + 1 + event.vehicles.length, 0);

/** The end of a company's log, read once for all of its followers. */
export class CompanyLog implements Source {
  readonly listeners;
  readonly #read: (ctx: Context, after: string) => Promise<LogPage>;
  /** The pages that were read last, by what they come after. */
  readonly #pages = new Map<string, { page: LogPage; size: number }>();
  #size = 0;
  /** Reads since the last news, by what they come after, that are under way or have found nothing. */
  readonly #latest = new Map<string, Promise<LogPage>>();

  constructor(company: string) {
    this.#read = nextEvents(company, {}, [], false);
    const grown = () => {
      this.#latest.clear();
      return true;
    };
    this.listeners = { event: (of: string) => of === company && grown(), missed: grown };
  }

  refresh(): boolean {
    this.#latest.clear();
    this.#pages.clear();
    this.#size = 0;
    return true;
  }

  /** What comes after a position; events that are there are never passed over. */
  after(ctx: Context, position: string): Promise<LogPage> {
    const known = this.#kept(position);
    if (known) return Promise.resolve(known);
    const reading = this.#latest.get(position) ?? this.#readNew(ctx, position);
    this.#latest.set(position, reading);
    return reading;
  }

  /** The rest of the page in which the position lies. */
  #kept(position: string): LogPage | null {
    const at = BigInt(position);
    for (const [after, { page }] of this.#pages) {
      if (at < BigInt(after) || at >= BigInt(page.end)) continue;
      return { ...page, events: page.events.filter((one) => BigInt(one.position) > at) };
    }
    return null;
  }

  async #readNew(ctx: Context, position: string): Promise<LogPage> {
    try {
      const page = await this.#read(ctx, position);
      if (page.events.length > 0) {
        this.#latest.delete(position);
        this.#keep(position, page);
      }
      return page;
    } catch (error) {
      this.#latest.delete(position);
      throw error;
    }
  }

  #keep(after: string, page: LogPage): void {
    const size = sizeOf(page);
    if (size > KEPT) return;
    this.#size += size - (this.#pages.get(after)?.size ?? 0);
    this.#pages.set(after, { page, size });
    for (const [oldest, { size: freed }] of this.#pages) {
      if (this.#size <= KEPT) break;
      this.#pages.delete(oldest);
      this.#size -= freed;
    }
  }
}
