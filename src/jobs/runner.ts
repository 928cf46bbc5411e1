import type { Logger } from 'pino';
import type { ChangeFeed } from '../core/changes.ts';
import type { Context } from '../core/context.ts';
import { type Step, traced } from '../telemetry/telemetry.ts';
import { deliverWebhooks } from './deliver-webhooks.ts';
import type { Job } from './job.ts';
import { publish } from './publish-events.ts';
import { resumeWebhooks } from './resume-webhooks.ts';
import { upkeep } from './upkeep.ts';
import { verifyEligibility } from './verify-eligibility.ts';

export interface Runner {
  /** Takes no new work, and resolves when what is under way has ended. */
  stop(): Promise<void>;
}

interface Options {
  open: () => Context;
  changes: ChangeFeed;
  log: Logger;
}

/** A look for due work even when nothing was announced: announcements may be lost, rows come due by the clock. */
const LOOK_SECONDS = 20;
const LONGEST_PAUSE_SECONDS = 30;

/** Runs every job whenever some of it is due, until stopped. */
export function startRunner({ open, changes, log }: Options): Runner {
  const end = new AbortController();
  const onError = (error: unknown) => log.warn({ err: error }, 'a job failed; what it left undone will come due again');
  const jobs = [
    verifyEligibility(open, onError),
    publish(open),
    deliverWebhooks(open, onError),
    resumeWebhooks(open),
    upkeep(open),
  ];
  const loops = jobs.map((job) => keepRunning(job, changes, end.signal, onError));
  return {
    async stop() {
      end.abort();
      await Promise.all([...loops, ...jobs.map((job) => job.stop())]);
    },
  };
}

async function keepRunning(
  job: Job,
  changes: ChangeFeed,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  const bell = new Bell();
  const announced = (kind: string) => kind === job.kind && bell.ring();
  const missed = () => bell.ring();
  const stop = () => bell.ring();
  changes.on('due', announced).on('missed', missed);
  signal.addEventListener('abort', stop);
  for (let failures = 0; !signal.aborted; ) {
    bell.reset();
    try {
      const next = await traced(
        () => turnOf(job),
        () => job.run(signal),
      );
      failures = 0;
      const seconds = next === null ? LOOK_SECONDS : (Date.parse(next) - Date.now()) / 1000;
      if (!signal.aborted) await bell.wait(Math.min(Math.max(seconds, 0), LOOK_SECONDS));
    } catch (error) {
      onError(error);
      failures += 1;
      bell.reset();
      if (!signal.aborted) await bell.wait(Math.min(2 ** failures / 2, LONGEST_PAUSE_SECONDS));
    }
  }
  changes.off('due', announced).off('missed', missed);
  signal.removeEventListener('abort', stop);
}

/** One turn of a job, as telemetry shows it. */
function turnOf({ kind }: Job): Step {
  const labels = { 'fleet_gateway.job': kind };
  return { name: `job ${kind}`, attributes: labels, measured: { metric: 'fleet_gateway.job.duration', labels } };
}

/** A wait that ends early when somebody rings; a ring between two waits is not lost. */
class Bell {
  private rung = Promise.withResolvers<void>();

  ring(): void {
    this.rung.resolve();
  }

  reset(): void {
    this.rung = Promise.withResolvers<void>();
  }

  async wait(seconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, seconds * 1000);
    });
    await Promise.race([this.rung.promise, timeout]);
    clearTimeout(timer);
  }
}
