import type { Context } from '../../src/core/context.ts';
import { findCompaniesToPublish, publishEventsOf } from '../../src/core/events/event-log.ts';

/** Publishes a batch of recorded events of every company, without a job; returns the number of published events. */
export async function publishEvents(ctx: Context): Promise<number> {
  let published = 0;
  const { companies } = await findCompaniesToPublish(ctx);
  for (const company of companies) published += (await publishEventsOf(ctx, company)).events;
  return published;
}
