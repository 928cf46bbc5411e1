import { performance } from 'node:perf_hooks';
import {
  type ClaimedProgram,
  claimant,
  claimDueActivations,
  programClaimEnd,
  resumeProviders,
} from '../core/activation/due-activations.ts';
import { answerUnasked } from '../core/activation/next-look.ts';
import { findPackChanges } from '../core/activation/pack-changes.ts';
import { activationSchedule, findUnplanned } from '../core/activation/plan-activations.ts';
import { findRefusedBrands } from '../core/activation/refused-brands.ts';
import { storeActivations } from '../core/activation/store-activations.ts';
import { touchOthers } from '../core/activation/touch-activations.ts';
import type { Context } from '../core/context.ts';
import type { ClaimingTools } from './claims.ts';
import { HELD_MS, type Job, MOST_FAILURES, rounds, stepOfEach } from './job.ts';

/** Programs of one batch, and batches under way at the same time. */
const BATCH = 1000;
const BATCHES = 4;
/** The least share of a company in a batch: statements of its own for each few programs would cost more than the programs. */
const LEAST_SHARE = 200;

/** Has manufacturers begin and end the programs of contracts; companies share each batch. */
export function activateContracts(tools: ClaimingTools): Job {
  const begin = rounds(tools);
  /** What a start changes, as far as it is left: packs with other programs, brands with other names, and what was in force before manufacturers were told. */
  let changes = [findPackChanges, findRefusedBrands, findUnplanned];
  let carryOverAt = 0;

  async function carryOver(ctx: Context, signal: AbortSignal): Promise<void> {
    carryOverAt = performance.now() + HELD_MS;
    while (!signal.aborted && (await tools.withBackoff(() => resumeProviders(ctx))));
    for (const find of changes) {
      const { companies, step } = await find(ctx);
      const left = new Set(companies);
      const doOne = stepOfEach(tools, async (_, company) => {
        const more = await step(company);
        if (!more) left.delete(company);
        return more;
      });
      for (let more = true; more && !signal.aborted; ) ({ more } = await doOne(ctx, [...left], signal));
      // Left is a company whose step failed, or that moves.
      if (left.size === 0) changes = changes.filter((one) => one !== find);
    }
  }

  /** Claims a batch in the turns of the companies; `more`: those that may have more. */
  async function claim(ctx: Context, companies: readonly string[], signal: AbortSignal) {
    const share = Math.max(LEAST_SHARE, Math.floor(BATCH / companies.length));
    const attempt = begin();
    await tools.claims.open(ctx);
    const batch: ClaimedProgram[] = [];
    const more: string[] = [];
    let at = 0;
    for (; at < companies.length && batch.length < BATCH && !signal.aborted; at++) {
      const company = companies[at] as string;
      const limit = Math.min(share, BATCH - batch.length);
      const until = programClaimEnd(ctx);
      const noted = { kind: 'activation', company, until } as const;
      const claimed = await attempt(company, () =>
        tools.claims.noting(noted, () => claimDueActivations(ctx, company, limit, until)),
      );
      if (!claimed) continue;
      batch.push(...claimed.left);
      if (claimed.left.length === limit) more.push(company);
      else await activationSchedule.reschedule(ctx, company);
    }
    return { batch, left: [...companies.slice(at), ...more] };
  }

  return {
    async run(signal) {
      const ctx = tools.open();
      if (!ctx.services.config.CONTRACTS_ACTIVATION) return null;
      if (changes.length > 0 && performance.now() >= carryOverAt) await carryOver(ctx, signal);
      const underWay = new Set<Promise<void>>();
      for (;;) {
        const found = await activationSchedule.companiesDue(ctx);
        let { companies } = found;
        let claimed = 0;
        while (companies.length > 0 && !signal.aborted) {
          const claimOne = async () => {
            const { batch, left } = await tools.withBackoff(() => claim(ctx, companies, signal));
            companies = left;
            claimed += batch.length;
            const one = carryOut(tools, batch).catch(tools.onError);
            tools.claims.hold(one, new Set(batch.map(({ company }) => company)));
            underWay.add(one);
            void one.then(() => underWay.delete(one));
          };
          const claiming = claimOne();
          // Between their claim and the questions, programs are of nobody yet.
          ctx.services.fence?.hold('', claiming);
          await claiming;
          if (underWay.size >= BATCHES) await Promise.race(underWay);
        }
        if (claimed > 0 && !signal.aborted) continue;
        if (underWay.size === 0) return found.next;
        // What an answer makes due soon is not in `found`.
        await (signal.aborted ? Promise.all(underWay) : Promise.race(underWay));
      }
    },
  };
}

/** Asks the providers of a batch, and stores what they answer. */
async function carryOut(
  { open, claims, withBackoff, onError }: ClaimingTools,
  batch: readonly ClaimedProgram[],
): Promise<void> {
  const ctx = open();
  const { manufacturers } = ctx.services;
  let failures = 0;
  const asker = claimant(ctx, batch[0]?.until ?? '', () => claims.endAt);
  async function askProvider([provider, programs]: [string, readonly ClaimedProgram[]]) {
    const now = ctx.now().getTime();
    const answers = new Map(programs.map((one) => [one, answerUnasked(one, manufacturers, now)]));
    const asked = new Set(programs.filter((one) => answers.get(one) === null));
    const given = (await manufacturers.activatorOf(provider)?.activate([...asked], asker)) ?? [];
    for (const [at, program] of [...asked].entries()) answers.set(program, given[at] ?? null);
    const all = [...answers].flatMap(([program, answer]) => (answer ? { program, answer } : []));
    for (const [company, own] of Map.groupBy(all, ({ program }) => program.company)) {
      const those = (state: ClaimedProgram['state'], isMeant: (program: ClaimedProgram) => boolean) =>
        own.flatMap(({ program, answer }) =>
          answer.outcome === 'STANDS' && answer.state === state && isMeant(program) ? program : [],
        );
      // What another company wants it may have been refused, or asked to end, or have begun to want meanwhile.
      const isLeft = ({ shared, state }: ClaimedProgram) => shared && state !== 'ACTIVE';
      const ended = those('ENDED', (program) => asked.has(program) || isLeft(program));
      const begun = those('ACTIVE', ({ state }) => state !== 'ACTIVE');
      try {
        // Before the answer is stored: a process may be killed in between, and twice does no harm.
        await touchOthers(ctx, company, { provider, ended, begun });
        await withBackoff(() => storeActivations(ctx, company, own));
      } catch (error) {
        failures += 1;
        if (failures === MOST_FAILURES) throw error;
        onError(error);
      }
    }
  }
  await Promise.all([...Map.groupBy(batch, ({ provider }) => provider)].map(askProvider));
}
