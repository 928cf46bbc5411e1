import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '../core/context.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  nextDeliveryDue,
  type Party,
  partiesDue,
  sendDelivery,
} from '../core/webhooks/deliver-webhooks.ts';
import { openSender } from '../core/webhooks/sender.ts';
import { type Attempted, storeAttempts } from '../core/webhooks/store-attempts.ts';
import { gathering } from './gathering.ts';
import type { Job } from './job.ts';
import { Shares } from './shares.ts';

/** Deliveries this process has under way at a time. */
const IN_FLIGHT = 160;
/** At the end, receivers that have not answered are not waited for any longer. */
const LONGEST_STOP_MS = 3_000;

const nameOf = ({ company, kind }: Party): string => `${kind} ${company}`;

/** Sends deliveries that have come due. Companies share the places in turn; a webhook that is slow has its own few. */
export function deliverWebhooks(open: () => Context, onError: (error: unknown) => void): Job {
  const { config, changes } = open().services;
  const sender = openSender({ loopback: config.WEBHOOK_LOOPBACK });
  const shares = new Shares(IN_FLIGHT);
  /** How many each webhook has under way. */
  const busy = new Map<string, number>();
  const sending = new Set<Promise<void>>();
  /** Whether something is due that found no room, or may be. */
  let waiting = false;
  let cut = false;

  /** What is to be stored of each party: while one statement runs, the next attempts gather. */
  const stores = new Map<string, ReturnType<typeof gathering<Attempted>>>();

  async function deliver(party: string, claimed: ClaimedDelivery): Promise<void> {
    const sent = await sendDelivery(open(), sender, claimed);
    // What we cut off ourselves is no fault of the receiver: it comes due again when its claim ends.
    if (cut) return;
    const store = stores.get(party) ?? gathering((attempted) => storeAttempts(open(), attempted));
    stores.set(party, store);
    await store({ claimed, sent });
  }

  function start(party: string, claimed: ClaimedDelivery): void {
    const id = claimed.webhook_id;
    busy.set(id, (busy.get(id) ?? 0) + 1);
    shares.take(party);
    // What could not be stored comes due again when its claim ends.
    const one = deliver(party, claimed).catch(onError);
    sending.add(one);
    void one.then(() => {
      sending.delete(one);
      if (shares.giveBack(party) === 0) stores.delete(party);
      const left = (busy.get(id) ?? 1) - 1;
      if (left > 0) busy.set(id, left);
      else busy.delete(id);
      if (waiting) changes.emit('due', 'delivery');
    });
  }

  /** Gives each party that has something due by now its share; gives how many deliveries were begun. */
  async function startDue(ctx: Context, now: Date, signal: AbortSignal): Promise<number> {
    let started = 0;
    waiting = true;
    const parties = shares.inTurn(await partiesDue(ctx, now, busy), nameOf);
    for (const party of parties) {
      const limit = party.room ? shares.room(nameOf(party), { cautious: party.kind !== 'sound' }) : 0;
      if (limit === 0 || signal.aborted) continue;
      for (const one of await claimDeliveries(ctx, party, { limit, busy })) {
        start(nameOf(party), one);
        started += 1;
      }
    }
    if (started === 0) waiting = parties.length > 0;
    return started;
  }

  return {
    kind: 'delivery',
    async run(signal) {
      const ctx = open();
      for (;;) {
        const now = ctx.now();
        if (signal.aborted || (await startDue(ctx, now, signal)) === 0) return nextDeliveryDue(ctx, now);
      }
    },
    async stop() {
      await Promise.race([Promise.all(sending), delay(LONGEST_STOP_MS, undefined, { ref: false })]);
      cut = true;
      await sender.close();
      await Promise.all(sending);
    },
  };
}
