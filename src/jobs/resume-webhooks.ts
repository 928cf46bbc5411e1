import type { Context } from '../core/context.ts';
import { resumeStep, webhooksToResume } from '../core/webhooks/resume-webhooks.ts';
import type { Steps } from './backoff.ts';
import type { Job } from './job.ts';

/** Gives webhooks that are active again what has waited for them: a step each in turn, so that none waits for another. */
export function resumeWebhooks(open: () => Context, withBackoff: Steps): Job {
  return {
    async run(signal) {
      const ctx = open();
      for (let left = true; left && !signal.aborted; ) {
        left = false;
        for (const webhook of await webhooksToResume(ctx))
          left = (await withBackoff(() => resumeStep(ctx, webhook))) || left;
      }
      return null;
    },
  };
}
