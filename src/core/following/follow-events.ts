import { sql } from 'kysely';
import { authorize, type Context, contextOfSharedRead } from '../context.ts';
import { read } from '../database.ts';
import { knownEventType } from '../events/event-data.ts';
import { endOfLogExpression, readEndOfLog } from '../events/event-log.ts';
import { type Event, type EventFilter, eventResource, positionOfEvent } from '../events/events.ts';
import { requireFleet } from '../fleets/fleets.ts';
import { hidesRows, rowSelectionOf, whereSql } from '../sql/list-rows.ts';
import { type GivenConditions, readFilterConditions } from '../sql/resource.ts';
import { jsonObjectSql } from '../sql/selection.ts';
import { db, isId, numberParameters } from '../sql/sql.ts';
import { type PassedEvent, PassedEvents } from './passed-events.ts';
import { SharedReads } from './shared-reads.ts';

/** Few large events: each slow follower may hold a page of its own. */
const READ_AT_ONCE = 100;
const BYTES_AT_ONCE = 16 * 1024;

/**
 * Events after a position of a company's log; `end` is the next position, `more`: read again at once. null: the event at that
 * position is another one now.
 */
type LogPage = {
  events: readonly { position: string; event: Event }[];
  end: string;
  last: PassedEvent | null;
  more: boolean;
} | null;

/** Makes a function that reads events after a position, by a filter. */
function nextEvents({ names, values: given }: GivenConditions, hidden: boolean) {
  const where = whereSql(rowSelectionOf(eventResource, { names, hidden }));
  const end = endOfLogExpression(sql.raw('$company')).compile(db).sql;
  // The size of the ids as they are stored, a quarter of them or all: PostgreSQL tells it without reading them.
  const before = `sum(pg_column_size(e.vehicle_ids)) over (order by e.position rows between unbounded preceding and 1 preceding)`;
  // A passed event that is kept no longer, before the end of the log, is no other one.
  const statement = numberParameters(
    `select log."end"::text, log.last::text, log."isSame"::text, page.position::text, page.json
     from (
       select l."end", (select e.id from event e where e.company = $company and e.position = l."end") as last,
         $last::uuid is null or coalesce(
           (select e.id = $last::uuid from event e where e.company = $company and e.position = $position::bigint),
           l."end" >= $position::bigint) as "isSame"
       from (select ${end} as "end") l
     ) log left join lateral (
       select e.position, case when coalesce(${before}, 0) < ${BYTES_AT_ONCE} then ${jsonObjectSql(eventResource.members)} end as json
       from (select * from event e where log."isSame" and e.position > $position::bigint and ${where}
         order by e.position limit ${READ_AT_ONCE}) e
     ) page on true order by page.position`,
  );
  return async (ctx: Context, company: string, after: string, passed: PassedEvent | undefined): Promise<LogPage> => {
    const values = statement.values({ ...given, company, position: after, last: passed?.id ?? null });
    const rows = await read(ctx, statement.text, values);
    const [atEnd = after, last = null, isSame] = rows[0] ?? [];
    if (isSame === 'false') return null;
    const found = rows.filter(([, , , position]) => position !== null);
    const events = found.flatMap(([, , , position, json]) =>
      position && json ? [{ position, event: ctx.services.followers.share<Event>(JSON.parse(json)) }] : [],
    );
    const more = found.length === READ_AT_ONCE || events.length < found.length;
    // Events that the filter left out need not be read again.
    const ofEnd = { end: atEnd ?? after, last: last && atEnd ? { position: atEnd, id: last } : null };
    return { events, more, ...(more ? { end: events.at(-1)?.position ?? after, last: null } : ofEnd) };
  };
}

const nextOfAll = nextEvents({ names: [], values: {} }, false);

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

  const passed = new PassedEvents(position);
  if (input.after != null && isId(input.after)) passed.add({ position, id: input.after });

  // Listening begins before the first look, so that an event in between is not missed.
  const open = () =>
    new SharedReads<LogPage>((forget) => ({ event: (of) => of === company && forget() }), { polls: true });
  const { source, follower, leave } = ctx.services.followers.join(['events', company], open, signal);
  // The past is long, and indexes find events in it; at the end of the log all followers read the same.
  const past = nextEvents({ names, values }, hidden);
  const kind = JSON.stringify([values, hidden]);
  const isJudged = names.every((name) => name in fits);
  let atEnd = isJudged && input.after == null;

  async function* events(): AsyncGenerator<Event> {
    try {
      while (!signal.aborted) {
        const { last } = passed;
        const next = atEnd ? nextOfAll : past;
        const key = `${position} ${last?.id}`;
        const page = await source.once(atEnd ? key : `${key} ${kind}`, () =>
          next(contextOfSharedRead(ctx), company, position, last),
        );
        if (!page) {
          position = await passed.goBack(contextOfSharedRead(ctx), company);
          continue;
        }
        for (const { position: place, event } of page.events) {
          await ctx.services.fairness.news.next(company);
          if (!atEnd || isWanted(event, values, hidden)) {
            yield event;
            position = place;
          }
          passed.add({ position: place, id: event.id });
        }
        position = page.end;
        if (page.last) passed.add(page.last);
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

const happenedFrom = ({ timestamp }: Event, wanted: Date) => Date.parse(timestamp) >= wanted.getTime();
const happenedTo = ({ timestamp }: Event, wanted: Date) => Date.parse(timestamp) < wanted.getTime();

/** Conditions of `eventResource` on an event in memory; null fits nothing. `historyId`, which events lack, needs SQL. */
const fits: Record<string, (event: Event, wanted: never) => boolean> = {
  types: ({ type }, wanted: readonly string[]) => wanted.includes(knownEventType(type)),
  fleetId: ({ fleetId }, wanted: string) => fleetId === wanted.toLowerCase(),
  contractId: ({ contractId }, wanted: string) => contractId === wanted.toLowerCase(),
  vehicleId: ({ vehicles }, wanted: string) => vehicles.some(({ id }) => id === wanted.toLowerCase()),
  vin: ({ vehicles }, wanted: string) => vehicles.some(({ vin }) => vin === wanted),
  from: happenedFrom,
  to: happenedTo,
  since: happenedFrom,
  until: happenedTo,
};

const isWanted = (event: Event, wanted: Readonly<Record<string, unknown>>, hidden: boolean): boolean =>
  !(hidden && event.type.startsWith('contract.')) &&
  Object.entries(wanted).every(([name, value]) => value !== null && fits[name]?.(event, value as never));
