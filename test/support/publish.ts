import type { Context } from '../../src/core/context.ts';
import { companiesToPublish, publishEventsOf } from '../../src/core/events/log.ts';

/** Publishes some of what is recorded, of every company, where no job does; gives how many events these were. */
export async function publishEvents(ctx: Context): Promise<number> {
  let published = 0;
  const { companies } = await companiesToPublish(ctx);
  for (const company of companies) published += (await publishEventsOf(ctx, company)).events;
  return published;
}
