import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { type DomainError, FleetNotFound, Unavailable } from '../errors.ts';
import { ofFleetThatIsThere } from '../fleets/fleet.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary, transaction } from '../sql/send.ts';
import { db } from '../sql/tables.ts';
import { type ImportRow, type ImportState, importColumns, oneImport } from './imports.ts';

/** A running import is its process's for so long; then it counts as abandoned. */
export const LEASE_SECONDS = 30;
const RENEWED_EVERY_MS = 10_000;

export interface Start {
  id: string;
  company: string;
  startedAt: string;
}
export const startOf = (run: ImportRow): Start => ({ id: run.id, company: run.company, startedAt: run.started_at });

export const isUnderWay = (state: ImportState): boolean => state === 'RUNNING' || state === 'STORING';
const underWay = oneImport('import.state', 'in', [sql.lit<ImportState>('RUNNING'), sql.lit<ImportState>('STORING')]);

/** This start of this import, as long as nobody has ended it. */
export const stillRunning = (p: Start) =>
  oneImport.and([
    oneImport('import.id', '=', p.id),
    oneImport('import.company', '=', p.company),
    oneImport('import.started_at', '=', sql<string>`${p.startedAt}::timestamptz`),
    underWay,
  ]);

const renewLease = prepare((p: Start & { until: Date }) =>
  db.updateTable('import').set({ due_at: p.until }).where(stillRunning(p)),
);

/** Moves the import's lease on until the returned function is called. Where that fails, the lease runs out. */
export function keepAlive(ctx: Context, run: ImportRow): () => void {
  const renew = () => {
    const until = new Date(ctx.now().getTime() + LEASE_SECONDS * 1000);
    renewLease(onPrimary(ctx), { ...startOf(run), until }).catch(() => {});
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

/** Ends an import without effect on its fleet. One that has ended, or was started anew by somebody else, stays as it is. */
export async function failImport(ctx: Context, run: ImportRow, failure: string): Promise<void> {
  await transaction(ctx, async () => {
    const [failed] = await fail(onPrimary(ctx), { ...startOf(run), failure, now: ctx.now() });
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

/** Fails the imports whose process has gone: nobody has moved their lease on. What is left of deleted ones goes too. */
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

const isThere = prepare((p: { company: string; id: string }) =>
  db
    .selectFrom('import')
    .select('id')
    .where('id', '=', p.id)
    .where('company', '=', p.company)
    .where(ofFleetThatIsThere('import', p.company)),
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
  const [left] = await isThere(onPrimary(ctx), { company, id });
  return left ? new Unavailable(message) : new FleetNotFound();
}
