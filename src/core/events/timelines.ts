import { type RawBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import { type Page, type Slice, sliceOf } from '../sql/page.ts';
import { execute, onPrimary } from '../sql/send.ts';
import type { Event, EventFilter } from './event.ts';
import { eventOf, matching, pageOfLog, visibleTo } from './events.ts';

/** Whose history a timeline is. */
export type EventSubject = 'fleet' | 'vehicle' | 'contract';
const about: Record<EventSubject, RawBuilder<unknown>> = {
  fleet: sql`e.fleet_id = subject.id`,
  vehicle: sql`e.vehicle_ids @> array[subject.id]`,
  contract: sql`e.contract_id = subject.id`,
};

/** A page of events about each of these fleets, vehicles or contracts, in one statement; `vehicles` as for listEvents. */
export async function timelines(
  ctx: Context,
  input: {
    subject: EventSubject;
    ids: readonly string[];
    page: Page;
    filter?: EventFilter | null | undefined;
    vehicles?: boolean;
  },
): Promise<Map<string, Slice<Event>>> {
  const visible = visibleTo(ctx);
  const { within, tail } = await pageOfLog(ctx, input.page);
  const rows = await execute<{ subject: string; json: Event }>(
    onPrimary(ctx),
    sql`select subject.id as subject, page.json from unnest(${input.ids}::uuid[]) with ordinality subject(id, place)
        cross join lateral (
          select e.position, ${eventOf(input)} as json from event e
          where e.position is not null and ${about[input.subject]} ${visible} ${matching(input.filter)} ${within} ${tail}
        ) page
        order by subject.place, ${input.page.backward ? sql`page.position desc` : sql`page.position`}`,
  );
  const bySubject = Map.groupBy(rows, (row) => row.subject);
  const slice = (id: string) =>
    sliceOf(
      (bySubject.get(id) ?? []).map(({ json }) => json),
      input.page,
    );
  return new Map(input.ids.map((id) => [id, slice(id)]));
}

/** How many events `timelines` has in all for each. */
export async function countTimelines(
  ctx: Context,
  input: { subject: EventSubject; ids: readonly string[]; filter?: EventFilter | null | undefined },
): Promise<Map<string, number>> {
  const visible = visibleTo(ctx);
  const rows = await execute<{ subject: string; count: number }>(
    onPrimary(ctx),
    sql`select subject.id as subject, count(*)::int as count from unnest(${input.ids}::uuid[]) subject(id)
        join event e on e.position is not null and ${about[input.subject]} ${visible} ${matching(input.filter)}
        group by subject.id`,
  );
  const counts = new Map(rows.map((row) => [row.subject, row.count]));
  return new Map(input.ids.map((id) => [id, counts.get(id) ?? 0]));
}
