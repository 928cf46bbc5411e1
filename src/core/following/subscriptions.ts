import { setTimeout as delay } from 'node:timers/promises';
import { authorize, type Context, renewed } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { needFleet } from '../fleets/fleets.ts';
import type { Source } from '../followers.ts';
import { getImport, type Import } from '../imports/imports.ts';
import { isUnderWay } from '../imports/run.ts';
import { isId } from '../sql/sql.ts';
import type { Vehicle } from '../vehicles/vehicle.ts';
import { CompanyAnswers } from './company-answers.ts';

/**
 * The vehicles of the caller's company (of one fleet, if named), each when it has a new answer, until the signal aborts.
 * Throws FleetNotFound now; Unavailable later for a reader so slow that answers would be lost.
 */
export async function eligibilityChanges(
  ctx: Context,
  input: { fleetId?: string | null | undefined },
  signal: AbortSignal,
): Promise<AsyncGenerator<Vehicle>> {
  const company = authorize(ctx, 'fleets:read');
  const fleetId = input.fleetId?.toLowerCase() ?? null;
  if (fleetId !== null) await needFleet(ctx, company, fleetId);
  const open = () => new CompanyAnswers(company, ctx);
  const { source, follower, leave } = ctx.services.followers.join(['eligibility', company], open, signal);
  const readNext = source.readFrom(follower);

  async function* answers(): AsyncGenerator<Vehicle> {
    try {
      while (await follower.wait({ signal })) {
        do {
          for (const vehicle of await readNext(renewed(ctx))) {
            if (fleetId === null || vehicle.fleetId === fleetId) yield vehicle;
          }
        } while (follower.heard < source.last && !signal.aborted);
      }
    } finally {
      leave();
    }
  }
  return answers();
}

/** Ten events a second at most. */
const PAUSE_MS = 100;

/**
 * An import of the caller's company each time it has moved on, until it has ended or the signal aborts. It need not
 * exist yet. Throws ImportNotFound for what cannot be an id.
 */
export async function importChanges(
  ctx: Context,
  { importId }: { importId: string },
  signal: AbortSignal,
): Promise<AsyncGenerator<Import>> {
  const company = authorize(ctx, 'fleets:read');
  if (!isId(importId)) throw new ImportNotFound();
  const id = importId.toLowerCase();
  const { followers } = ctx.services;
  const { source, follower, leave } = followers.join(['import', company, id], () => new ImportState(id), signal);
  const read = async () => followers.share(await getImport(renewed(ctx), { id }));
  follower.ring();

  async function* states(): AsyncGenerator<Import> {
    try {
      while (await follower.wait({ signal })) {
        const run = await source.once(read);
        if (!run) continue;
        yield run;
        if (!isUnderWay(run.state)) return;
        await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
      }
    } finally {
      leave();
    }
  }
  return states();
}

/** An import as it is, read once after each news of it. */
class ImportState implements Source {
  readonly listeners;
  #state: Promise<Import | null> | null = null;

  constructor(id: string) {
    const moved = () => {
      this.#state = null;
      return true;
    };
    this.listeners = { import: (of: string) => of === id && moved(), missed: moved };
  }

  refresh(): boolean {
    this.#state = null;
    return false;
  }

  /** Null while there is none. */
  once(read: () => Promise<Import>): Promise<Import | null> {
    this.#state ??= read().catch((error) => {
      if (error instanceof ImportNotFound) return null;
      this.#state = null;
      throw error;
    });
    return this.#state;
  }
}
