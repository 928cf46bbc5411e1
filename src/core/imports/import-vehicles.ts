import { createHash, type Hash } from 'node:crypto';
import { sql } from 'kysely';
import type { z } from 'zod';
import { authorize, type Context, detached } from '../context.ts';
import {
  DomainError,
  FleetIdMissing,
  FleetNotFound,
  IdempotencyInProgress,
  IdempotencyKeyReused,
  RateLimited,
  ValidationFailed,
} from '../errors.ts';
import { needFleet } from '../fleets/fleets.ts';
import { IDEMPOTENCY_HOURS } from '../idempotency.ts';
import { readInput } from '../input.ts';
import { newId } from '../sql/ids.ts';
import { onPrimary, transaction } from '../sql/send.ts';
import { db, holdLock, prepare } from '../sql/sql.ts';
import {
  firstRejections,
  type ImportRow,
  importColumns,
  type importedVehicles,
  importVehiclesInput,
  readImport,
  toImport,
} from './imports.ts';
import { failImport, forgetRows, isUnderWay, keepAlive, LEASE_SECONDS } from './run.ts';
import { ImportStaging } from './staging.ts';
import { storeImport } from './store.ts';
import type { TableLayout } from './table.ts';

export interface Upload {
  file: AsyncIterable<Buffer>;
  /** Aborts when the client leaves; reading ends with its request. */
  signal: AbortSignal;
  idempotencyKey?: string | undefined;
}

/** `repeated`: this is the answer of an earlier upload with the same key or importId. */
type ImportedVehicles = z.output<typeof importedVehicles> & { repeated: boolean };

/**
 * Adds the vehicles of a CSV file or an Excel workbook to a fleet: rows are set aside while the file arrives and stored in one
 * transaction at its end, so a client that goes away or a process that dies leaves the fleet as it was.
 * Throws FleetIdMissing, FleetNotFound, UnsupportedMediaType, PayloadTooLarge, RateLimited, IdempotencyInProgress,
 * IdempotencyKeyReused, and ValidationFailed (with the report in `details` when every row is rejected, or any in mode atomic).
 */
export async function importVehicles(ctx: Context, input: unknown, upload: Upload): Promise<ImportedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const wanted = readInput(importVehiclesInput, input);
  if (!wanted.fleetId.trim()) throw new FleetIdMissing();
  await needFleet(ctx, company, wanted.fleetId);
  const { run, repeated } = await beginImport(ctx, company, wanted, upload.idempotencyKey);
  const hash = createHash('sha256');
  const bytes = hashed(upload.file, hash);
  if (repeated) {
    let read = 0;
    for await (const chunk of bytes) {
      read += chunk.length;
      // Longer than any file that was stored: it cannot be the same one.
      if (read > ctx.services.config.LIMIT_FILE_BYTES) throw new IdempotencyKeyReused();
    }
    if (hash.digest('hex') !== run.digest) throw new IdempotencyKeyReused();
    return reportOf(ctx, run, repeated);
  }
  // Storing a file takes long, so it neither waits for the company's requests nor delays them.
  const own = detached(ctx);
  const release = keepAlive(own, run);
  const staging = new ImportStaging(ctx, run);
  const store = async () => {
    await staging.beginStoring();
    return storeImport(own, run, staging, hash.digest('hex'));
  };
  try {
    await ctx.services.files.read(bytes, {
      company,
      signal: upload.signal,
      onLayout: async (layout) => void (await keepLayout(onPrimary(ctx), { company, id: run.id, ...layout })),
      onBatch: (batch) => staging.add(batch),
    });
    await staging.end();
    const stored = await ctx.services.files.storing.run(company, store, () => upload.signal);
    return await reportOf(own, stored, repeated);
  } catch (error) {
    await staging.end().catch(() => {});
    const failure = error instanceof DomainError ? error.message : 'The upload was cut off.';
    // Where even this fails, the import's lease runs out and a worker does the same.
    await failImport(own, run, failure).catch(() => {});
    throw error === upload.signal.reason ? new ValidationFailed([], failure) : error;
  } finally {
    release();
  }
}

const keepLayout = prepare((p: TableLayout & { company: string; id: string }) =>
  db
    .updateTable('import')
    .set({ columns: p.columns, delimiter: p.delimiter, sheet: p.sheet })
    .where('id', '=', p.id)
    .where('company', '=', p.company),
);

async function* hashed(file: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of file) {
    hash.update(chunk);
    yield chunk;
  }
}

async function reportOf(ctx: Context, run: ImportRow, repeated: boolean): Promise<ImportedVehicles> {
  const { sheet, received, created, existing, rejected: refused, duplicates } = run;
  const summary = { received, created, existing, rejected: refused };
  const rejected = refused > 0 ? await firstRejections(onPrimary(ctx), { company: run.company, importId: run.id }) : [];
  if (run.state === 'FAILED') {
    throw new ValidationFailed(
      rejected.map(({ row, code, message }) => ({ path: `row ${row}`, code, message })),
      run.failure ?? undefined,
      { importId: run.id, sheet, summary, rejected, duplicates },
      refused - rejected.length,
    );
  }
  return { import: toImport(run), sheet, summary, rejected, duplicates, repeated };
}

const RETRY_SECONDS = 5;

type Wanted = Pick<z.output<typeof importVehiclesInput>, 'fleetId' | 'importId' | 'mode' | 'dryRun'>;

/**
 * Opens the import, or finds the one that this id, or in the last 24 hours this key, has opened before: one that completed is
 * `repeated`, and so is one whose rows were rejected under this key; one that failed or was abandoned starts anew. Throws
 * IdempotencyInProgress, IdempotencyKeyReused, RateLimited and ValidationFailed.
 */
export async function beginImport(ctx: Context, company: string, wanted: Wanted, key = '') {
  const now = ctx.now();
  const importId = wanted.importId ?? newId();
  return transaction(ctx, async () => {
    // One at a time for each company: two at once could both pass the limit.
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
      sheet: null,
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

type Opened = Omit<Wanted, 'importId'> & { id: string; company: string; key: string | null; now: Date; lease: Date };

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

/** Throws Forbidden and RateLimited before a file is kept; `waiting` are the company's files that are being kept already. */
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
