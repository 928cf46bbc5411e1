import type { Logger } from 'pino';
import type { ChangeFeed, DueKind } from '../core/changes.ts';
import type { Context } from '../core/context.ts';
import { isHeld } from '../core/database-errors.ts';
import { WakeSignal } from '../core/followers.ts';
import { traced } from '../telemetry/telemetry.ts';
import { activateContracts } from './activate-contracts.ts';
import { type ClaimingTools, Claims } from './claims.ts';
import { DeliverWebhooks, resumeWebhooks } from './deliver-webhooks.ts';
import { type Activity, Backoff, type Job, type Tools } from './job.ts';
import { publish } from './publish-events.ts';
import { deleteFleets, upkeep } from './upkeep.ts';
import { providerReports, VerifyEligibility } from './verify-eligibility.ts';

interface Options {
  open: () => Context;
  changes: ChangeFeed;
  log: Logger;
  activity: Activity;
}

/** Jobs look for due work even without an announcement, since announcements may be lost and rows come due by the clock. */
const LOOK_SECONDS = 20;
const LONGEST_PAUSE_SECONDS = 30;
/** The longest pause before a claim, and before answers about contracts are stored: asking and storing load a busy process. */
const CLAIM_PAUSE_MS = 1000;

const byKind: Record<DueKind, (tools: ClaimingTools) => Job> = {
  vehicle: (tools) => new VerifyEligibility(tools),
  activation: activateContracts,
  claim: ({ claims }) => claims,
  event: publish,
  delivery: (tools) => new DeliverWebhooks(tools),
  webhook: resumeWebhooks,
  fleet: deleteFleets,
  upkeep,
  provider: providerReports,
};

/** Runs every job whenever some of it is due, until stopped. */
export function startRunner({ open, changes, log, activity }: Options) {
  const end = new AbortController();
  const backoff = new Backoff(activity);
  const claims = new Claims(open);
  const running = (Object.keys(byKind) as DueKind[]).map((kind) => {
    const withBackoff = backoff.steps(kind === 'vehicle' || kind === 'activation' ? CLAIM_PAUSE_MS : undefined);
    const tools: ClaimingTools = {
      open,
      withBackoff,
      claims,
      onError: (error) => reportFailure({ log, changes }, kind, error),
    };
    const job = byKind[kind](tools);
    const due = new WakeSignal();
    changes.follow({ due: (come) => come === kind && due.ring(), missed: () => due.ring() }, end.signal);
    return { job, loop: keepRunning(kind, job, tools, due, end.signal) };
  });
  return {
    /** Takes no new work, and resolves when what is under way has ended. */
    async stop(): Promise<void> {
      end.abort();
      await Promise.all(running.map(({ job, loop }) => loop.then(() => job.stop?.())));
    },
  };
}

function reportFailure({ log, changes }: Pick<Options, 'log' | 'changes'>, job: DueKind, error: unknown): void {
  // A long transaction, such as the storing of a large file, held a lock for longer than statements wait.
  if (isHeld(error))
    return void log.info({ job }, 'a job left rows that somebody else has locked for long; they come due again');
  changes.emit('outcome', 'job', job, 1);
  log.warn({ err: error, job }, 'a job failed; what it left undone will come due again');
}

async function keepRunning(kind: DueKind, job: Job, { open, onError }: Tools, due: WakeSignal, signal: AbortSignal) {
  const labels = { 'fleet_gateway.job': kind };
  const measured = { metric: 'fleet_gateway.job.duration', labels };
  for (let failures = 0; !signal.aborted; ) {
    try {
      const next = await traced(
        () => ({ name: `job ${kind}`, attributes: labels, measured }),
        () => job.run(signal),
      );
      failures = 0;
      const seconds = next === null ? LOOK_SECONDS : (Date.parse(next) - open().now().getTime()) / 1000;
      await due.wait({ ms: Math.min(Math.max(seconds, 0), LOOK_SECONDS) * 1000, signal });
    } catch (error) {
      onError(error);
      failures += 1;
      due.forget();
      await due.wait({ ms: Math.min(2 ** failures / 2, LONGEST_PAUSE_SECONDS) * 1000, signal });
    }
  }
}
