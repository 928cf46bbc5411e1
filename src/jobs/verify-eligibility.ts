import { setTimeout as delay } from 'node:timers/promises';
import type { DueCompanies } from '../core/companies/schedule.ts';
import type { Context } from '../core/context.ts';
import {
  type ClaimedVehicle,
  claimDueVehicles,
  postponeVehicles,
  vehicleClaimEnd,
  vehicleSchedule,
} from '../core/vehicles/due-vehicles.ts';
import { PROVIDER_REPORT_SECONDS, reportProviders } from '../core/vehicles/providers.ts';
import { askManufacturer, storeVerifications, type VerifiedVehicle } from '../core/vehicles/verification.ts';
import type { ClaimingTools } from './claims.ts';
import { batched, type Job, rounds, type Tools } from './job.ts';

type Channel = Context['services']['manufacturers']['channels'][number];

/** An answer waits so long for others, if any are under way: stored together they cost a fraction, of the database too. */
const GATHERED_MS = 50;
/** Limited, since one statement locks their fleets and writes their rows. */
const STORED_AT_ONCE = 250;
/** Answers that were skipped are stored again after so long, then twice as long: for 25 s, a long transaction's time. */
const STORE_AGAIN_MS = 100;
const STORE_TRIES = 9;
/** A company's share of the places in one turn: one by one, each vehicle would cost statements of its own. */
const LEAST_SHARE = 16;
const LOOK_MS = 50;
/** Scans, beyond a credit, and a company's claims that find nothing may each take one part in so many of the time. */
const LOOK_SHARE = 10;
const LOOK_CREDIT_MS = 1000;
/** What took longer waited for something else, such as a database that stood still. */
const MOST_CHARGED_MS = 200;

/** Some of the companies that have work, as the last look at the database found them. */
interface Look extends DueCompanies {
  /** For each provider, the companies without further due vehicles for it. */
  done: Map<Channel, Set<string>>;
  at: number;
}

interface Turn {
  turn: readonly string[];
  done: Set<string>;
  signal: AbortSignal;
}

/** Asks the manufacturers about due vehicles, as many as they take at once; companies with the fewest under way go first. */
export class VerifyEligibility implements Job {
  readonly #tools: ClaimingTools;
  readonly #asking = new Set<Promise<void>>();
  readonly #store = batched((answers: readonly VerifiedVehicle[]) => this.#storeAll(answers), {
    most: STORED_AT_ONCE,
    pause: ({ length }) => (length < Math.min(this.#asking.size, STORED_AT_ONCE) ? delay(GATHERED_MS) : undefined),
  });
  readonly #begin: ReturnType<typeof rounds>;
  readonly #end = new AbortController();
  #look: Look | null = null;
  /** Each scan moves this on by LOOK_SHARE times its duration, of at most MOST_CHARGED_MS; the next may start LOOK_CREDIT_MS before it. */
  #paidUntil = 0;
  /** For each provider, until when companies rest whose last claim found nothing, in vain walking all that is due. */
  readonly #resting = new Map<Channel, Map<string, number>>();
  /** Whether looks found something due for which there was no place, since one began with the first company. */
  #waiting = false;

  constructor(tools: ClaimingTools) {
    this.#tools = tools;
    this.#begin = rounds(tools);
  }

  async run(signal: AbortSignal): Promise<string | null> {
    const ctx = this.#tools.open();
    const known = this.#look;
    const fresh = known === null || performance.now() >= this.#goodUntil(known);
    const look = fresh ? await this.#lookAround(ctx) : known;
    this.#look = look;
    let more = false;
    for (const channel of ctx.services.manufacturers.channels)
      if (await this.#fill(ctx, channel, look, signal)) more = true;
    if (more) return ctx.now().toISOString();
    // Companies in `done` may get vehicles later, and a kept look may be older than the row whose news woke this run.
    const again = !fresh || look.last || [...look.done.values()].some(({ size }) => size > 0);
    const next = again ? inTime(ctx, this.#goodUntil(look)) : look.next;
    const rests = [...this.#resting.values()].flatMap((until) => [...until.values()]);
    return rests.map((rest) => inTime(ctx, rest)).reduce(earlier, next);
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#asking);
  }

  async #lookAround(ctx: Context): Promise<Look> {
    const at = performance.now();
    const after = this.#look?.last;
    this.#waiting &&= after !== undefined;
    const found = await vehicleSchedule.companiesDue(ctx, after);
    const now = performance.now();
    this.#paidUntil = Math.max(this.#paidUntil, now) + charged(now - at);
    return { ...found, done: new Map(), at };
  }

  /** The next look at the same companies is later. */
  #goodUntil({ at, last }: Look): number {
    return Math.max(last ? 0 : at + LOOK_MS, this.#paidUntil - LOOK_CREDIT_MS);
  }

  /** A share for each company that has work for this provider; gives whether there may be places for more of it. */
  async #fill(ctx: Context, channel: Channel, found: Look, signal: AbortSignal): Promise<boolean> {
    const done = found.done.get(channel) ?? new Set();
    found.done.set(channel, done);
    const resting = this.#resting.get(channel) ?? new Map<string, number>();
    this.#resting.set(channel, resting);
    for (const [company, until] of resting) if (until <= performance.now()) resting.delete(company);
    const turn = found.companies.filter((one) => !done.has(one) && !resting.has(one));
    if (turn.length === 0 || signal.aborted) return false;
    return this.#tools.withBackoff(() => this.#take(ctx, channel, { turn, done, signal }));
  }

  async #take(ctx: Context, channel: Channel, { turn, done, signal }: Turn): Promise<boolean> {
    const { capacity } = channel;
    const share = Math.max(LEAST_SHARE, Math.floor(capacity.room('') / turn.length));
    let more = false;
    const attempt = this.#begin();
    for (const company of capacity.inTurn(turn, String)) {
      if (signal.aborted) break;
      const limit = Math.min(share, capacity.room(company));
      this.#waiting ||= limit === 0;
      const claimed = limit > 0 ? await attempt(company, () => this.#claim(ctx, channel, company, limit)) : null;
      if (claimed?.left) more = true;
      else if (claimed) done.add(company);
    }
    return more;
  }

  /** Starts up to `limit` vehicles of a company; false when there were fewer. */
  async #claim(ctx: Context, channel: Channel, company: string, limit: number): Promise<boolean> {
    const start = performance.now();
    const holds = channel.holds();
    for (const hold of holds) await postponeVehicles(ctx, { company, ...hold });
    const except = [...channel.elsewhere, ...holds.flatMap(({ brands }) => brands)];
    await this.#tools.claims.open(ctx);
    const until = vehicleClaimEnd(ctx);
    const claimed = await this.#tools.claims.noting({ kind: 'vehicle', company, until }, () =>
      claimDueVehicles(ctx, { company, except, limit }, until),
    );
    for (const vehicle of claimed) {
      const one = this.#ask(ctx, vehicle).catch(this.#tools.onError);
      this.#tools.claims.hold(one, [company]);
      this.#asking.add(one);
      void one.then(() => this.#asking.delete(one));
    }
    if (claimed.length === limit) return true;
    await vehicleSchedule.reschedule(ctx, company);
    const now = performance.now();
    if (claimed.length === 0) this.#resting.get(channel)?.set(company, now + charged(now - start));
    return false;
  }

  async #ask(ctx: Context, vehicle: ClaimedVehicle): Promise<void> {
    const verification = await askManufacturer(ctx, vehicle);
    const { changes, manufacturers } = ctx.services;
    if (this.#waiting && manufacturers.channels.some(({ capacity }) => capacity.canTakeMore)) {
      this.#waiting = false;
      changes.emit('due', 'vehicle');
    }
    const answer = { vehicle, verification };
    for (let [tries, wait] = [0, STORE_AGAIN_MS]; (await this.#store(answer)).has(answer); wait *= 2) {
      if (++tries === STORE_TRIES || this.#end.signal.aborted) return;
      await delay(wait, undefined, { signal: this.#end.signal }).catch(() => {});
    }
  }

  /** Gives the answers that were skipped. Vehicles that could not be stored come due again when their claims end. */
  async #storeAll(answers: readonly VerifiedVehicle[]): Promise<Set<VerifiedVehicle>> {
    try {
      return new Set(await storeVerifications(this.#tools.open(), answers));
    } catch (error) {
      this.#tools.onError(error);
      return new Set();
    }
  }
}

const charged = (ms: number): number => LOOK_SHARE * Math.min(ms, MOST_CHARGED_MS);

const earlier = (one: string | null, other: string): string => (one !== null && one < other ? one : other);

const inTime = (ctx: Context, at: number): string =>
  new Date(ctx.now().getTime() + Math.max(0, at - performance.now())).toISOString();

/** Reports the state of the providers to processes that ask none. */
export function providerReports({ open }: Pick<Tools, 'open'>): Job {
  let reported = false;
  return {
    async run() {
      const ctx = open();
      reported = reportProviders(ctx, reported);
      return new Date(ctx.now().getTime() + PROVIDER_REPORT_SECONDS * 1000).toISOString();
    },
  };
}
