import type { Context } from '../core/context.ts';
import {
  askManufacturer,
  type ClaimedVehicle,
  claimDueVehicles,
  nextVehicleDue,
  storeVerifications,
} from '../core/verification.ts';
import type { Job } from './job.ts';

/** Vehicles this process asks about at a time. Providers bound their own concurrency; this only keeps them busy. */
const IN_FLIGHT = 512;
/** Fewer are not worth a statement while others are still being asked about. */
const WORTH_CLAIMING = 32;
const STORED_AT_ONCE = 250;

/** Asks the manufacturers about vehicles that have come due. Answers are stored as they come, so a slow one holds up none. */
export function verifyEligibility(open: () => Context, onError: (error: unknown) => void): Job {
  const asking = new Set<Promise<void>>();
  const answers: Parameters<typeof storeVerifications>[1] = [];
  let storing: Promise<void> | null = null;
  let roomFreed = () => {};

  async function ask(ctx: Context, vehicle: ClaimedVehicle): Promise<void> {
    answers.push({ vehicle, verification: await askManufacturer(ctx, vehicle) });
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

  /** Fills the free places with vehicles that are due; false when there are no more of these. */
  async function fill(ctx: Context): Promise<boolean> {
    const room = IN_FLIGHT - asking.size;
    if (room < WORTH_CLAIMING) return true;
    const claimed = await claimDueVehicles(ctx, room);
    for (const vehicle of claimed) {
      // What could not be stored comes due again when its claim ends.
      const one = ask(ctx, vehicle).catch(onError);
      asking.add(one);
      void one.then(() => {
        asking.delete(one);
        roomFreed();
      });
    }
    return claimed.length === room;
  }

  return {
    kind: 'vehicle',
    async run(signal) {
      const ctx = open();
      while (!signal.aborted && (await fill(ctx))) {
        const { promise, resolve } = Promise.withResolvers<void>();
        roomFreed = resolve;
        if (IN_FLIGHT - asking.size < WORTH_CLAIMING) await promise;
      }
      return nextVehicleDue(ctx);
    },
    async stop() {
      await Promise.all(asking);
    },
  };
}
