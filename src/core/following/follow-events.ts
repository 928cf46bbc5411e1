import { sql } from 'kysely';
import { authorize, type Context, renewed } from '../context.ts';
import { type Event, type EventFilter, eventFilter } from '../events/event.ts';
import { eventRows, positionOf } from '../events/events.ts';
import { endOfLog, readEndOfLog } from '../events/log.ts';
import { ownerOfFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { Signal } from '../signal.ts';
import { isHidden, whereSql } from '../sql/list-statement.ts';
import { numbered } from '../sql/named.ts';
import { givenOf } from '../sql/resource.ts';
import { jsonText } from '../sql/selection.ts';
import { onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';

const READ_AT_ONCE = 100;
/** The log is looked at this often although nobody rang: news may get lost, the log does not. */
const LOOK_MS = 20_000;

/**
 * Each event of the caller's company in the order of the log until the signal aborts: from the one after `after` (an
 * id or cursor), or else from now. Nothing is passed over, whatever happens to connections: news only wake the reader,
 * what it gives comes from the log. Throws ValidationFailed for an event that is no longer kept, and FleetNotFound.
 */
export async function followEvents(
  ctx: Context,
  input: { after?: string | null | undefined; filter?: EventFilter | null | undefined },
  signal: AbortSignal,
): Promise<AsyncGenerator<Event>> {
  const company = authorize(ctx, 'fleets:read');
  const { text, valuesOf } = nextEvents(ctx, company, input.filter ?? {});
  const { fleetId } = input.filter ?? {};
  if (fleetId != null && input.after == null) await ownerOfFleet(ctx, company, isId(fleetId) ? fleetId : '');
  let position = input.after == null ? await readEndOfLog(ctx, company) : await positionOf(ctx, input.after);

  const grown = new Signal();
  // Listening begins before the first look, so that an event in between is not missed.
  const stop = ctx.services.changes.follow(
    { event: (of) => of === company && grown.ring(), missed: () => grown.ring() },
    signal,
  );

  async function* events(): AsyncGenerator<Event> {
    try {
      while (!signal.aborted) {
        const rows = (await onPrimary(renewed(ctx))(text, valuesOf(position))) as Found[];
        for (const { position: place, json } of rows) {
          if (place === null) break;
          yield json;
          position = place;
        }
        if (rows.length === READ_AT_ONCE) continue;
        // What was not wanted need not be looked through again.
        position = rows[0]?.end ?? position;
        await grown.wait({ ms: LOOK_MS, signal });
      }
    } finally {
      stop();
    }
  }
  return events();
}

interface Found {
  end: string;
  position: string | null;
  json: Event;
}

/** The statement that reads on after a position, and the log's end as it is then. */
function nextEvents(ctx: Context, company: string, filter: EventFilter) {
  const given = givenOf(eventRows.conditions, readInput(eventFilter, filter));
  const where = whereSql(eventRows, { company }, given.names, isHidden(ctx, eventRows));
  const end = endOfLog(sql.raw('$company')).compile(db).sql;
  const { text, names } = numbered(
    `select log."end"::text, page.position::text, page.json from (select ${end} as "end") log left join lateral (
       select e.position, ${jsonText(eventRows.members)}::json as json from event e
       where e.position > $position::bigint and ${where} order by e.position limit ${READ_AT_ONCE}
     ) page on true order by page.position`,
  );
  const values: Record<string, unknown> = { ...given.values, company };
  return { text, valuesOf: (position: string) => names.map((name) => ({ ...values, position })[name]) };
}
