import type { Context } from '../core/context.ts';
import {
  type ClaimedVehicle,
  claimDueVehicles,
  companiesDue,
  postponeVehicles,
} from '../core/vehicles/due-vehicles.ts';
import { askManufacturer, storeVerifications, type Verified } from '../core/vehicles/verification.ts';
import type { Job } from './job.ts';

type Lane = Context['services']['manufacturers']['lanes'][number];

const STORED_AT_ONCE = 250;
/** What a look found is good for so long. */
const LOOK_MS = 50;
/** Looking, and asking for what is not there, may take one part in so many of the time, once a credit is used up. */
const LOOK_SHARE = 10;
const LOOK_CREDIT_MS = 1000;

/** The companies that have work, as the database last said. */
interface Look {
  companies: readonly string[];
  /** When another one will. */
  next: string | null;
  /** For each provider, those that turned out to have nothing (more) for it. */
  done: Map<Lane, Set<string>>;
  at: number;
}

/**
 * Asks the manufacturers about vehicles that have come due. No more are claimed than can be asked about at once; companies
 * take turns, those with the fewest under way first. Answers are stored as they come, so a slow one holds up none.
 */
export function verifyEligibility(open: () => Context, onError: (error: unknown) => void): Job {
  const { changes } = open().services;
  const asking = new Set<Promise<void>>();
  const answers: Verified[] = [];
  let storing: Promise<void> | null = null;
  let look: Look | null = null;
  /** Until when the time that was spent on looking is made up for. */
  let paidUntil = 0;
  /** Something is due for which there was no place. */
  let waiting = false;
  /** Whose turn was when: a number that rises. */
  const served = new Map<string, number>();
  let turns = 0;

  async function ask(ctx: Context, vehicle: ClaimedVehicle): Promise<void> {
    const verification = await askManufacturer(ctx, vehicle);
    if (waiting && ctx.services.manufacturers.lanes.some(({ capacity }) => capacity.wanting)) {
      waiting = false;
      changes.emit('due', 'vehicle');
    }
    answers.push({ vehicle, verification });
    storing ??= store();
    await storing;
  }

  /** While one statement runs, the next answers gather: the more there are, the fewer statements each costs. */
  async function store(): Promise<void> {
    try {
      while (answers.length > 0) await storeVerifications(open(), answers.splice(0, STORED_AT_ONCE));
    } finally {
      storing = null;
    }
  }

  function begin(ctx: Context, vehicle: ClaimedVehicle): void {
    // What could not be stored comes due again when its claim ends.
    const one = ask(ctx, vehicle).catch(onError);
    asking.add(one);
    void one.then(() => asking.delete(one));
  }

  /** A share for each company that has work for this provider, in turns, until there is no place or no work left. */
  async function fill(ctx: Context, lane: Lane, found: Look, signal: AbortSignal): Promise<void> {
    const { capacity } = lane;
    const done = found.done.get(lane) ?? new Set();
    found.done.set(lane, done);
    for (let turn = found.companies.filter((one) => !done.has(one)); turn.length > 0 && !signal.aborted; ) {
      const share = Math.max(1, Math.floor(capacity.room('') / turn.length));
      const again: string[] = [];
      for (const company of inTurn(turn, lane)) {
        const limit = Math.min(share, capacity.room(company));
        waiting ||= limit === 0;
        if (limit > 0 && (await claim(ctx, lane, company, limit))) again.push(company);
        else if (limit > 0) done.add(company);
      }
      turn = again;
    }
  }

  /** Those with the fewest under way first, and of these whoever was served longest ago. */
  const inTurn = (companies: readonly string[], { capacity }: Lane) =>
    companies.toSorted((a, b) => capacity.held(a) - capacity.held(b) || (served.get(a) ?? 0) - (served.get(b) ?? 0));

  /** Starts up to `limit` vehicles of a company; false when there were fewer. */
  async function claim(ctx: Context, lane: Lane, company: string, limit: number): Promise<boolean> {
    const start = performance.now();
    const holds = lane.holds();
    for (const hold of holds) await postponeVehicles(ctx, { company, ...hold });
    const except = [...lane.elsewhere, ...holds.flatMap(({ brands }) => brands)];
    const claimed = await claimDueVehicles(ctx, { company, except, limit });
    for (const vehicle of claimed) begin(ctx, vehicle);
    if (claimed.length === 0) spent(start);
    served.set(company, ++turns);
    return claimed.length === limit;
  }

  async function lookAround(ctx: Context): Promise<Look> {
    const at = performance.now();
    const found = await companiesDue(ctx);
    for (const company of served.keys()) if (!found.companies.includes(company)) served.delete(company);
    spent(at);
    return { ...found, done: new Map(), at };
  }

  function spent(since: number): void {
    const now = performance.now();
    paidUntil = Math.max(paidUntil, now) + LOOK_SHARE * (now - since);
  }
  const goodUntil = ({ at }: Look): number => Math.max(at + LOOK_MS, paidUntil - LOOK_CREDIT_MS);

  return {
    kind: 'vehicle',
    async run(signal) {
      const ctx = open();
      waiting = false;
      const fresh = !look || performance.now() >= goodUntil(look);
      if (!look || fresh) look = await lookAround(ctx);
      for (const lane of ctx.services.manufacturers.lanes) await fill(ctx, lane, look, signal);
      // Who had no more may have some later; and what rang the bell may be something that this look did not see.
      const again = !fresh || [...look.done.values()].some(({ size }) => size > 0);
      return again ? inTime(goodUntil(look)) : look.next;
    },
    async stop() {
      await Promise.all(asking);
    },
  };
}

const inTime = (at: number): string => new Date(Date.now() + Math.max(0, at - performance.now())).toISOString();
