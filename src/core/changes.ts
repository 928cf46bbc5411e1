import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { reasonSchema } from './reason.ts';

/** Vehicles of a company with a new answer, or deleted ones; null: any vehicle may be deleted. */
const vehicleNews = z.object({ company: z.string(), vehicles: z.array(z.tuple([z.string(), z.string()])).nullable() });
export type EligibilityNews = z.output<typeof vehicleNews>;

/** Contracts of a company with a new state at the manufacturer. */
const contractNews = z.object({ company: z.string(), contracts: z.array(z.string()) });

/** The state of the providers in one process, at a time in ms since 1970; other times are ISO 8601. */
const providerReport = z.object({
  process: z.string(),
  at: z.number(),
  providers: z.array(
    z.object({
      id: z.string(),
      /** Questions of the last minute. */
      asked: z.number(),
      heldSince: z.string().nullable(),
      /** Brands that are held back although their provider is not. */
      brands: z.array(z.object({ id: z.string(), heldSince: z.string().nullable() })),
      /** Reports of earlier versions name none. */
      services: z
        .array(z.object({ name: z.string(), since: z.string().nullable(), reason: reasonSchema.nullable() }))
        .default([]),
    }),
  ),
});
export type ProviderReport = z.output<typeof providerReport>;

/** Kinds of rows that come due; jobs/runner.ts has a job for each. */
export const dueKinds = [
  'vehicle',
  'activation',
  'claim',
  'event',
  'delivery',
  'webhook',
  'fleet',
  'upkeep',
  'provider',
] as const;
export type DueKind = (typeof dueKinds)[number];

/** News between processes, by the channels of the database. */
interface News {
  due: [kind: DueKind];
  eligibility: [news: EligibilityNews];
  contract: [news: z.output<typeof contractNews>];
  import: [id: string];
  event: [company: string];
  provider: [report: ProviderReport];
}
interface Events extends News {
  /** News may be lost after a gap of the connection: listeners read the state again. */
  missed: [];
  /** Outcomes of this process's work, for its own metrics. */
  outcome: [
    of: 'verification' | 'activation' | 'found' | 'delivery' | 'import' | 'row' | 'operation' | 'job' | 'index',
    outcome: string,
    count: number,
  ];
}

/** The news of a notification; null for that of another version, or of another program in the same database. */
function readNews<T>(schema: z.ZodType<T>, payload: string): T | null {
  try {
    return schema.parse(JSON.parse(payload));
  } catch {
    return null;
  }
}

/** Ids and VINs of one notification (MOST_BYTES in database/listening-connection.ts). */
const NAMED_MAX = 80;
const MOST_REPORTS = 1000;
type VehicleName = { id: string; vin: string };
const named = ({ id, vin }: VehicleName): [id: string, vin: string] => [id, vin];

export type ChangeListeners = { [E in keyof Events]?: (...news: Events[E]) => unknown };

export class ChangeFeed extends EventEmitter<Events> {
  readonly process = randomUUID();
  /** The last report of each process, this one among them. */
  readonly providerReports = new LRUCache<string, ProviderReport>({ max: MOST_REPORTS });
  private readonly stops: (() => void)[] = [];
  private readonly database: Database;

  private constructor(database: Database) {
    super();
    this.database = database;
  }

  static async open(database: Database): Promise<ChangeFeed> {
    const changes = new ChangeFeed(database);
    // One listener for each open request or subscription, whose numbers have limits of their own.
    changes.setMaxListeners(0);
    const listen = async (channel: string, tell: (payload: string) => void) => {
      changes.stops.push(await database.listen(channel, (text) => (text === '' ? changes.emit('missed') : tell(text))));
    };
    await listen('due', (kind) => {
      // A process of another version may know other kinds.
      const known = dueKinds.find((one) => one === kind);
      if (known) changes.emit('due', known);
    });
    await listen('event', (company) => changes.emit('event', company));
    await listen('import', (id) => changes.emit('import', id));
    await listen('eligibility', (payload) => {
      const news = readNews(vehicleNews, payload);
      if (news) changes.emit('eligibility', news);
      else changes.emit('missed');
    });
    await listen('contract', (payload) => {
      const news = readNews(contractNews, payload);
      if (news) changes.emit('contract', news);
      else changes.emit('missed');
    });
    await listen('provider', (payload) => {
      const report = readNews(providerReport, payload);
      if (report) changes.providerReports.set(report.process, report);
    });
    return changes;
  }

  /** Calls back, each listener for its event, until the signal aborts. */
  follow(listeners: ChangeListeners, signal: AbortSignal): void {
    if (signal.aborted) return;
    for (const [event, listener] of Object.entries(listeners) as [keyof Events, () => void][]) {
      this.on(event, listener);
      signal.addEventListener('abort', () => this.off(event, listener), { once: true });
    }
  }

  /** Notifies every process when the open transaction has committed; without one, call it after the statement. */
  announce<N extends keyof News>(channel: N, ...[news]: News[N]): void {
    this.database.notify(channel, typeof news === 'string' ? news : JSON.stringify(news));
  }

  announceAnswers(company: string, vehicles: readonly VehicleName[]): void {
    for (let start = 0; start < vehicles.length; start += NAMED_MAX) {
      this.announce('eligibility', { company, vehicles: vehicles.slice(start, start + NAMED_MAX).map(named) });
    }
  }

  announceActivations(company: string, contracts: readonly { id: string }[]): void {
    for (let start = 0; start < contracts.length; start += NAMED_MAX) {
      const ids = contracts.slice(start, start + NAMED_MAX).map(({ id }) => id);
      this.announce('contract', { company, contracts: ids });
    }
  }

  announceRemoval(company: string, vehicles: readonly VehicleName[] | null): void {
    const names = vehicles && vehicles.length <= NAMED_MAX ? vehicles.map(named) : null;
    this.announce('eligibility', { company, vehicles: names });
  }

  close(): void {
    for (const stop of this.stops) stop();
    this.removeAllListeners();
  }
}
