import { createHash, type Hash } from 'node:crypto';
import { sql } from 'kysely';
import { z } from 'zod';
import { addMode, type Summary } from './add-vehicles.ts';
import { announce } from './changes.ts';
import { type Context, companyOf } from './context.ts';
import { readCsv } from './csv.ts';
import { DomainError, IdempotencyInProgress, IdempotencyKeyReused, ValidationFailed } from './errors.ts';
import { ownerOfFleet } from './fleets.ts';
import { stageRows, storeImport } from './import-stages.ts';
import {
  IMPORT_LEASE_SECONDS,
  type Import,
  type ImportRow,
  importColumns,
  listRejections,
  type RejectedRow,
  toImport,
} from './imports.ts';
import { id, readInput } from './input.ts';
import { newId, write } from './sql.ts';

export const importVehiclesInput = z.object({
  fleetId: id,
  importId: z.uuid('must be a UUID').nullish(),
  mode: addMode.nullish().transform((mode) => mode ?? 'partial'),
  dryRun: z
    .boolean('is true or false')
    .nullish()
    .transform((dryRun) => dryRun ?? false),
});

/** The file's bytes as they arrive, and the key that makes sending them twice safe. */
export interface Upload {
  file: AsyncIterable<Buffer>;
  idempotencyKey?: string | undefined;
}

export interface ImportedVehicles {
  import: Import;
  summary: Summary;
  /** The first of the refused rows. */
  rejected: RejectedRow[];
}

const REJECTED_SHOWN = 100;
const limits = { rowLength: 64 * 1024, columns: 256, fieldLength: 8 * 1024, rows: 50_000_000 };

/**
 * Adds the vehicles of a CSV file to a fleet, as one whole: rows are set aside while the file arrives and stored in one
 * transaction at its end, so a client that goes away or a process that dies leaves the fleet as it was.
 * Throws FleetNotFound; UnsupportedMediaType, ValidationFailed and PayloadTooLarge for files that cannot be read;
 * ValidationFailed (with the report in `details`) when every row is refused, or any in mode atomic.
 */
export async function importVehicles(ctx: Context, input: unknown, upload: Upload): Promise<ImportedVehicles> {
  const company = companyOf(ctx, 'fleets:write');
  const wanted = readInput(importVehiclesInput, input);
  await ownerOfFleet(ctx, company, wanted.fleetId);
  const hash = createHash('sha256');
  const bytes = hashed(upload.file, hash);
  const { run, repeated } = await beginImport(ctx, company, wanted, upload.idempotencyKey);
  if (repeated) {
    for await (const _ of bytes);
    if (hash.digest('hex') !== run.digest) throw new IdempotencyKeyReused();
    return reportOf(ctx, run);
  }
  try {
    const table = await readCsv(bytes, { ...limits, bytes: ctx.services.config.LIMIT_FILE_BYTES });
    await write(
      ctx,
      sql`update import set columns = ${table.columns}::text[], delimiter = ${table.delimiter} where id = ${run.id}`,
    );
    for await (const rows of table.rows) await stageRows(ctx, run, rows);
    return await reportOf(ctx, await storeImport(ctx, run, hash.digest('hex')));
  } catch (error) {
    // Where even this fails, the import's lease runs out and a worker does the same.
    await failImport(ctx, run.id, error instanceof DomainError ? error.message : 'The upload was cut off.').catch(
      () => {},
    );
    throw error;
  }
}

async function* hashed(file: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of file) {
    hash.update(chunk);
    yield chunk;
  }
}

type Wanted = z.output<typeof importVehiclesInput>;

/**
 * Opens the import, or finds the one that this key or id has opened before: one that completed is `repeated`,
 * one that failed starts anew, one that runs is IdempotencyInProgress.
 */
async function beginImport(ctx: Context, company: string, wanted: Wanted, key = '') {
  const importId = wanted.importId ?? newId();
  const lease = sql`${ctx.now()}::timestamptz + make_interval(secs => ${IMPORT_LEASE_SECONDS})`;
  const [created] = await write<ImportRow>(
    ctx,
    sql`insert into import as i (id, company, fleet_id, mode, dry_run, idempotency_key, started_at, due_at)
        values (${importId}, ${company}, ${wanted.fleetId}, ${wanted.mode}, ${wanted.dryRun}, nullif(${key}, ''),
          ${ctx.now()}::timestamptz, ${lease})
        on conflict do nothing returning ${importColumns}`,
  );
  if (created) return { run: created, repeated: false };
  const [before] = await write<ImportRow>(
    ctx,
    sql`select ${importColumns} from import i where i.company = ${company} and (i.id = ${importId} or i.idempotency_key = ${key})`,
  );
  if (!before) throw new ValidationFailed([{ path: 'importId', code: 'TAKEN', message: 'is taken; choose another' }]);
  const same =
    before.fleet_id === wanted.fleetId.toLowerCase() && before.mode === wanted.mode && before.dry_run === wanted.dryRun;
  if (!same) throw new IdempotencyKeyReused();
  if (before.state === 'COMPLETED') return { run: before, repeated: true };
  const [restarted] = await write<ImportRow>(
    ctx,
    sql`with gone as (delete from import_rejection where import_id = ${before.id})
        update import i set state = 'RUNNING', received = 0, created = 0, existing = 0, rejected = 0, failure = null,
          started_at = ${ctx.now()}::timestamptz, finished_at = null, due_at = ${lease}
        where i.id = ${before.id} and i.state = 'FAILED' returning ${importColumns}`,
  );
  if (!restarted) throw new IdempotencyInProgress('The first upload with this key or importId is still running.');
  return { run: restarted, repeated: false };
}

/** Ends a running import without effect on its fleet. */
export async function failImport(ctx: Context, importId: string, failure: string): Promise<void> {
  await ctx.em.transactional(async () => {
    await write(ctx, sql`delete from import_row where import_id = ${importId}`);
    await write(
      ctx,
      sql`update import set state = 'FAILED', failure = ${failure}, finished_at = ${ctx.now()}::timestamptz, due_at = null
          where id = ${importId} and state = 'RUNNING'`,
    );
    await write(ctx, announce.import(importId));
  });
}

/** Fails the imports whose process has gone: nobody has moved their lease on. Gives how many there were. */
export async function failAbandonedImports(ctx: Context): Promise<number> {
  const abandoned = await write<{ id: string }>(
    ctx,
    sql`select id from import where due_at <= ${ctx.now()}::timestamptz order by due_at limit 10`,
  );
  for (const { id: importId } of abandoned)
    await failImport(ctx, importId, 'The process that read the upload has gone.');
  return abandoned.length;
}

async function reportOf(ctx: Context, run: ImportRow): Promise<ImportedVehicles> {
  const { received, created, existing, rejected: refused } = run;
  const summary = { received, created, existing, rejected: refused };
  const rejected = refused > 0 ? await listRejections(ctx, { importId: run.id, limit: REJECTED_SHOWN }) : [];
  if (!run.dry_run && (run.state === 'FAILED' || (refused === received && received > 0))) {
    throw new ValidationFailed(
      rejected.map(({ row, code, message }) => ({ path: `row ${row}`, code, message })),
      refused === received
        ? `Every row was refused (${refused}).`
        : `${refused} of ${received} rows were refused, so nothing was stored (mode atomic).`,
      { importId: run.id, summary, rejected },
    );
  }
  return { import: toImport(run), summary, rejected };
}
