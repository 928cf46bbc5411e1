import { sql } from 'kysely';
import { scheduleNow } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { counted } from '../counted.ts';
import { ChangedMeanwhile, transaction, writeMany } from '../database.ts';
import { violatedConstraint } from '../database-errors.ts';
import { callerOrigin, recordEvents } from '../events/record-events.ts';
import { hasFleetsInDeletion, shareLockFleet } from '../fleets/fleets.ts';
import { db, newId, prepare } from '../sql/sql.ts';
import { refreshStatistics } from '../sql/statistics.ts';
import { deleteLeftoverVehicles } from '../vehicles/delete-vehicles.ts';
import { newVehicleParams } from '../vehicles/insert-vehicles.ts';
import { updateVehicleTally } from '../vehicles/tally.ts';
import { deleteStagedBatches, type Failure, importEndedError, prepareImportUpdate } from './import-run.ts';
import { type ImportRow, readImport } from './imports.ts';
import {
  countInsertedVehicles,
  countNewVehicles,
  findDuplicateRows,
  findStagedBatches,
  findVinsInDeletion,
  insertStagedVehicles,
  type NewIdRange,
  recordAddedVehicles,
  rejectStagedRows,
} from './staged.ts';
import type { ImportStaging } from './staging.ts';

/** `beside` inserts where another upload has some of the same VINs. */
type StoreMode = 'insert' | 'beside' | 'count' | 'refuse';

const inserts = (mode: StoreMode): boolean => mode === 'insert' || mode === 'beside';

class AtomicRejection extends Error {}

/** Stores the staged rows and ends the import, in one transaction. Throws Unavailable if the database has lost some of them. */
export async function storeImport(ctx: Context, run: ImportRow, staging: ImportStaging): Promise<ImportRow> {
  let mode: StoreMode = run.dryRun ? 'count' : run.mode === 'atomic' && staging.rejected > 0 ? 'refuse' : 'insert';
  for (;;) {
    try {
      const done = await store(ctx, run, staging, mode);
      const { changes } = ctx.services;
      changes.emit('outcome', 'import', done.state, 1);
      for (const outcome of ['created', 'existing', 'rejected'] as const)
        changes.emit('outcome', 'row', outcome, done[outcome]);
      changes.announce('import', run.id);
      return done;
    } catch (error) {
      if (error instanceof AtomicRejection) mode = 'refuse';
      else if (mode === 'insert' && violatedConstraint(error) === 'vehicle_vin') mode = 'beside';
      // Every repetition means that another transaction succeeded, so repetitions end.
      else if (!(error instanceof ChangedMeanwhile)) throw error;
      else if (mode === 'refuse') mode = 'insert';
    }
  }
}

const settings = { statement_timeout: '30min', work_mem: '64MB', jit: 'off', enable_seqscan: 'off', lock_timeout: '0' };

const takeTime = prepare(() =>
  db.selectNoFrom(
    Object.entries(settings).map(([name, value]) =>
      sql<string>`set_config(${sql.lit(name)}, ${sql.lit(value)}, true)`.as(name),
    ),
  ),
);

const endImport = prepareImportUpdate(
  ...(['state', 'digest', 'received', 'created', 'existing', 'rejected', 'duplicates'] as const),
  ...(['failure', 'failure_code', 'finished_at', 'due_at'] as const),
);

async function store(ctx: Context, run: ImportRow, staging: ImportStaging, mode: StoreMode): Promise<ImportRow> {
  return transaction(ctx, async () => {
    // The statements below are about the whole file: they may take long, sort in memory, and gain nothing from a compiler.
    // Each VIN is looked up in the index, even where the planner takes the table for empty, since it fills meanwhile.
    // Vehicles that other transactions have not committed are waited for.
    await takeTime(ctx, {});
    const batches = await findStagedBatches(ctx, run);
    const staged = batches.reduce((sum, { count }) => sum + count, 0);
    // An unlogged table is empty after a crash of the database: half a file must not pass for the whole.
    if (staged !== staging.good) throw await importEndedError(ctx, run, LOST);
    const ids = idsOfOneStatement(staging.good);
    const written = staging.good === 0 ? 0 : await createVehicles(ctx, run, { ids, mode, batches });
    const stays = written > 0 && mode !== 'count';
    // Analysed here, since only this transaction sees the new vehicles, and the next statements look them up.
    if (stays) await refreshStatistics(ctx, written);
    const created = stays ? await countCreated(ctx, run, ids) : written;
    // New vehicles hold their fleet as well; without any, the events below must not follow the fleet's deletion.
    await shareLockFleet(ctx, run.company, run.fleetId);
    // Vehicles that were not created are there already, in this fleet or in another.
    const elsewhere = created < staging.good ? await rejectElsewhere(ctx, run, staging, mode) : 0;
    const existing = staging.good - created - elsewhere;
    const duplicates = existing > 0 ? await findDuplicateRows(ctx, run) : [];
    const rejected = staging.rejected + elsewhere;
    if (inserts(mode) && run.mode === 'atomic' && rejected > 0) throw new AtomicRejection();
    // What another fleet had, it has no longer.
    if (mode === 'refuse' && rejected === 0) throw new ChangedMeanwhile();
    await deleteStagedBatches(ctx, run);
    const failed = mode === 'count' ? null : failureOf(mode, staging.received, rejected);
    const succeeds = failed === null;
    const [ended] = await endImport(ctx, {
      ...run,
      state: succeeds ? 'COMPLETED' : 'FAILED',
      received: staging.received,
      created: succeeds ? created : 0,
      existing: succeeds ? existing : 0,
      rejected,
      duplicates: JSON.stringify(duplicates),
      ...(failed ?? { failure: null, failure_code: null }),
      finished_at: ctx.now(),
      due_at: null,
    });
    const [done] = ended ? await readImport(ctx, run) : [];
    if (!done) throw await importEndedError(ctx, run);
    if (mode !== 'count' && succeeds) await recordImport(ctx, done, ids);
    return done;
  });
}

/** Why nothing was stored: every row was rejected, or mode atomic refused the file. null where the import succeeds. */
function failureOf(mode: StoreMode, received: number, rejected: number): Failure | null {
  if (rejected > 0 && rejected === received)
    return { failure: `Every row was rejected (${rejected}).`, failure_code: 'EVERY_ROW_REJECTED' };
  if (mode !== 'refuse') return null;
  const failure = `Nothing was stored (mode atomic), because of ${counted(rejected, 'rejected row')} among ${received}.`;
  return { failure, failure_code: 'ROWS_REJECTED' };
}

const LOST = 'The database lost part of the file while it arrived. Nothing was stored; send it again.';

async function countCreated(ctx: Context, { company, fleetId }: ImportRow, ids: NewIdRange): Promise<number> {
  const counts = await countInsertedVehicles(ctx, { ...ids, company });
  await updateVehicleTally(
    ctx,
    counts.map((one) => ({ ...one, company, fleet_id: fleetId })),
  );
  return counts.reduce((sum, { delta }) => sum + delta, 0);
}

function idsOfOneStatement(most: number): NewIdRange {
  const digits = newId().replaceAll('-', '');
  // Between 2^46 and 2^47, so that it keeps its 12 digits however far it is counted on.
  return { prefix: digits.slice(0, 20), start: 2 ** 46 + (Number.parseInt(digits.slice(20), 16) % 2 ** 46), most };
}

/**
 * Rejects the rows whose vehicle another fleet of the company has; gives how many there are.
 * Throws ChangedMeanwhile if vehicles that were not created, since they were there, are gone.
 */
async function rejectElsewhere(ctx: Context, run: ImportRow, staging: ImportStaging, mode: StoreMode): Promise<number> {
  const { rows: room, bytes } = staging.roomForRejected;
  const [row] = await rejectStagedRows(ctx, { ...run, room, bytes });
  if (inserts(mode) && row && row.missing > 0) throw new ChangedMeanwhile();
  return row?.count ?? 0;
}

async function recordImport(ctx: Context, run: ImportRow, ids: NewIdRange): Promise<void> {
  const { id: importId, company, fleetId, fileName, received, created, existing, rejected } = run;
  if (created > 0) {
    const added = { company, fleetId, data: JSON.stringify({ importId }) };
    await recordAddedVehicles(ctx, { ...callerOrigin(ctx), ...ids, ...added });
    await scheduleNow(ctx, 'vehicle', company);
  }
  const data = { importId, fileName, received, created, existing, rejected };
  await recordEvents(ctx, [{ type: 'import.completed', company, fleetId, data }]);
}

const anyVehicle = prepare((p: { company: string }) =>
  db.selectFrom('vehicle').select('id').where('company', '=', p.company).limit(sql.lit(1)),
);

type Creation = { ids: NewIdRange; mode: StoreMode; batches: readonly { first_row: number }[] };

/** Creates the vehicles as the mode says; gives how many are new, or at most so many. */
async function createVehicles(ctx: Context, run: ImportRow, { ids, mode, batches }: Creation): Promise<number> {
  if (mode === 'refuse') return 0;
  if (mode === 'count') return (await countNewVehicles(ctx, run))[0]?.count ?? 0;
  const { id, company } = run;
  const [any] = await anyVehicle(ctx, { company });
  const known = any ? true : null;
  if (known && (await hasFleetsInDeletion(ctx, company))) {
    // Some at a time: a fleet that is uploaded again as soon as it was deleted may have millions.
    for (const batch of batches) {
      const deleted = await findVinsInDeletion(ctx, { id, company, ...batch });
      const vins = deleted.map(({ vin }) => vin);
      if (vins.length > 0) await deleteLeftoverVehicles(ctx, company, vins);
    }
  }
  const all = { ...newVehicleParams(ctx, company, run.fleetId), beside: mode === 'beside' || null };
  let written = 0;
  const insert = async (text: string, values: readonly unknown[]) => {
    written = await writeMany(ctx, text, values);
    return [];
  };
  await insertStagedVehicles(insert, { ...all, ...ids, id, known });
  return written;
}
