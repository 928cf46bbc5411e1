import { sql } from 'kysely';
import { authorize, type Context, renewed } from '../context.ts';
import type { Event, EventFilter } from '../events/event.ts';
import { eventObject, matching, positionOf, visibleTo } from '../events/events.ts';
import { endOfLog, readEndOfLog } from '../events/log.ts';
import { ownerOfFleet } from '../fleets/fleets.ts';
import { Signal } from '../signal.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';

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
  const wanted = matching(input.filter);
  const visible = visibleTo(ctx);
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
        const rows = await execute<{ end: string; position: string | null; json: Event }>(
          onPrimary(renewed(ctx)),
          sql`select log."end"::text, page.position::text, page.json
              from (select ${endOfLog(company)} as "end") log left join lateral (
                select e.position, ${eventObject} as json from event e
                where e.position > ${position}::bigint ${visible} ${wanted} order by e.position limit ${READ_AT_ONCE}
              ) page on true order by page.position`,
        );
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
