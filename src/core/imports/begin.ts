import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import {
  FleetNotFound,
  IdempotencyInProgress,
  IdempotencyKeyReused,
  RateLimited,
  ValidationFailed,
} from '../errors.ts';
import { IDEMPOTENCY_HOURS } from '../idempotency.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary, transaction } from '../sql/send.ts';
import { holdLock, newId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import type { AddMode } from '../vehicles/vin-lists.ts';
import { type ImportRow, importColumns, readImport } from './imports.ts';
import { forgetRows, isUnderWay, LEASE_SECONDS } from './run.ts';

const RETRY_SECONDS = 5;

/** What an import is asked to do. */
export interface Wanted {
  fleetId: string;
  importId?: string | null | undefined;
  mode: AddMode;
  dryRun: boolean;
}

/**
 * Opens the import, or finds the one that this id, or in the last 24 hours this key, has opened before: one that completed
 * is `repeated`, and so is one whose rows were rejected under this key; one that failed or was abandoned starts anew. Throws IdempotencyInProgress for one that runs, IdempotencyKeyReused for one
 * that was asked something else, RateLimited when the company has too many uploads under way, and ValidationFailed.
 */
export async function beginImport(ctx: Context, company: string, wanted: Wanted, key = '') {
  const now = ctx.now();
  const importId = wanted.importId ?? newId();
  return transaction(ctx, async () => {
    // One at a time for each company, so that the limit is one.
    await holdLock(onPrimary(ctx), { name: JSON.stringify(['uploads', company]) });
    await forgetKey(onPrimary(ctx), { company, key, before: new Date(now.getTime() - IDEMPOTENCY_HOURS * 3_600_000) });
    const [before] = await findBefore(onPrimary(ctx), { company, id: importId, key, now });
    if (before) {
      if (!isSame(before, wanted)) throw new IdempotencyKeyReused();
      const refused = before.state === 'FAILED' && before.digest !== null && before.idempotency_key === key;
      if (before.state === 'COMPLETED' || refused) return { run: before, repeated: true };
      if (isUnderWay(before.state) && !before.abandoned) {
        throw new IdempotencyInProgress('The first upload with this key or importId is still running.');
      }
    }
    await limitUploads(ctx, company);
    const lease = new Date(now.getTime() + LEASE_SECONDS * 1000);
    if (before) await forgetRows(ctx, before);
    const { fleetId, mode, dryRun } = wanted;
    const [opened] = before
      ? await startAnew(onPrimary(ctx), { company, id: before.id, now, lease })
      : await open(onPrimary(ctx), { id: importId, company, fleetId, mode, dryRun, key: key || null, now, lease });
    const [run] = opened ? await readImport(onPrimary(ctx), { company, id: opened.id }) : [];
    if (opened && !run) throw new FleetNotFound();
    if (!run) throw new ValidationFailed([{ path: 'importId', code: 'TAKEN', message: 'is taken; choose another' }]);
    ctx.services.changes.announce('import', run.id);
    return { run, repeated: false };
  });
}

/** A key that is past its time may be used again. */
const forgetKey = prepare((p: { company: string; key: string; before: Date }) =>
  db
    .updateTable('import')
    .set({ idempotency_key: null })
    .where('company', '=', p.company)
    .where('idempotency_key', '=', p.key)
    .where('started_at', '<=', sql<string>`${p.before}::timestamptz`),
);

const findBefore = prepare((p: { company: string; id: string; key: string; now: Date }) =>
  db
    .selectFrom('import')
    .select(importColumns)
    .select(({ eb }) => eb('import.due_at', '<=', sql<string>`${p.now}::timestamptz`).as('abandoned'))
    .where('import.company', '=', p.company)
    .where(({ eb, or }) => or([eb('import.id', '=', p.id), eb('import.idempotency_key', '=', p.key)])),
);

const startAnew = prepare((p: { company: string; id: string; now: Date; lease: Date }) =>
  db
    .updateTable('import')
    .set({
      state: 'RUNNING',
      received: 0,
      created: 0,
      existing: 0,
      rejected: 0,
      duplicates: '[]',
      digest: null,
      failure: null,
      started_at: p.now,
      storing_since: null,
      finished_at: null,
      due_at: p.lease,
    })
    .where('import.id', '=', p.id)
    .where('import.company', '=', p.company)
    .returning('id'),
);

interface Opened extends Omit<Wanted, 'importId'> {
  id: string;
  company: string;
  key: string | null;
  now: Date;
  lease: Date;
}

const open = prepare((p: Opened) =>
  db
    .insertInto('import')
    .values({
      id: p.id,
      company: p.company,
      fleet_id: p.fleetId,
      mode: p.mode,
      dry_run: p.dryRun,
      idempotency_key: p.key,
      started_at: p.now,
      due_at: p.lease,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id'),
);

const isSame = (before: ImportRow, { fleetId, mode, dryRun }: Wanted) =>
  before.fleet_id === fleetId.toLowerCase() && before.mode === mode && before.dry_run === dryRun;

/**
 * For those who must keep a file before they know its fleet: throws what importVehicles would before it reads any, Forbidden
 * and RateLimited. `waiting` are such files of the company that are being kept already.
 */
export const admitUpload = (ctx: Context, { waiting }: { waiting: number }): Promise<void> =>
  limitUploads(ctx, authorize(ctx, 'fleets:write'), waiting);

const countRunning = prepare((p: { company: string; now: Date }) =>
  db
    .selectFrom('import')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('company', '=', p.company)
    .where('due_at', '>', sql<string>`${p.now}::timestamptz`),
);

async function limitUploads(ctx: Context, company: string, waiting = 0): Promise<void> {
  const limit = ctx.services.config.LIMIT_UPLOADS;
  const [running] = await countRunning(onPrimary(ctx), { company, now: ctx.now() });
  if ((running?.count ?? 0) + waiting < limit) return;
  throw new RateLimited(
    RETRY_SECONDS,
    `At most ${limit} uploads of a company run at once, and as many are running. Try again in ${RETRY_SECONDS} s.`,
  );
}
