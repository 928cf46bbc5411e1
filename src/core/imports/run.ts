import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { type DomainError, FleetNotFound, Unavailable } from '../errors.ts';
import { onPrimary, transaction } from '../sql/send.ts';
import { anyId, db, prepare } from '../sql/sql.ts';
import { type ImportRow, type ImportState, importColumns, oneImport, readImport } from './imports.ts';

/** The lease of a process on its running import; after it, the import counts as abandoned. */
export const LEASE_SECONDS = 30;
const RENEWED_EVERY_MS = 10_000;

export type Start = Pick<ImportRow, 'id' | 'company' | 'started_at'>;

export const isUnderWay = (state: ImportState): boolean => state === 'RUNNING' || state === 'STORING';
const underWay = oneImport('import.state', 'in', [sql.lit<ImportState>('RUNNING'), sql.lit<ImportState>('STORING')]);

/** The condition of an import that still runs since this start. */
export const stillRunning = (p: Start) =>
  oneImport.and([
    oneImport('import.id', '=', p.id),
    oneImport('import.company', '=', p.company),
    oneImport('import.started_at', '=', sql<string>`${p.started_at}::timestamptz`),
    underWay,
  ]);

const renewLease = prepare((p: Start & { until: Date }) =>
  db.updateTable('import').set({ due_at: p.until }).where(stillRunning(p)),
);

/** Moves the import's lease on until the returned function is called. Where that fails, the lease runs out. */
export function keepAlive(ctx: Context, run: ImportRow): () => void {
  const renew = () => {
    const until = new Date(ctx.now().getTime() + LEASE_SECONDS * 1000);
    renewLease(onPrimary(ctx), { ...run, until }).catch(() => {});
  };
  const timer = setInterval(renew, RENEWED_EVERY_MS);
  return () => clearInterval(timer);
}

const fail = prepare((p: Start & { failure: string; now: Date }) =>
  db
    .updateTable('import')
    .set({ state: 'FAILED', failure: p.failure, finished_at: p.now, due_at: null })
    .where(stillRunning(p))
    .returning('import.id'),
);

/** Ends an import without effect on its fleet, unless it has ended or was started anew. */
export async function failImport(ctx: Context, run: ImportRow, failure: string): Promise<void> {
  await transaction(ctx, async () => {
    const [failed] = await fail(onPrimary(ctx), { ...run, failure, now: ctx.now() });
    if (failed) ctx.services.changes.emit('outcome', 'import', 'FAILED', 1);
    await forgetUnowned(onPrimary(ctx), {});
    ctx.services.changes.announce('import', run.id);
  });
}

const findAbandoned = prepare((p: { now: Date }) =>
  db
    .selectFrom('import')
    .select(importColumns)
    .where('import.due_at', '<=', sql<string>`${p.now}::timestamptz`)
    .orderBy('import.due_at')
    .limit(sql.lit(10)),
);

/** Fails imports whose lease has run out, and removes what is left of deleted ones. */
export async function failAbandonedImports(ctx: Context): Promise<void> {
  const abandoned = await findAbandoned(onPrimary(ctx), { now: ctx.now() });
  for (const run of abandoned) await failImport(ctx, run, 'The process that read the upload has gone.');
  await forgetUnowned(onPrimary(ctx), {});
}

/** Deletes what was set aside for imports that do not run, or are no more. */
const forgetUnowned = prepare(() =>
  db
    .deleteFrom('import_batch as b')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('import')
            .whereRef('import.company', '=', 'b.company')
            .whereRef('import.id', '=', 'b.import_id')
            .where(underWay),
        ),
      ),
    ),
);

type Which = Pick<ImportRow, 'company' | 'id'>;

export const forgetBatches = prepare((p: Which) =>
  db.deleteFrom('import_batch').where('company', '=', p.company).where('import_id', '=', p.id),
);
const forgetRejected = prepare((p: Which) =>
  db.deleteFrom('import_rejection').where('company', '=', p.company).where('import_id', '=', p.id),
);

/** Deletes what an earlier start of an import has set aside and rejected. */
export async function forgetRows(ctx: Context, { company, id }: Which): Promise<void> {
  await forgetBatches(onPrimary(ctx), { company, id });
  await forgetRejected(onPrimary(ctx), { company, id });
}

/** The error of an import that cannot go on: FleetNotFound where it went with its fleet, else Unavailable with this message. */
export async function endedEarly(
  ctx: Context,
  { company, id }: ImportRow,
  message = 'The upload was taken for dead. Nothing was stored; send it again.',
): Promise<DomainError> {
  const [left] = await readImport(onPrimary(ctx), { company, id });
  return left ? new Unavailable(message) : new FleetNotFound();
}

const IMPORTS_AT_ONCE = 100;
const REJECTIONS_AT_ONCE = 5000;
const LAST_ROW = 2 ** 31 - 1;

const ENDED = [sql.lit<ImportState>('COMPLETED'), sql.lit<ImportState>('FAILED')];

const findOld = prepare((p: { before: Date }) =>
  db
    .selectFrom('import')
    .select(['company', 'id'])
    .where('finished_at', '<', sql<string>`${p.before}::timestamptz`)
    .where('state', 'in', ENDED)
    .orderBy('finished_at')
    .limit(IMPORTS_AT_ONCE),
);

interface Some {
  company: string;
  ids: readonly string[];
}

const lockOld = prepare((p: Some & { before: Date }) =>
  db
    .selectFrom('import')
    .select('id')
    .where('company', '=', p.company)
    .where('id', '=', anyId(p.ids))
    .where('finished_at', '<', sql<string>`${p.before}::timestamptz`)
    .where('state', 'in', ENDED)
    .forUpdate()
    .skipLocked(),
);

/** The rows of an import up to the one after the first `offset`: as a range, so that whatever the planner expects, each is looked at once. */
const forgetRejections = prepare((p: { company: string; id: string; offset: number }) =>
  db
    .deleteFrom('import_rejection')
    .where('company', '=', p.company)
    .where('import_id', '=', p.id)
    .where('row', '<=', ({ fn, lit, selectFrom }) =>
      fn.coalesce(
        selectFrom('import_rejection')
          .select('row')
          .where('company', '=', p.company)
          .where('import_id', '=', p.id)
          .orderBy('row')
          .limit(1)
          .offset(p.offset),
        lit(LAST_ROW),
      ),
    )
    .returning('row'),
);

const forgetImports = prepare((p: Some) =>
  db
    .deleteFrom('import')
    .where('import.company', '=', p.company)
    .where('import.id', '=', anyId(p.ids))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('import_rejection as r')
            .where('r.company', '=', p.company)
            .whereRef('r.import_id', '=', 'import.id'),
        ),
      ),
    ),
);

/** Forgets imports past their time with their rejected rows, in small steps; gives whether there may be more. */
export async function trimImports(ctx: Context): Promise<boolean> {
  const before = new Date(ctx.now().getTime() - ctx.services.config.IMPORTS_KEEP_DAYS * 86_400_000);
  const old = await findOld(onPrimary(ctx), { before });
  let more = old.length === IMPORTS_AT_ONCE;
  for (const [company, own] of Map.groupBy(old, (one) => one.company)) {
    await transaction(ctx, async () => {
      const held = await lockOld(onPrimary(ctx), { company, before, ids: own.map(({ id }) => id) });
      const ids = held.map(({ id }) => id);
      more = (await forgetSome(ctx, { company, ids })) || more;
    });
  }
  return more;
}

async function forgetSome(ctx: Context, which: Some): Promise<boolean> {
  let room = REJECTIONS_AT_ONCE;
  for (const id of which.ids) {
    room -= (await forgetRejections(onPrimary(ctx), { company: which.company, id, offset: room - 1 })).length;
    if (room === 0) break;
  }
  await forgetImports(onPrimary(ctx), which);
  return room === 0;
}

const findOfFleet = prepare((p: { company: string; fleetId: string }) =>
  db
    .selectFrom('import')
    .select('id')
    .where('company', '=', p.company)
    .where('fleet_id', '=', p.fleetId)
    .limit(IMPORTS_AT_ONCE),
);

/** Forgets some imports of a fleet with their rejected rows; gives whether there may be more. */
export async function forgetImportsOf(ctx: Context, company: string, fleetId: string): Promise<boolean> {
  const found = await findOfFleet(onPrimary(ctx), { company, fleetId });
  const more = await forgetSome(ctx, { company, ids: found.map(({ id }) => id) });
  return more || found.length === IMPORTS_AT_ONCE;
}
