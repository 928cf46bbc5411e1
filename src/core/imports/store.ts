import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { brokenRule } from '../database-errors.ts';
import { byCaller, record } from '../events/record-events.ts';
import { holdFleet, isDeleting } from '../fleets/fleets.ts';
import { comesDue } from '../schedule.ts';
import { newId } from '../sql/ids.ts';
import { countWritten, onPrimary, transaction } from '../sql/send.ts';
import { db, prepare } from '../sql/sql.ts';
import { refreshStatistics } from '../statistics.ts';
import { makeWay } from '../vehicles/delete-vehicles.ts';
import { newVehiclesOf } from '../vehicles/insert-vehicles.ts';
import { countVehicles } from '../vehicles/tally.ts';
import { type ImportRow, readImport } from './imports.ts';
import { endedEarly, forgetBatches, type Start, stillRunning } from './run.ts';
import {
  countInserted,
  countNew,
  countStaged,
  findBatches,
  findDuplicates,
  type Ids,
  insertStaged,
  rejectStagedRows,
  tellOfNew,
  vinsOfDeleted,
} from './staged.ts';
import type { ImportStaging } from './staging.ts';

/** `beside` is `insert` where another upload has some of the same VINs. */
type How = 'insert' | 'beside' | 'count' | 'refuse';

class AtomicRejection extends Error {}

/**
 * Stores what was set aside, in one transaction, and ends the import; in mode atomic with a rejected row it stores none.
 * `digest` is the file's. Throws Unavailable when the database has lost some of it.
 */
export async function storeImport(
  ctx: Context,
  run: ImportRow,
  staging: ImportStaging,
  digest: string,
): Promise<ImportRow> {
  let how: How = run.dry_run ? 'count' : run.mode === 'atomic' && staging.rejected > 0 ? 'refuse' : 'insert';
  for (;;) {
    try {
      const done = await store(ctx, run, staging, digest, how);
      tellMetrics(ctx, done);
      ctx.services.changes.announce('import', run.id);
      return done;
    } catch (error) {
      if (error instanceof AtomicRejection) how = 'refuse';
      else if (how === 'insert' && isTakenVin(error)) how = 'beside';
      else throw error;
    }
  }
}

function tellMetrics({ services: { changes } }: Context, done: ImportRow): void {
  changes.emit('outcome', 'import', done.state, 1);
  for (const outcome of ['created', 'existing', 'rejected'] as const)
    changes.emit('outcome', 'row', outcome, done[outcome]);
}

const isTakenVin = (error: unknown) => brokenRule(error) === 'vehicle_vin';

const takeTime = prepare(() =>
  db.selectNoFrom(
    Object.entries({
      statement_timeout: '30min',
      work_mem: '64MB',
      jit: 'off',
      enable_seqscan: 'off',
    }).map(([name, value]) => sql<string>`set_config(${sql.lit(name)}, ${sql.lit(value)}, true)`.as(name)),
  ),
);

type Ended = Start &
  Pick<ImportRow, 'state' | 'received' | 'created' | 'existing' | 'rejected' | 'failure'> & {
    digest: string;
    duplicates: string;
    now: Date;
  };

const endImport = prepare((p: Ended) =>
  db
    .updateTable('import')
    .set({
      state: p.state,
      digest: p.digest,
      due_at: null,
      received: p.received,
      created: p.created,
      existing: p.existing,
      rejected: p.rejected,
      duplicates: p.duplicates,
      failure: p.failure,
      finished_at: p.now,
    })
    .where(stillRunning(p))
    .returning('id'),
);

async function store(
  ctx: Context,
  run: ImportRow,
  staging: ImportStaging,
  digest: string,
  how: How,
): Promise<ImportRow> {
  return transaction(ctx, async () => {
    // The statements below are about the whole file: they may take long, sort in memory, and gain nothing from a compiler.
    // Each VIN is looked up in the index, even where the planner takes the table for empty: it fills under their hands.
    await takeTime(onPrimary(ctx), {});
    // Others' uncommitted vehicles are waited for.
    await onPrimary(ctx)('set local lock_timeout = 0', []);
    await needAll(ctx, run, staging.good);
    const ids = idsOfOneStatement();
    const written = staging.good === 0 ? 0 : await createVehicles[how](ctx, run, ids);
    const stays = written > 0 && how !== 'count';
    // Analysed in this transaction, which alone sees the new vehicles: the next statements, and the first after the commit,
    // look them up.
    if (stays) await refreshStatistics(ctx, written);
    const created = stays ? await countCreated(ctx, run, ids, staging.good) : written;
    // New vehicles hold their fleet as well; what is told below must not come after its deletion where there are none.
    await holdFleet(ctx, run.company, run.fleet_id);
    // Vehicles that were not created are there already, in this fleet or in another.
    const elsewhere = created < staging.good ? await rejectElsewhere(ctx, run, staging) : 0;
    const existing = staging.good - created - elsewhere;
    const duplicates = existing > 0 ? await findDuplicates(onPrimary(ctx), stagedBy(run)) : [];
    const rejected = staging.rejected + elsewhere;
    if ((how === 'insert' || how === 'beside') && run.mode === 'atomic' && rejected > 0) throw new AtomicRejection();
    await forgetBatches(onPrimary(ctx), run);
    const failure = how === 'count' ? null : failureOf(how, staging.received, rejected);
    const kept = failure === null;
    const [ended] = await endImport(onPrimary(ctx), {
      ...run,
      state: kept ? 'COMPLETED' : 'FAILED',
      digest,
      received: staging.received,
      created: kept ? created : 0,
      existing: kept ? existing : 0,
      rejected,
      duplicates: JSON.stringify(duplicates),
      failure,
      now: ctx.now(),
    });
    const [done] = ended ? await readImport(onPrimary(ctx), run) : [];
    if (!done) throw await endedEarly(ctx, run);
    if (how !== 'count' && kept) await tellOf(ctx, done, ids, staging.good);
    return done;
  });
}

/** Why nothing was stored: every row was rejected, or mode atomic refused the file. null where the import succeeds. */
function failureOf(how: How, received: number, rejected: number): string | null {
  if (rejected > 0 && rejected === received) return `Every row was refused (${rejected}).`;
  return how === 'refuse' ? `${rejected} of ${received} rows were refused, so nothing was stored (mode atomic).` : null;
}

/** An unlogged table is empty after a crash of the database: half a file must not pass for the whole. */
async function needAll(ctx: Context, run: ImportRow, good: number): Promise<void> {
  const [staged] = await countStaged(onPrimary(ctx), stagedBy(run));
  if (staged?.count === good) return;
  const lost = 'The database lost part of the file while it arrived. Nothing was stored; send it again.';
  throw await endedEarly(ctx, run, lost);
}

const stagedBy = ({ id, company, fleet_id }: ImportRow) => ({ importId: id, company, fleetId: fleet_id });

/** Each gives how many vehicles are new, or at most so many. */
const createVehicles: Record<How, (ctx: Context, run: ImportRow, ids: Ids) => Promise<number>> = {
  insert: (ctx, run, ids) => insertVehicles(ctx, run, ids, false),
  beside: (ctx, run, ids) => insertVehicles(ctx, run, ids, true),
  async count(ctx, run) {
    const [row] = await countNew(onPrimary(ctx), stagedBy(run));
    return row?.count ?? 0;
  },
  refuse: async () => 0,
};

async function countCreated(ctx: Context, { company, fleet_id }: ImportRow, ids: Ids, staged: number): Promise<number> {
  const counts = await countInserted(onPrimary(ctx), { ...ids, company, staged });
  await countVehicles(
    ctx,
    counts.map((one) => ({ ...one, company, fleet_id })),
  );
  return counts.reduce((sum, { delta }) => sum + delta, 0);
}

function idsOfOneStatement(): Ids {
  const digits = newId().replaceAll('-', '');
  // Between 2^46 and 2^47, so that it keeps its 12 digits however far it is counted on.
  return { prefix: digits.slice(0, 20), start: 2 ** 46 + (Number.parseInt(digits.slice(20), 16) % 2 ** 46) };
}

/** Rejects the rows whose vehicle another fleet of the company has; gives how many there are. */
async function rejectElsewhere(ctx: Context, run: ImportRow, staging: ImportStaging): Promise<number> {
  const room = Math.max(0, ctx.services.config.LIMIT_REJECTED_ROWS - staging.kept);
  const [row] = await rejectStagedRows(onPrimary(ctx), { ...stagedBy(run), room });
  return row?.count ?? 0;
}

async function tellOf(ctx: Context, run: ImportRow, ids: Ids, staged: number): Promise<void> {
  const { company, fleet_id: fleetId, received, created, existing, rejected } = run;
  const data = { importId: run.id, received, created, existing, rejected };
  if (created > 0) {
    const told = { company, fleet_id: fleetId, staged, data: JSON.stringify({ importId: run.id }) };
    await tellOfNew(onPrimary(ctx), { ...byCaller(ctx), ...ids, ...told });
    await comesDue(ctx, 'vehicle', company);
  }
  await record(ctx, [{ type: 'import.completed', company, fleetId, data }]);
}

const anyVehicle = prepare((p: { company: string }) =>
  db.selectFrom('vehicle').select('id').where('company', '=', p.company).limit(sql.lit(1)),
);

async function insertVehicles(ctx: Context, run: ImportRow, ids: Ids, beside: boolean): Promise<number> {
  const { id: importId, company } = run;
  const [any] = await anyVehicle(onPrimary(ctx), { company });
  const known = any ? true : null;
  if (known && (await isDeleting(ctx, company))) {
    // Some at a time: a fleet that is uploaded again as soon as it was deleted may have millions.
    for (const batch of await findBatches(onPrimary(ctx), { importId, company })) {
      const deleted = await vinsOfDeleted(onPrimary(ctx), { importId, company, ...batch });
      const vins = deleted.map(({ vin }) => vin);
      if (vins.length > 0) await makeWay(ctx, company, vins);
    }
  }
  const all = { ...newVehiclesOf(ctx, company, run.fleet_id), beside: beside || null };
  return countWritten(ctx, insertStaged, { ...all, ...ids, importId, known });
}
