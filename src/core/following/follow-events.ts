import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { authorize, type Context, contextOfSharedRead, renewContext } from '../context.ts';
import { read } from '../database.ts';
import { knownEventType } from '../events/event-data.ts';
import { endOfLogExpression, readEndOfLog } from '../events/event-log.ts';
import { type Event, type EventFilter, eventResource, positionOfEvent } from '../events/events.ts';
import { requireFleet } from '../fleets/fleets.ts';
import type { FollowedSource } from '../followers.ts';
import { hidesRows, rowSelectionOf, whereSql } from '../sql/list-rows.ts';
import { type GivenConditions, readFilterConditions } from '../sql/resource.ts';
import { jsonObjectSql } from '../sql/selection.ts';
import { db, getOrCreate, isId, numberParameters } from '../sql/sql.ts';

const READ_AT_ONCE = 100;

/** Events after a position of a company's log; `end` is the next position, `more`: read again at once. */
interface LogPage {
  events: readonly { position: string; event: Event }[];
  end: string;
  more: boolean;
}

/** Makes a function that reads events after a position, by a filter. */
function nextEvents(company: string, { names, values: given }: GivenConditions, hidden: boolean) {
  const where = whereSql(rowSelectionOf(eventResource, { names, hidden }));
  const end = endOfLogExpression(sql.raw('$company')).compile(db).sql;
  const statement = numberParameters(
    `select log."end"::text, page.position::text, page.json from (select ${end} as "end") log left join lateral (
       select e.position, ${jsonObjectSql(eventResource.members)} as json from event e
       where e.position > $position::bigint and ${where} order by e.position limit ${READ_AT_ONCE}
     ) page on true order by page.position`,
  );
  return async (ctx: Context, after: string): Promise<LogPage> => {
    const values = statement.values({ ...given, company, position: after });
    const rows = await read(ctx, statement.text, values, { newest: true });
    const events = rows.flatMap(([, position, json]) =>
      position && json ? [{ position, event: JSON.parse(json) }] : [],
    );
    const more = events.length === READ_AT_ONCE;
    // Events that the filter left out need not be read again.
    return { events, end: (more ? events.at(-1)?.position : rows[0]?.[0]) ?? after, more };
  };
}

/** Events and vehicles that are kept for slow followers. */
const KEPT = 20_000;
const sizeOf = ({ events }: LogPage): number => events.reduce((sum, { event }) => sum + 1 + event.vehicles.length, 0);

/** The end of a company's log, read once for all of its followers. */
class CompanyLog implements FollowedSource {
  readonly listeners;
  readonly #read: (ctx: Context, after: string) => Promise<LogPage>;
  /** The pages that were read last, by the position before them, and how much news there had been. */
  readonly #pages = new LRUCache<string, LogPage & { news: number }>({ maxSize: KEPT, sizeCalculation: sizeOf });
  #news = 0;
  /** Reads since the last news that are under way or found nothing, by the position before them. */
  readonly #latest = new Map<string, Promise<LogPage>>();

  constructor(company: string) {
    this.#read = nextEvents(company, { names: [], values: {} }, false);
    const grown = () => {
      this.#news += 1;
      this.#latest.clear();
      return true;
    };
    this.listeners = { event: (of: string) => of === company && grown(), missed: grown };
  }

  refresh(): boolean {
    this.#latest.clear();
    this.#pages.clear();
    return true;
  }

  /** The events after a position; never skips one. */
  async after(ctx: Context, position: string): Promise<LogPage> {
    return this.#kept(position) ?? getOrCreate(this.#latest, position, () => this.#readNew(ctx, position));
  }

  #kept(position: string): LogPage | null {
    const at = BigInt(position);
    for (const [after, page] of this.#pages) {
      if (at < BigInt(after) || at >= BigInt(page.end)) continue;
      const events = page.events.filter((one) => BigInt(one.position) > at);
      // The follower was woken once for this page and all news since.
      return { ...page, events, more: page.more || page.news < this.#news };
    }
    return null;
  }

  async #readNew(ctx: Context, position: string): Promise<LogPage> {
    let isEmpty = false;
    const news = this.#news;
    try {
      const page = await this.#read(ctx, position);
      isEmpty = page.events.length === 0;
      if (!isEmpty) this.#pages.set(position, { ...page, news });
      return page;
    } finally {
      if (!isEmpty) this.#latest.delete(position);
    }
  }
}

type FollowInput = { after?: string | null | undefined; filter?: EventFilter | null | undefined };

/**
 * Each event of the caller's company in the order of the log until the signal aborts: after the event `after` (an id or
 * cursor), or from now. News only wake the reader; events come from the log, so none is skipped when a connection is
 * lost. Throws ValidationFailed for an event that is no longer kept, and FleetNotFound.
 */
export async function followEvents(ctx: Context, input: FollowInput, signal: AbortSignal) {
  const company = authorize(ctx, 'fleets:read');
  const { names, values } = readFilterConditions(eventResource, input.filter);
  const hidden = hidesRows(ctx, eventResource);
  const { fleetId } = input.filter ?? {};
  if (fleetId != null && input.after == null) await requireFleet(ctx, company, isId(fleetId) ? fleetId : '');
  let position = input.after == null ? await readEndOfLog(ctx, company) : await positionOfEvent(ctx, input.after);

  // Listening begins before the first look, so that an event in between is not missed.
  const open = () => new CompanyLog(company);
  const { source: log, follower, leave } = ctx.services.followers.join(['events', company], open, signal);
  // The past is long, and indexes find events in it; at the end of the log all followers read the same.
  const past = nextEvents(company, { names, values }, hidden);
  const isJudged = names.every((name) => name in fits);
  let atEnd = isJudged && input.after == null;

  async function* events(): AsyncGenerator<Event> {
    try {
      while (!signal.aborted) {
        const page = atEnd
          ? await log.after(contextOfSharedRead(ctx), position)
          : await past(renewContext(ctx), position);
        for (const { position: place, event } of page.events) {
          if (atEnd && !isWanted(event, values, hidden)) continue;
          yield event;
          position = place;
        }
        position = page.end;
        if (page.more) continue;
        atEnd = isJudged;
        await follower.wait({ signal });
      }
    } finally {
      leave();
    }
  }
  return events();
}

/** Conditions of `eventResource` on an event in memory; null fits nothing. `historyId`, which events lack, needs SQL. */
const fits: Record<string, (event: Event, wanted: never) => boolean> = {
  types: ({ type }, wanted: readonly string[]) => wanted.includes(knownEventType(type)),
  fleetId: ({ fleetId }, wanted: string) => fleetId === wanted.toLowerCase(),
  contractId: ({ contractId }, wanted: string) => contractId === wanted.toLowerCase(),
  vehicleId: ({ vehicles }, wanted: string) => vehicles.some(({ id }) => id === wanted.toLowerCase()),
  vin: ({ vehicles }, wanted: string) => vehicles.some(({ vin }) => vin === wanted),
  since: ({ timestamp }, wanted: Date) => Date.parse(timestamp) >= wanted.getTime(),
  until: ({ timestamp }, wanted: Date) => Date.parse(timestamp) < wanted.getTime(),
};

const isWanted = (event: Event, wanted: Readonly<Record<string, unknown>>, hidden: boolean): boolean =>
  !(hidden && event.type.startsWith('contract.')) &&
  Object.entries(wanted).every(([name, value]) => value !== null && fits[name]?.(event, value as never));
