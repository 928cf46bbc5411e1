import { createHash, type Hash } from 'node:crypto';
import { z } from 'zod';
import { IDEMPOTENCY_HOURS } from '../companies/idempotency.ts';
import { authorize, type Context, contextWithoutClient } from '../context.ts';
import { cutText } from '../cut-text.ts';
import { transaction } from '../database.ts';
import {
  DomainError,
  FleetIdMissing,
  FleetNotFound,
  IdempotencyInProgress,
  IdempotencyKeyReused,
  ValidationFailed,
} from '../errors.ts';
import { requireFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { asTimestamptz, db, holdAdvisoryLock, newId, prepare } from '../sql/sql.ts';
import { limitPieces } from './csv/limits.ts';
import {
  deleteRejectedRows,
  deleteStagedBatches,
  type Failure,
  failImport,
  IMPORT_LEASE_SECONDS,
  isImportUnderWay,
  keepImportAlive,
  limitUploads,
  prepareImportUpdate,
} from './import-run.ts';
import {
  findFirstRejections,
  type ImportRow,
  importColumns,
  type importedVehiclesSchema,
  importFailureCodes,
  importVehiclesInput,
  readImport,
} from './imports.ts';
import { ImportStaging } from './staging.ts';
import { storeImport } from './store.ts';
import type { TableLayout } from './table.ts';

export interface UploadedFile {
  file: AsyncIterable<Buffer>;
  /** As it was sent, with its path. */
  name?: string | undefined;
  /** Aborts when the client leaves; reading ends with its request. */
  signal: AbortSignal;
  idempotencyKey?: string | undefined;
}

/** `repeated`: this is the answer of an earlier upload with the same key or importId. */
type ImportedVehicles = z.output<typeof importedVehiclesSchema> & { repeated: boolean };

/**
 * Adds the vehicles of a CSV file or an Excel workbook to a fleet, or none if the client leaves or the process ends. Throws
 * ValidationFailed with the report in `details` if every row is rejected, or any in mode atomic.
 */
export async function importVehicles(ctx: Context, input: unknown, upload: UploadedFile): Promise<ImportedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const options = readInput(importVehiclesInput, input);
  if (!options.fleetId.trim()) throw new FleetIdMissing();
  await requireFleet(ctx, company, options.fleetId);
  const begun = { ...options, fileName: fileNameOf(upload.name) };
  const { run, repeated } = await beginImport(ctx, company, begun, upload.idempotencyKey);
  const hash = createHash('sha256');
  const bytes = hashed(upload.file, hash);
  if (repeated) {
    // A file that is longer than any that was stored is another one.
    for await (const _ of limitPieces(bytes, ctx.services.config.LIMIT_FILE_BYTES, wasOther));
    if (hash.digest('hex') !== run.digest) throw wasOther();
    return reportOf(ctx, run, repeated);
  }
  // Storing a file takes long, so it neither waits for the company's requests nor delays them.
  const own = contextWithoutClient(ctx);
  const release = keepImportAlive(own, run);
  const staging = new ImportStaging(ctx, run);
  const store = async () => {
    await staging.beginStoring();
    return storeImport(own, { ...run, digest: hash.digest('hex') }, staging);
  };
  try {
    await ctx.services.files.read(bytes, {
      company,
      signal: upload.signal,
      onLayout: (layout) => keepLayout(ctx, { ...run, ...layout }),
      onBatch: (batch) => staging.add(batch),
    });
    await staging.end();
    const stored = await ctx.services.files.storing.run(company, store, () => upload.signal);
    return await reportOf(own, stored, repeated);
  } catch (error) {
    await staging.end().catch(() => {});
    const isCutOff = error === upload.signal.reason;
    const failure = isCutOff ? CUT_OFF : failureOf(error);
    // If this fails, the import's lease runs out and a worker does the same.
    await failImport(own, run, failure).catch(() => {});
    throw isCutOff ? new ValidationFailed([], failure.failure) : error;
  } finally {
    release();
  }
}

const CUT_OFF: Failure = { failure: 'The upload was cut off.', failureCode: 'UPLOAD_CUT_OFF' };
const OURS: Failure = {
  failure: 'Something went wrong on our side. Nothing was stored; send it again.',
  failureCode: 'INTERNAL',
};

const failureCodeSchema = z.enum(importFailureCodes);

function failureOf(error: unknown): Failure {
  if (!(error instanceof DomainError)) return OURS;
  const { message, code, errors: [first] = [] } = error;
  // A form or a packed file that is torn has no code of its own.
  return { failure: message, failureCode: failureCodeSchema.catch('UPLOAD_CUT_OFF').parse(first?.code ?? code) };
}

const keepLayout = prepareImportUpdate(({ columns, column, delimiter, sheet }: TableLayout) => ({
  ...{ columns, delimiter, sheet, vin_column: column },
}));

const LONGEST_NAME = 255;

/** A file's name without its path, and without control characters and those that turn the direction of what follows. */
function fileNameOf(sent = ''): string | null {
  const [name = ''] = sent.split(/[/\\]/).slice(-1);
  const plain = name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '').toWellFormed();
  return cutText(plain.trim(), LONGEST_NAME) || null;
}

async function* hashed(file: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of file) {
    hash.update(chunk);
    yield chunk;
  }
}

async function reportOf(ctx: Context, run: ImportRow, repeated: boolean): Promise<ImportedVehicles> {
  const { sheet, column, received, created, existing, rejected: refused, duplicates } = run;
  const summary = { received, created, existing, rejected: refused };
  const rejected = refused > 0 ? await findFirstRejections(ctx, run) : [];
  if (run.state === 'FAILED') {
    throw new ValidationFailed(
      rejected.map(({ row, code, message }) => ({ path: `row ${row}`, code, message })),
      run.failure ?? undefined,
      { importId: run.id, sheet, column, summary, rejected, duplicates },
      refused - rejected.length,
    );
  }
  return { import: run, sheet, column, summary, rejected, duplicates, repeated };
}

const wasOther = () =>
  new IdempotencyKeyReused('This key or importId was used before with another upload. Use a new one for a new upload.');

type ImportOptions = Pick<z.output<typeof importVehiclesInput>, 'fleetId' | 'importId' | 'mode' | 'dryRun'> &
  Partial<Pick<ImportRow, 'fileName'>>;

/** Opens the import; `repeated` is one of its id or (for 24 hours) key that completed, or of its key that was refused. */
export async function beginImport(ctx: Context, company: string, options: ImportOptions, key = '') {
  const { importId = null, fleetId, mode, dryRun, fileName = null } = options;
  const now = ctx.now();
  return transaction(ctx, async () => {
    // Two uploads of a company at once could both pass the limit.
    await holdAdvisoryLock(ctx, { name: JSON.stringify(['uploads', company]) });
    await forgetKey(ctx, { company, key, before: new Date(now.getTime() - IDEMPOTENCY_HOURS * 3_600_000) });
    // Two, if the key is that of another import than the id.
    const found = await findBefore(ctx, { company, id: importId, key, now });
    if (!found.every((one) => isSame(one, options))) throw wasOther();
    const [before] = found;
    if (before) {
      const refused = before.state === 'FAILED' && before.digest !== null && before.idempotencyKey === key;
      if (before.state === 'COMPLETED' || refused) return { run: before, repeated: true };
      if (isImportUnderWay(before.state) && !before.abandoned) {
        throw new IdempotencyInProgress('The first upload with this key or importId is still running.');
      }
    }
    await limitUploads(ctx, company);
    if (before) {
      await deleteStagedBatches(ctx, before);
      await deleteRejectedRows(ctx, before);
    }
    const { id, idempotencyKey } = before ?? { id: importId ?? newId(), idempotencyKey: key || null };
    const lease = new Date(now.getTime() + IMPORT_LEASE_SECONDS * 1000);
    await open(ctx, { id, company, fleetId, mode, dryRun, fileName, idempotencyKey, now, lease });
    const [run] = await readImport(ctx, { company, id });
    if (!run) throw new FleetNotFound();
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
    .where('started_at', '<=', asTimestamptz(p.before)),
);

const findBefore = prepare((p: { company: string; id: string | null; key: string; now: Date }) =>
  db
    .selectFrom('import')
    .select(importColumns)
    .select(({ eb }) => eb('import.due_at', '<=', asTimestamptz(p.now)).as('abandoned'))
    .where('import.company', '=', p.company)
    .where(({ eb, or }) => or([eb('import.id', '=', p.id), eb('import.idempotency_key', '=', p.key)]))
    // An import that its process is just ending looks abandoned: its end is awaited.
    .forUpdate(),
);

type NewImport = Pick<ImportRow, 'id' | 'company' | 'fleetId' | 'mode' | 'dryRun' | 'fileName' | 'idempotencyKey'>;

/** The columns of an import that begins again. */
const restarted = [
  ...(['state', 'received', 'created', 'existing', 'rejected', 'duplicates', 'columns', 'delimiter'] as const),
  ...(['file_name', 'sheet', 'vin_column', 'digest', 'failure', 'failure_code'] as const),
  ...(['started_at', 'storing_since', 'finished_at', 'due_at'] as const),
];

/** Inserts an import, or begins it again. A deletion would wait for a process that still stores the same import. */
const open = prepare((p: NewImport & { now: Date; lease: Date }) =>
  db
    .insertInto('import')
    .values({
      id: p.id,
      company: p.company,
      fleet_id: p.fleetId,
      mode: p.mode,
      dry_run: p.dryRun,
      file_name: p.fileName,
      idempotency_key: p.idempotencyKey,
      started_at: p.now,
      due_at: p.lease,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['company', 'id'])
        .doUpdateSet(({ ref }) => Object.fromEntries(restarted.map((name) => [name, ref(`excluded.${name}`)]))),
    ),
);

const isSame = (before: ImportRow, { fleetId, importId, mode, dryRun }: ImportOptions) =>
  before.id === (importId ?? before.id).toLowerCase() &&
  before.fleetId === fleetId.toLowerCase() &&
  before.mode === mode &&
  before.dryRun === dryRun;
