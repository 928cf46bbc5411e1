import { setTimeout as delay } from 'node:timers/promises';
import type { SchedulePlace } from '../core/companies/schedule.ts';
import type { Context } from '../core/context.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveryGroup,
  findDueDeliveryGroups,
  sendDelivery,
} from '../core/webhooks/deliver-webhooks.ts';
import { findWebhooksToResume, resumeWebhookStep } from '../core/webhooks/resume-webhooks.ts';
import { openWebhookSender } from '../core/webhooks/sender.ts';
import { type DeliveryAttempt, storeDeliveryAttempts } from '../core/webhooks/store-attempts.ts';
import { type PlacePolicy, SharedPlaces } from '../fairness/shares.ts';
import { batched, inTurns, type Job, rounds, type Tools } from './job.ts';

/** Deliveries under way at a time in this process; the reserve is for groups that have none. */
const PLACES = { capacity: 160, reserve: 40 };
/** For webhooks that answer: a company leaves as many places free as it has. */
const SOUND: PlacePolicy = { leaves: 1, reserved: true };
/** Webhooks that failed, or that are asked although they are paused, may hold their places for long. */
const CAUTIOUS: PlacePolicy = { leaves: 7, reserved: false };
/** At the end, receivers that have not answered are not waited for any longer. */
const LONGEST_STOP_MS = 3_000;

const nameOf = ({ company, kind }: DeliveryGroup): string => `${kind} ${company}`;

/** Sends deliveries that have come due. Companies share the places in turn; a webhook that is slow has its own few. */
export class DeliverWebhooks implements Job {
  readonly #tools: Tools;
  readonly #sender: ReturnType<typeof openWebhookSender>;
  readonly #shares = new SharedPlaces(PLACES);
  readonly #begin: ReturnType<typeof rounds>;
  /** Deliveries under way of each webhook. */
  readonly #busy = new Map<string, number>();
  readonly #sending = new Set<Promise<void>>();
  /** Attempts of a group gather while a statement stores others. */
  readonly #stores = new Map<string, ReturnType<typeof batched<DeliveryAttempt>>>();
  /** Whether something is due that found no room, or may be. */
  #waiting = false;
  /** Where the next look goes on among the companies; undefined at the first. */
  #after: SchedulePlace | undefined;
  #cut = false;

  constructor(tools: Tools) {
    this.#tools = tools;
    this.#begin = rounds(tools);
    const { WEBHOOK_LOOPBACK: loopback, NODE_USE_ENV_PROXY: byProxy } = tools.open().services.config;
    this.#sender = openWebhookSender({ loopback, byProxy });
  }

  async run(signal: AbortSignal): Promise<string | null> {
    const ctx = this.#tools.open();
    // A pass over the companies that an earlier run began is no whole pass.
    for (let [idle, left] = [this.#after === undefined, false]; ; ) {
      this.#waiting = true;
      const { groups, started, next } = await this.#tools.withBackoff(() => this.#startDue(ctx, signal));
      idle &&= started === 0;
      left ||= groups > 0;
      if (signal.aborted) return next;
      // A place that comes free wakes this job.
      if (this.#shares.free === 0) return null;
      if (this.#after) continue;
      if (idle) {
        this.#waiting = left;
        return next;
      }
      [idle, left] = [true, false];
    }
  }

  async stop(): Promise<void> {
    await Promise.race([Promise.all(this.#sending), delay(LONGEST_STOP_MS, undefined, { ref: false })]);
    this.#cut = true;
    await this.#sender.close();
    await Promise.all(this.#sending);
  }

  /** Gives some of the groups with something due their share; gives how many there are, and how many deliveries were begun. */
  async #startDue(ctx: Context, signal: AbortSignal) {
    let started = 0;
    const { groups, next, last } = await findDueDeliveryGroups(ctx, { busy: this.#busy, signal, after: this.#after });
    this.#after = last;
    const attempt = this.#begin();
    for (const group of this.#shares.inTurn(groups, nameOf)) {
      const policy = group.kind === 'sound' ? SOUND : CAUTIOUS;
      const limit = group.room ? this.#shares.room(nameOf(group), policy) : 0;
      if (limit === 0 || signal.aborted) continue;
      await attempt(group.company, async () => {
        for (const one of await claimDeliveries(ctx, group, { limit, busy: this.#busy })) {
          this.#start(ctx, nameOf(group), one);
          started += 1;
        }
      });
    }
    return { groups: groups.length, started, next };
  }

  #start({ services: { changes, fence } }: Context, group: string, claimed: ClaimedDelivery): void {
    const id = claimed.webhook_id;
    this.#busy.set(id, (this.#busy.get(id) ?? 0) + 1);
    // A delivery that could not be stored comes due again when its claim ends.
    const one = this.#shares.run(group, () => this.#deliver(group, claimed)).catch(this.#tools.onError);
    this.#sending.add(one);
    fence?.hold(claimed.company, one);
    void one.then(() => {
      this.#sending.delete(one);
      if (this.#shares.held(group) === 0) this.#stores.delete(group);
      const left = (this.#busy.get(id) ?? 1) - 1;
      if (left > 0) this.#busy.set(id, left);
      else this.#busy.delete(id);
      if (this.#waiting) changes.emit('due', 'delivery');
    });
  }

  async #deliver(group: string, claimed: ClaimedDelivery): Promise<void> {
    const sent = await sendDelivery(this.#tools.open(), this.#sender, claimed);
    // An attempt that this process cuts off does not count against the receiver: it comes due again when its claim ends.
    if (this.#cut) return;
    const { company } = claimed;
    const store =
      this.#stores.get(group) ?? batched((attempted) => storeDeliveryAttempts(this.#tools.open(), company, attempted));
    this.#stores.set(group, store);
    await store({ claimed, sent });
  }
}

/** Gives webhooks that are active again what has waited for them. */
export const resumeWebhooks = (tools: Tools): Job => inTurns(tools, findWebhooksToResume, resumeWebhookStep);
