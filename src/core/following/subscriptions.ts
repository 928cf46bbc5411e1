import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { EligibilityNews } from '../changes.ts';
import { authorize, type Context, renewed } from '../context.ts';
import { ImportNotFound, Unavailable } from '../errors.ts';
import { ownerOfFleet } from '../fleets/fleets.ts';
import { ofFleetThatIsThere } from '../fleets/there.ts';
import type { Import } from '../imports/import.ts';
import { getImport } from '../imports/imports.ts';
import { Signal } from '../signal.ts';
import { prepareVariants } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { anyId, isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import type { Vehicle } from '../vehicles/vehicle.ts';
import { vehicleObject } from '../vehicles/vehicles.ts';

/** Vehicles that may wait for a slow reader: each once, its latest answer counts. */
const WAITING_MAX = 10_000;
/** Vehicles that are read in one statement. */
const BATCH = 100;
/** How far the clocks of two processes, and a transaction's beginning and end, may lie apart. */
const MARGIN_MS = 60_000;

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
  const fleetId = input.fleetId ?? null;
  if (fleetId !== null) await ownerOfFleet(ctx, company, fleetId);

  const news = new Signal();
  const waiting = new Set<string>();
  let heardAt = ctx.now();
  let missedSince: Date | null = null;
  const hear = ({ company: whose, vehicles }: EligibilityNews) => {
    if (whose !== company) return;
    if (waiting.size <= WAITING_MAX) for (const [id] of vehicles ?? []) waiting.add(id);
    heardAt = ctx.now();
    news.ring();
  };
  const missed = () => {
    missedSince ??= new Date(heardAt.getTime() - MARGIN_MS);
    news.ring();
  };
  const stop = ctx.services.changes.follow({ eligibility: hear, missed }, signal);

  async function* answers(): AsyncGenerator<Vehicle> {
    try {
      while (await news.wait({ signal })) {
        if (missedSince) {
          const which = { company, fleetId, since: missedSince };
          for (const { id } of await findVerified(onPrimary(renewed(ctx)), which)) waiting.add(id);
          missedSince = null;
        }
        if (waiting.size > WAITING_MAX) {
          throw new Unavailable('More has changed than could be kept for you. Read the state and subscribe again.', 1);
        }
        while (waiting.size > 0 && !signal.aborted) {
          const ids = [...waiting.values().take(BATCH)];
          for (const id of ids) waiting.delete(id);
          for (const { json } of await findVehicles(onPrimary(renewed(ctx)), { company, fleetId, ids })) yield json;
        }
      }
    } finally {
      stop();
    }
  }
  return answers();
}

// Both are sent to the primary: the news may be ahead of the replicas.

interface Some {
  company: string;
  fleetId: string | null;
  ids: readonly string[];
}
const findVehicles = prepareVariants<Some>()(['fleetId'], (p, has) =>
  db
    .selectFrom('vehicle as v')
    .select(vehicleObject.as('json'))
    .where('v.company', '=', p.company)
    .where('v.id', '=', anyId(p.ids))
    .where(ofFleetThatIsThere('v', p.company))
    .$if(has.fleetId, (q) => q.where('v.fleet_id', '=', p.fleetId)),
);

const findVerified = prepareVariants<{ company: string; fleetId: string | null; since: Date }>()(
  ['fleetId'],
  (p, has) => {
    const verified = db
      .selectFrom('vehicle')
      .select('id')
      .where('company', '=', p.company)
      .where('verified_at', '>=', sql<string>`${p.since}::timestamptz`)
      .orderBy('verified_at')
      .limit(WAITING_MAX + 1);
    return has.fleetId ? verified.where('fleet_id', '=', p.fleetId) : verified;
  },
);

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
  authorize(ctx, 'fleets:read');
  if (!isId(importId)) throw new ImportNotFound();
  const moved = new Signal();
  const stop = ctx.services.changes.follow(
    { import: (id) => id === importId.toLowerCase() && moved.ring(), missed: () => moved.ring() },
    signal,
  );
  moved.ring();

  async function* states(): AsyncGenerator<Import> {
    try {
      while (await moved.wait({ signal })) {
        const run = await importOrNull(renewed(ctx), importId);
        if (!run) continue;
        yield run;
        if (run.state !== 'RUNNING') return;
        await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
      }
    } finally {
      stop();
    }
  }
  return states();
}

async function importOrNull(ctx: Context, id: string): Promise<Import | null> {
  try {
    return await getImport(ctx, { id });
  } catch (error) {
    if (error instanceof ImportNotFound) return null;
    throw error;
  }
}
