import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '../core/context.ts';
import {
  type ClaimedDelivery,
  claimDueDeliveries,
  nextDeliveryDue,
  sendDelivery,
  storeAttempt,
} from '../core/deliver-webhooks.ts';
import { openSender } from '../core/webhooks/sender.ts';
import type { Job } from './job.ts';

/** Deliveries this process has under way at a time, in all and to one webhook. */
const IN_FLIGHT = 64;
const PER_WEBHOOK = 4;
/** At the end, receivers that have not answered are not waited for any longer. */
const LONGEST_STOP_MS = 3_000;

/** Sends deliveries that have come due. A webhook that is slow has its own few places and takes nobody else's. */
export function deliverWebhooks(open: () => Context, onError: (error: unknown) => void): Job {
  const { config, changes } = open().services;
  const sender = openSender({ loopback: config.WEBHOOK_LOOPBACK });
  const busy = new Map<string, number>();
  const sending = new Set<Promise<void>>();
  let cut = false;

  async function deliver(claimed: ClaimedDelivery): Promise<void> {
    const ctx = open();
    const sent = await sendDelivery(ctx, sender, claimed);
    // What we cut off ourselves is no fault of the receiver: it comes due again when its claim ends.
    if (!cut) await storeAttempt(ctx, claimed, sent);
  }

  function start(claimed: ClaimedDelivery): void {
    const id = claimed.webhook_id;
    busy.set(id, (busy.get(id) ?? 0) + 1);
    // What could not be stored comes due again when its claim ends.
    const one = deliver(claimed).catch(onError);
    sending.add(one);
    void one.then(() => {
      const wasFull = sending.size === IN_FLIGHT || busy.get(id) === PER_WEBHOOK;
      sending.delete(one);
      const left = (busy.get(id) ?? 1) - 1;
      if (left > 0) busy.set(id, left);
      else busy.delete(id);
      // There is room again for what had to wait.
      if (wasFull) changes.emit('due', 'delivery');
    });
  }

  return {
    kind: 'delivery',
    async run(signal) {
      const ctx = open();
      while (!signal.aborted && sending.size < IN_FLIGHT) {
        const claimed = await claimDueDeliveries(ctx, {
          limit: IN_FLIGHT - sending.size,
          perWebhook: PER_WEBHOOK,
          busy,
        });
        for (const one of claimed) start(one);
        if (claimed.length === 0) {
          const full = [...busy].filter(([, count]) => count >= PER_WEBHOOK).map(([id]) => id);
          return nextDeliveryDue(ctx, full);
        }
      }
      // Whoever finishes rings.
      return null;
    },
    async stop() {
      await Promise.race([Promise.all(sending), delay(LONGEST_STOP_MS, undefined, { ref: false })]);
      cut = true;
      await sender.close();
      await Promise.all(sending);
    },
  };
}
