import { createHash, type Hash } from 'node:crypto';
import { type InferEntity, LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/sql';
import { z } from 'zod';
import { Fleet } from '../../entities/fleet.ts';
import { Import } from '../../entities/import.ts';
import { limitPieces } from '../../vin-files/index.ts';
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
import { holdAdvisoryLock, newId } from '../sql/sql.ts';
import {
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
  type importedVehiclesSchema,
  importFailureCodes,
  importVehiclesInput,
  readImport,
} from './imports.ts';
import { STAGED_STEP_BYTES } from './staged-room.ts';
import { ImportStaging } from './staging.ts';
import { storeImport } from './store.ts';

export interface UploadedFile {
  file: AsyncIterable<Buffer>;
  /** The file's name as the client sent it, perhaps with its path. */
  name?: string | undefined;
  /** Aborts when the client leaves; reading ends with its request. */
  signal: AbortSignal;
  idempotencyKey?: string | undefined;
}

/** `repeated`: this is the answer of an earlier upload with the same key or importId. */
type ImportedVehicles = z.output<typeof importedVehiclesSchema> & { repeated: boolean };

/**
 * Adds the vehicles of a CSV file or an Excel workbook to a fleet, or none if the client leaves or the process ends. Throws
 * ValidationFailed with the report in `details` if any row is rejected in mode atomic.
 */
export async function importVehicles(ctx: Context, input: unknown, upload: UploadedFile): Promise<ImportedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const options = readInput(importVehiclesInput, input);
  if (!options.fleetId.trim()) throw new FleetIdMissing();
  await requireFleet(ctx, company, options.fleetId);
  const { fence } = ctx.services;
  const work = () => runImport(ctx, company, options, upload);
  return fence ? fence.run(company, work, 'work') : work();
}

async function runImport(
  ctx: Context,
  company: string,
  options: z.output<typeof importVehiclesInput>,
  upload: UploadedFile,
): Promise<ImportedVehicles> {
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
      column: options.column,
      signal: upload.signal,
      onLayout: (layout) => keepLayout(ctx, { ...run, ...layout, vin_column: layout.column }),
      onBatch: (batch) => staging.add(batch),
    });
    await staging.end();
    const stored = await ctx.services.files.storing.run(company, store, () => ({ left: upload.signal }));
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

const CUT_OFF: Failure = { failure: 'The upload was cut off.', failure_code: 'UPLOAD_CUT_OFF' };
const OURS: Failure = {
  failure: 'Something went wrong on our side. Nothing was stored; send it again.',
  failure_code: 'INTERNAL',
};

const failureCodeSchema = z.enum(importFailureCodes);

function failureOf(error: unknown): Failure {
  if (!(error instanceof DomainError)) return OURS;
  const { message, code, errors: [first] = [] } = error;
  // A form or a packed file that is torn has no code of its own.
  return { failure: message, failure_code: failureCodeSchema.catch('UPLOAD_CUT_OFF').parse(first?.code ?? code) };
}

const keepLayout = prepareImportUpdate('columns', 'delimiter', 'sheet', 'vin_column');

const LONGEST_NAME = 255;

/** A file's name without its path, control characters and those that turn the direction of what follows; dots are no name. */
function fileNameOf(sent = ''): string | null {
  const [name = ''] = sent.split(/[/\\]/).slice(-1);
  const plain = name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '').toWellFormed();
  return cutText(plain.trim().replace(/^\.{1,2}$/, ''), LONGEST_NAME) || null;
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
  const report = { import: run, sheet, column, summary, rejected, duplicates, repeated };
  if (run.mode === 'atomic') refuseIfFailed(report);
  return report;
}

/** For REST, where a file of which nothing is accepted is an error. */
export function refuseIfFailed({ import: { id, state, failure }, repeated: _, ...report }: ImportedVehicles): void {
  if (state !== 'FAILED') return;
  const { rejected, summary } = report;
  throw new ValidationFailed(
    rejected.map(({ row, code, message }) => ({ path: `row ${row}`, code, message })),
    failure ?? undefined,
    { importId: id, ...report },
    summary.rejected - rejected.length,
  );
}

const wasOther = () =>
  new IdempotencyKeyReused('This key or importId was used before with another upload. Use a new one for a new upload.');

type ImportOptions = Pick<z.output<typeof importVehiclesInput>, 'fleetId' | 'importId' | 'mode' | 'dryRun'> &
  Partial<Pick<ImportRow, 'fileName'>>;

/** Opens the import; `repeated` is one of its id or (for 24 hours) key that completed, or of its key that was refused. */
export async function beginImport(ctx: Context, company: string, options: ImportOptions, key = '') {
  const { importId, fleetId, mode, dryRun, fileName = null } = options;
  const startedAt = ctx.now();
  return transaction(ctx, async (em) => {
    // Two uploads of a company at once could both pass the limit.
    await holdAdvisoryLock(ctx, { name: JSON.stringify(['uploads', company]) });
    const found = await findBefore(em, { company, id: importId?.toLowerCase(), key, now: startedAt });
    if (!found.every((one) => isSame(one, options))) throw wasOther();
    const [before] = found;
    const id = before?.id ?? importId ?? newId();
    const repeated = before !== undefined && isOver(before, key);
    if (before && isImportUnderWay(before.state) && before.dueAt && before.dueAt > startedAt) {
      throw new IdempotencyInProgress('The first upload with this key or importId is still running.');
    }
    if (!repeated) {
      await limitUploads(ctx, company);
      if (before) {
        await deleteStagedBatches(ctx, before);
        // With its rejected rows, and before the new one takes its id.
        await em.remove(before).flush();
      }
      const fleet = em.getReference(Fleet, [company, fleetId]);
      const idempotencyKey = before ? before.idempotencyKey : key || null;
      const dueAt = new Date(startedAt.getTime() + IMPORT_LEASE_SECONDS * 1000);
      const begun = { company, id, fleet, mode, dryRun, idempotencyKey, fileName, startedAt, dueAt };
      em.create(Import, { ...begun, stagedBytes: STAGED_STEP_BYTES });
      await em.flush();
    }
    const [run] = await readImport(ctx, { company, id });
    if (!run) throw new FleetNotFound();
    if (!repeated) ctx.services.changes.announce('import', run.id);
    return { run, repeated };
  });
}

type Found = InferEntity<typeof Import>;

interface Names {
  company: string;
  id: string | undefined;
  key: string;
  now: Date;
}

/** The imports with this id and with this key: two, if the key is that of another import. A key is forgotten after 24 hours. */
async function findBefore(em: EntityManager, { company, id, key, now }: Names): Promise<Found[]> {
  const named = [...(id ? [{ id }] : []), ...(key ? [{ idempotencyKey: key }] : [])];
  if (named.length === 0) return [];
  // An import that its process is just ending looks abandoned: its end is awaited.
  const found = await em.find(Import, { company, $or: named }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const expired = new Date(now.getTime() - IDEMPOTENCY_HOURS * 3_600_000);
  const old = found.find((one) => one.idempotencyKey === key && one.startedAt <= expired);
  if (old) {
    old.idempotencyKey = null;
    // Before another import takes the key.
    await em.flush();
  }
  return found.filter((one) => one.id === id || one.idempotencyKey === key);
}

/** Whether an import is answered again instead of begun again. */
const isOver = ({ state, digest, idempotencyKey }: Found, key: string): boolean =>
  state === 'COMPLETED' || (state === 'FAILED' && digest !== null && idempotencyKey === key);

const isSame = (before: Found, { fleetId, importId, mode, dryRun }: ImportOptions) =>
  before.id === (importId ?? before.id).toLowerCase() &&
  before.fleet.id === fleetId.toLowerCase() &&
  before.mode === mode &&
  before.dryRun === dryRun;
