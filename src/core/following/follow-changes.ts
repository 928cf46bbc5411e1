import { sql } from 'kysely';
import type { ChangeListeners } from '../changes.ts';
import { authorize, type Context, contextOfSharedRead, type Services } from '../context.ts';
import type { Contract } from '../contracts/contract.ts';
import { findContracts } from '../contracts/contracts.ts';
import { Unavailable } from '../errors.ts';
import { requireFleet } from '../fleets/fleets.ts';
import type { FollowedSource, Follower } from '../followers.ts';
import { asTimestamptz, db, getOrCreate, prepare } from '../sql/sql.ts';
import type { Vehicle } from '../vehicles/vehicle.ts';
import { findVehicles } from '../vehicles/vehicles.ts';

/** Rows of a company that change by themselves, as followers are told of them. */
interface Changing<Row> {
  name: string;
  /** Listeners of their news; `ids` is null where any row may be deleted. */
  listeners(hear: (company: string, ids: readonly string[] | null) => boolean): ChangeListeners;
  read(ctx: Context, rows: { company: string; ids: readonly string[] }): Promise<{ json: Row }[]>;
  /** Those that changed since then, at most WAITING_MAX and one more. */
  changedSince(ctx: Context, given: { company: string; since: Date }): Promise<{ id: string }[]>;
}

type ChangingRow = { id: string; fleetId: string };

/** Rows that change until the signal aborts. Throws FleetNotFound; later Unavailable for too slow a reader. */
async function followChanges<Row extends ChangingRow>(
  ctx: Context,
  of: Changing<Row>,
  { company, fleetId: given }: { company: string; fleetId?: string | null },
  signal: AbortSignal,
) {
  const fleetId = given?.toLowerCase() ?? null;
  if (fleetId !== null) await requireFleet(ctx, company, fleetId);
  const open = () => new CompanyChanges(company, of, ctx.services);
  const { source, follower, leave } = ctx.services.followers.join([of.name, company], open, signal);
  const readNext = source.readFrom(follower);

  async function* changes(): AsyncGenerator<Row> {
    try {
      while (await follower.wait({ signal })) {
        do {
          for (const row of await readNext(contextOfSharedRead(ctx))) {
            await ctx.services.fairness.news.next(company);
            if (fleetId === null || row.fleetId === fleetId) yield row;
          }
        } while (follower.heard < source.last && !signal.aborted);
      }
    } finally {
      leave();
    }
  }
  return changes();
}

/** Vehicles with new answers until the signal aborts. Throws FleetNotFound; later Unavailable for too slow a reader. */
export const followEligibilityChanges = async (ctx: Context, input: { fleetId?: string | null }, signal: AbortSignal) =>
  followChanges<Vehicle>(ctx, verifiedVehicles, { ...input, company: authorize(ctx, 'fleets:read') }, signal);

/** Contracts with a new state at the manufacturer until the signal aborts. Throws FleetNotFound; later Unavailable for a slow reader. */
export const followContractChanges = async (ctx: Context, input: { fleetId?: string | null }, signal: AbortSignal) =>
  followChanges<Contract>(ctx, activatedContracts, { ...input, company: authorize(ctx, 'contracts:read') }, signal);

/** Vehicles that may wait for a slow reader, each once. */
const WAITING_MAX = 10_000;
const BATCH = 100;
const KEPT = 1_000;
/** The greatest difference of two processes' clocks, and the longest transaction. */
const MARGIN_MS = 60_000;

/** The changed rows of a company, in the order of the news, read once for all followers. */
class CompanyChanges<Row extends ChangingRow> implements FollowedSource {
  readonly listeners;
  last = 0;
  readonly #company: string;
  readonly #of: Changing<Row>;
  readonly #services: Services;
  /** The number of each row's last change, in order. */
  readonly #changes = new Map<string, number>();
  /** Some changes up to this number are forgotten. */
  #forgotten = 0;
  /** Rows by id, as read after their last change. */
  readonly #rows = new Map<string, Promise<Row | null>>();
  #heardAt: number;
  #missedSince: Date | null = null;
  #missed: Promise<void> | null = null;

  constructor(company: string, of: Changing<Row>, services: Services) {
    this.#company = company;
    this.#of = of;
    this.#services = services;
    this.#heardAt = services.clock();
    this.listeners = {
      ...of.listeners((changed, ids) => changed === company && this.#hear(ids)),
      missed: () => {
        this.#missedSince ??= new Date(this.#heardAt - MARGIN_MS);
        return true;
      },
    };
  }

  refresh(followers: ReadonlySet<Follower>): boolean {
    this.#rows.clear();
    const passed = followers.values().reduce((least, { heard }) => Math.min(least, heard), this.last);
    for (const [id, number] of this.#changes) {
      if (number > passed) break;
      this.#changes.delete(id);
    }
    return false;
  }

  /** Makes a function that reads the rows of the follower's next changes; throws Unavailable if any is lost. */
  readFrom(follower: Follower): (ctx: Context) => Promise<Row[]> {
    // An iterator of a map finds later additions, unless it has ended.
    const changes = this.#changes.entries();
    for (const _ of this.#changes) changes.next();
    follower.heard = this.last;
    return async (ctx) => {
      while (this.#missedSince || this.#missed) {
        this.#missed ??= this.#readMissed(ctx);
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
      const rows = await Promise.all(this.#rowsWith(ctx, ids));
      return rows.filter((one) => one !== null);
    };
  }

  #hear(ids: readonly string[] | null): true {
    this.#heardAt = this.#services.clock();
    if (!ids) this.#rows.clear();
    for (const id of ids ?? []) this.#add(id);
    return true;
  }

  #add(id: string): void {
    this.last += 1;
    this.#rows.delete(id);
    this.#changes.delete(id);
    this.#changes.set(id, this.last);
    for (const [oldest, number] of this.#changes) {
      if (this.#changes.size <= WAITING_MAX) break;
      this.#changes.delete(oldest);
      this.#forgotten = number;
    }
  }

  async #readMissed(ctx: Context): Promise<void> {
    const since = this.#missedSince ?? ctx.now();
    // News that are missed from now on may be of answers that this read does not find.
    this.#missedSince = null;
    const begun = this.#services.clock();
    try {
      for (const { id } of await this.#of.changedSince(ctx, { company: this.#company, since })) this.#add(id);
      this.#heardAt = Math.max(this.#heardAt, begun);
    } catch (error) {
      this.#missedSince = since;
      throw error;
    } finally {
      this.#missed = null;
    }
  }

  #rowsWith(ctx: Context, ids: readonly string[]): Promise<Row | null>[] {
    const unread = ids.filter((id) => !this.#rows.has(id));
    const read = this.#read(ctx, unread);
    read.catch(() => {
      for (const id of unread) this.#rows.delete(id);
    });
    const rows = ids.map((id) => getOrCreate(this.#rows, id, () => read.then((all) => all.get(id) ?? null)));
    for (const oldest of this.#rows.keys()) if (this.#rows.size > KEPT) this.#rows.delete(oldest);
    return rows;
  }

  async #read(ctx: Context, ids: readonly string[]): Promise<Map<string, Row>> {
    const rows = ids.length > 0 ? await this.#of.read(ctx, { company: this.#company, ids }) : [];
    return new Map(rows.map(({ json }) => [json.id, this.#services.followers.share(json)]));
  }
}

/** The expression of the index vehicle_by_verified, without which PostgreSQL would not use it. */
const verified = sql<string>`coalesce(verified_at, 'infinity'::timestamptz)`;

const findVerified = prepare((p: { company: string; since: Date }) =>
  db
    .selectFrom('vehicle')
    .select('id')
    .where('company', '=', p.company)
    .where('verified_at', 'is not', null)
    .where(verified, '>=', asTimestamptz(p.since))
    .orderBy(verified)
    .limit(WAITING_MAX + 1),
);

const verifiedVehicles: Changing<Vehicle> = {
  name: 'eligibility',
  listeners: (hear) => ({
    eligibility: ({ company, vehicles }) => hear(company, vehicles?.map(([id]) => id) ?? null),
  }),
  read: findVehicles,
  changedSince: findVerified,
};

const findActivated = prepare((p: { company: string; since: Date }) =>
  db
    .selectFrom('contract')
    .select('id')
    .where('company', '=', p.company)
    .where('activation_changed_at', '>=', asTimestamptz(p.since))
    .limit(WAITING_MAX + 1),
);

const activatedContracts: Changing<Contract> = {
  name: 'contract',
  listeners: (hear) => ({ contract: ({ company, contracts }) => hear(company, contracts) }),
  read: findContracts,
  changedSince: findActivated,
};
