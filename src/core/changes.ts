import { EventEmitter } from 'node:events';
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import type { Database } from '../database/database.ts';

/** Vehicles of a company, by id and VIN, that have a new answer or are gone; null: any of the company's may be gone. */
const eligibilityNews = z.object({
  company: z.string(),
  vehicles: z.array(z.tuple([z.string(), z.string()])).nullable(),
});
export type EligibilityNews = z.output<typeof eligibilityNews>;

interface Events {
  /** Rows of this kind have come due. */
  due: [kind: string];
  eligibility: [news: EligibilityNews];
  /** The import with this id has moved on. */
  import: [id: string];
  /** The log of this company's events has grown. */
  event: [company: string];
  /** The connection was away for a moment: whoever waits for something should look for themselves. */
  missed: [];
}

type Listeners = { [E in keyof Events]?: (...news: Events[E]) => unknown };

/** What other processes, and this one, tell of their committed changes. */
export class ChangeFeed extends EventEmitter<Events> {
  private readonly stops: (() => Promise<void>)[] = [];

  /** Listens on every channel of the database. */
  static async open(database: Database): Promise<ChangeFeed> {
    const changes = new ChangeFeed();
    // One listener per open request or subscription; their number is bounded elsewhere.
    changes.setMaxListeners(0);
    const listen = async (channel: string, tell: (payload: string) => void) => {
      changes.stops.push(
        await database.listen(channel, (payload) => (payload === '' ? changes.emit('missed') : tell(payload))),
      );
    };
    await listen('due', (kind) => changes.emit('due', kind));
    await listen('event', (company) => changes.emit('event', company));
    await listen('import', (id) => changes.emit('import', id));
    await listen('eligibility', (payload) => changes.emit('eligibility', eligibilityNews.parse(JSON.parse(payload))));
    return changes;
  }

  /** Calls back, each listener for its event, until the signal aborts or the returned function is called. */
  follow(listeners: Listeners, signal: AbortSignal): () => void {
    const all = Object.entries(listeners) as [keyof Events, () => void][];
    for (const [event, listener] of all) this.on(event, listener);
    const stop = () => {
      for (const [event, listener] of all) this.off(event, listener);
      signal.removeEventListener('abort', stop);
    };
    // Here and not by the reader alone: one that has gone takes no more, and may never come to its end.
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    return stop;
  }

  async close(): Promise<void> {
    // One after another: they share a connection.
    for (const stop of this.stops) await stop();
    this.removeAllListeners();
  }
}

/** Statements that tell of a change when their transaction commits. */
export const announce = {
  due: (kind: 'vehicle' | 'import' | 'delivery' | 'webhook'): RawBuilder<unknown> =>
    sql`select pg_notify('due', ${kind})`,
  event: (company: string): RawBuilder<unknown> => sql`select pg_notify('event', ${company})`,
  import: (id: string): RawBuilder<unknown> => sql`select pg_notify('import', ${id})`,
  eligibility: (news: EligibilityNews): RawBuilder<unknown> =>
    sql`select pg_notify('eligibility', ${JSON.stringify(news)})`,
  removed: (company: string, vehicles: readonly { id: string; vin: string }[] | null): RawBuilder<unknown> =>
    announce.eligibility({
      company,
      vehicles: vehicles && vehicles.length <= NAMED_MAX ? vehicles.map(({ id, vin }) => [id, vin]) : null,
    }),
};

/** PostgreSQL carries at most 8,000 bytes in a notification. */
const NAMED_MAX = 80;
