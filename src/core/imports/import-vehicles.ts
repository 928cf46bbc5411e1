import { createHash, type Hash } from 'node:crypto';
import type { z } from 'zod';
import { authorize, type Context } from '../context.ts';
import { DomainError, FleetIdMissing, IdempotencyKeyReused, ValidationFailed } from '../errors.ts';
import { ownerOfFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';
import { beginImport } from './begin.ts';
import type { CsvLayout } from './csv/layout.ts';
import { type importedVehicles, importVehiclesInput, ROWS_SHOWN } from './import.ts';
import { firstRejections, type ImportRow, toImport } from './imports.ts';
import { failImport, keepAlive } from './run.ts';
import { ImportStaging } from './staging.ts';
import { storeImport } from './store.ts';

/** The file's bytes as they arrive, and the key that makes sending them twice safe. */
export interface Upload {
  file: AsyncIterable<Buffer>;
  /** Aborts when the client has gone: reading ends with its request. */
  signal: AbortSignal;
  idempotencyKey?: string | undefined;
}

/** `repeated`: this is what an earlier upload with the same key or importId was told. */
export type ImportedVehicles = z.output<typeof importedVehicles> & { repeated: boolean };

/**
 * Adds the vehicles of a CSV file or an Excel workbook to a fleet, as one whole: rows are set aside while the file arrives and stored in one
 * transaction at its end, so a client that goes away or a process that dies leaves the fleet as it was.
 * Throws FleetIdMissing and FleetNotFound; UnsupportedMediaType, ValidationFailed and PayloadTooLarge for files that cannot be read;
 * ValidationFailed (with the report in `details`) when every row is rejected, or any in mode atomic; RateLimited,
 * IdempotencyInProgress and IdempotencyKeyReused.
 */
export async function importVehicles(ctx: Context, input: unknown, upload: Upload): Promise<ImportedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const wanted = readInput(importVehiclesInput, input);
  if (!wanted.fleetId.trim()) throw new FleetIdMissing();
  await ownerOfFleet(ctx, company, wanted.fleetId);
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
  const release = keepAlive(ctx, run);
  const staging = new ImportStaging(ctx, run);
  try {
    await ctx.services.files.read(bytes, {
      company,
      signal: upload.signal,
      onLayout: async (layout) => void (await keepLayout(onPrimary(ctx), { company, id: run.id, ...layout })),
      onBatch: (batch) => staging.add(batch),
    });
    await staging.end();
    await staging.beginStoring();
    return await reportOf(ctx, await storeImport(ctx, run, staging, hash.digest('hex')), repeated);
  } catch (error) {
    await staging.end().catch(() => {});
    // Where even this fails, the import's lease runs out and a worker does the same.
    await failImport(ctx, run, error instanceof DomainError ? error.message : 'The upload was cut off.').catch(
      () => {},
    );
    throw error;
  } finally {
    release();
  }
}

const keepLayout = prepare((p: CsvLayout & { company: string; id: string }) =>
  db
    .updateTable('import')
    .set({ columns: p.columns, delimiter: p.delimiter })
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
  const { received, created, existing, rejected: refused, duplicates } = run;
  const summary = { received, created, existing, rejected: refused };
  const which = { company: run.company, importId: run.id, limit: ROWS_SHOWN };
  const rejected = refused > 0 ? await firstRejections(onPrimary(ctx), which) : [];
  if (run.state === 'FAILED') {
    throw new ValidationFailed(
      rejected.map(({ row, code, message }) => ({ path: `row ${row}`, code, message })),
      run.failure ?? undefined,
      { importId: run.id, summary, rejected, duplicates },
      refused - rejected.length,
    );
  }
  return { import: toImport(run), summary, rejected, duplicates, repeated };
}
