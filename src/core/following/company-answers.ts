import { sql } from 'kysely';
import type { EligibilityNews } from '../changes.ts';
import type { Context } from '../context.ts';
import { Unavailable } from '../errors.ts';
import type { Follower, Followers, Source } from '../followers.ts';
import { onPrimary } from '../sql/send.ts';
import { anyId, prepare } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import type { Vehicle } from '../vehicles/vehicle.ts';
import { vehicleObject, vehiclesOf } from '../vehicles/vehicles.ts';

/** Vehicles that may wait for a slow reader: each once, its latest answer counts. */
const WAITING_MAX = 10_000;
const BATCH = 100;
/** Vehicles that are kept for followers that are a little behind. */
const KEPT = 1_000;
/** How far the clocks of two processes, and a transaction's beginning and end, may lie apart. */
const MARGIN_MS = 60_000;

/** The vehicles of a company that have new answers, in the order of the news, read once for all who follow them. */
export class CompanyAnswers implements Source {
  readonly listeners;
  last = 0;
  readonly #company: string;
  readonly #now: () => Date;
  readonly #followers: Followers;
  /** The number of each vehicle's last change, in the order of these numbers. */
  readonly #changes = new Map<string, number>();
  /** Some changes up to this number are forgotten. */
  #forgotten = 0;
  /** Vehicles by id, as read after their last change. */
  readonly #vehicles = new Map<string, Promise<Vehicle | null>>();
  #heardAt: Date;
  #missedSince: Date | null = null;
  #missed: Promise<void> | null = null;

  constructor(company: string, { services }: Context) {
    this.#company = company;
    this.#now = () => new Date(services.clock());
    this.#followers = services.followers;
    this.#heardAt = this.#now();
    this.listeners = {
      eligibility: (news: EligibilityNews) => news.company === company && this.#hear(news.vehicles),
      missed: () => {
        this.#missedSince ??= new Date(this.#heardAt.getTime() - MARGIN_MS);
        return true;
      },
    };
  }

  refresh(followers: ReadonlySet<Follower>): boolean {
    this.#vehicles.clear();
    const passed = followers.values().reduce((least, { heard }) => Math.min(least, heard), this.last);
    for (const [id, number] of this.#changes) {
      if (number > passed) break;
      this.#changes.delete(id);
    }
    return false;
  }

  /** Makes a function that reads the vehicles of the follower's next changes from now on; throws Unavailable if any is forgotten. */
  readFrom(follower: Follower): (ctx: Context) => Promise<Vehicle[]> {
    // An iterator of a map goes on to what is added behind it, unless it was asked once too often.
    const changes = this.#changes.entries();
    for (const _ of this.#changes) changes.next();
    follower.heard = this.last;
    return async (ctx) => {
      if (this.#missedSince) {
        this.#missed ??= this.#readMissed(ctx, this.#missedSince);
        await this.#missed;
      }
      if (follower.heard < this.#forgotten) {
        throw new Unavailable('More has changed than could be kept for you. Read the state and subscribe again.', 1);
      }
      const ids: string[] = [];
      while (follower.heard < this.last && ids.length < BATCH) {
        const [id, number] = changes.next().value as [string, number];
        ids.push(id);
        follower.heard = number;
      }
      const vehicles = await Promise.all(this.#vehiclesWith(ctx, ids));
      return vehicles.filter((one) => one !== null);
    };
  }

  #hear(vehicles: EligibilityNews['vehicles']): true {
    this.#heardAt = this.#now();
    if (!vehicles) this.#vehicles.clear();
    for (const [id] of vehicles ?? []) this.#add(id);
    return true;
  }

  #add(id: string): void {
    this.last += 1;
    this.#vehicles.delete(id);
    this.#changes.delete(id);
    this.#changes.set(id, this.last);
    for (const [oldest, number] of this.#changes) {
      if (this.#changes.size <= WAITING_MAX) break;
      this.#changes.delete(oldest);
      this.#forgotten = number;
    }
  }

  async #readMissed(ctx: Context, since: Date): Promise<void> {
    try {
      for (const { id } of await findVerified(onPrimary(ctx), { company: this.#company, since })) this.#add(id);
      this.#missedSince = null;
    } finally {
      this.#missed = null;
    }
  }

  #vehiclesWith(ctx: Context, ids: readonly string[]): Promise<Vehicle | null>[] {
    const unread = ids.filter((id) => !this.#vehicles.has(id));
    if (unread.length > 0) {
      const read = this.#read(ctx, unread);
      for (const id of unread) {
        const vehicle = read.then((found) => found.get(id) ?? null);
        vehicle.catch(() => this.#vehicles.delete(id));
        this.#vehicles.set(id, vehicle);
      }
    }
    const vehicles = ids.map((id) => this.#vehicles.get(id) ?? Promise.resolve(null));
    for (const oldest of this.#vehicles.keys()) if (this.#vehicles.size > KEPT) this.#vehicles.delete(oldest);
    return vehicles;
  }

  async #read(ctx: Context, ids: readonly string[]): Promise<Map<string, Vehicle>> {
    const rows = await findVehicles(onPrimary(ctx), { company: this.#company, ids });
    return new Map(rows.map(({ json }) => [json.id, this.#followers.share(json)]));
  }
}

// Both are sent to the primary: the news may be ahead of the replicas.

const findVehicles = prepare((p: { company: string; ids: readonly string[] }) =>
  vehiclesOf(p.company).select(vehicleObject.as('json')).where('v.id', '=', anyId(p.ids)),
);

/** Exactly as in the index vehicle_by_verified, or PostgreSQL would not use it. */
const verified = sql<string>`coalesce(verified_at, 'infinity'::timestamptz)`;

const findVerified = prepare((p: { company: string; since: Date }) =>
  db
    .selectFrom('vehicle')
    .select('id')
    .where('company', '=', p.company)
    .where('verified_at', 'is not', null)
    .where(verified, '>=', sql<string>`${p.since}::timestamptz`)
    .orderBy(verified)
    .limit(WAITING_MAX + 1),
);
