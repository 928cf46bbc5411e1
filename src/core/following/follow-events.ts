import { authorize, type Context, renewed } from '../context.ts';
import { type Event, type EventFilter, eventFilter } from '../events/event.ts';
import { eventRows, positionOf } from '../events/events.ts';
import { readEndOfLog } from '../events/log.ts';
import { ownerOfFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { isHidden } from '../sql/list-statement.ts';
import { givenOf } from '../sql/resource.ts';
import { isId } from '../sql/sql.ts';
import { CompanyLog, nextEvents } from './company-log.ts';

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
  const { names, values } = givenOf(eventRows.conditions, readInput(eventFilter, input.filter ?? {}));
  const hidden = isHidden(ctx, eventRows);
  const { fleetId } = input.filter ?? {};
  if (fleetId != null && input.after == null) await ownerOfFleet(ctx, company, isId(fleetId) ? fleetId : '');
  let position = input.after == null ? await readEndOfLog(ctx, company) : await positionOf(ctx, input.after);

  // Listening begins before the first look, so that an event in between is not missed.
  const open = () => new CompanyLog(company);
  const { source: log, follower, leave } = ctx.services.followers.join(['events', company], open, signal);
  // What is past may be long, and indexes know where what is wanted stands in it; at the end of the log all read the same.
  const past = nextEvents(company, values, names, hidden);
  let atEnd = input.after == null;

  async function* events(): AsyncGenerator<Event> {
    try {
      while (!signal.aborted) {
        const page = atEnd ? await log.after(renewed(ctx), position) : await past(renewed(ctx), position);
        for (const { position: place, event } of page.events) {
          if (atEnd && !isWanted(event, values, hidden)) continue;
          yield event;
          position = place;
        }
        position = page.end;
        if (page.more) continue;
        atEnd = true;
        await follower.wait({ signal });
      }
    } finally {
      leave();
    }
  }
  return events();
}

/** The conditions of `eventRows`, on an event that was read: null fits nothing. */
const fits: Record<string, (event: Event, wanted: never) => boolean> = {
  types: ({ type }, wanted: readonly string[]) => wanted.includes(type),
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
