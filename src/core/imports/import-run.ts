import { sql, type Updateable } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { type DomainError, FleetNotFound, RateLimited, Unavailable } from '../errors.ts';
import { anyOfIds, asTimestamptz, db, prepare, type RowKey } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import {
  type ImportFailureCode,
  type ImportRow,
  type ImportState,
  importColumns,
  importExpressionBuilder,
  readImport,
} from './imports.ts';

/** The lease of a process on its running import; after it, the import counts as abandoned. */
export const IMPORT_LEASE_SECONDS = 30;
const RENEWED_EVERY_MS = 10_000;
const RETRY_SECONDS = 5;

export type ImportRunKey = RowKey & Pick<ImportRow, 'startedAt'>;

const UNDER_WAY: readonly ImportState[] = ['RUNNING', 'STORING'];
export const isImportUnderWay = (state: ImportState): boolean => UNDER_WAY.includes(state);
const underWay = importExpressionBuilder('import.state', 'in', UNDER_WAY.map(sql.lit));

export const stillRunningCondition = (p: ImportRunKey) =>
  importExpressionBuilder.and([
    importExpressionBuilder('import.id', '=', p.id),
    importExpressionBuilder('import.company', '=', p.company),
    importExpressionBuilder('import.started_at', '=', asTimestamptz(p.startedAt)),
    underWay,
  ]);

type Columns = Required<Updateable<Tables['import']>>;

/** A statement that sets these columns of an import; it gives no row if the import has ended or was started anew. */
export const prepareImportUpdate = <Name extends keyof Columns>(...names: readonly Name[]) =>
  prepare((p: ImportRunKey & Pick<Columns, Name>) =>
    db
      .updateTable('import')
      .set(Object.fromEntries(names.map((name) => [name, p[name]])))
      .where(stillRunningCondition(p))
      .returning('import.id'),
  );

const renewLease = prepareImportUpdate('due_at');

/** Renews the import's lease until the returned function is called. Where that fails, the lease runs out. */
export function keepImportAlive(ctx: Context, run: ImportRunKey): () => void {
  const renew = () => {
    const due_at = new Date(ctx.now().getTime() + IMPORT_LEASE_SECONDS * 1000);
    renewLease(ctx, { ...run, due_at }).catch(() => {});
  };
  const timer = setInterval(renew, RENEWED_EVERY_MS);
  return () => clearInterval(timer);
}

/** Keeps a file on disk until its fleet is known. Throws Forbidden, PayloadTooLarge and RateLimited. */
export async function spoolUpload(ctx: Context, file: AsyncIterable<Buffer>) {
  const company = authorize(ctx, 'fleets:write');
  const { spooling, disk } = ctx.services.files;
  const waiting = spooling.held(company);
  return spooling.run(company, async () => {
    await limitUploads(ctx, company, waiting);
    return disk.keep(file, company);
  });
}

const countRunning = prepare((p: { company: string; now: Date }) =>
  db
    .selectFrom('import')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('company', '=', p.company)
    .where('due_at', '>', asTimestamptz(p.now)),
);

/** Throws RateLimited beyond LIMIT_UPLOADS. `waiting` are the company's files that are being kept already. */
export async function limitUploads(ctx: Context, company: string, waiting = 0): Promise<void> {
  const limit = ctx.services.config.LIMIT_UPLOADS;
  const [running] = await countRunning(ctx, { company, now: ctx.now() });
  if ((running?.count ?? 0) + waiting < limit) return;
  throw new RateLimited(
    RETRY_SECONDS,
    `At most ${limit} uploads of a company run at once, and as many are running. Try again in ${RETRY_SECONDS} s.`,
  );
}

export type Failure = { failure: string; failure_code: ImportFailureCode };

const endAsFailed = prepareImportUpdate('state', 'failure', 'failure_code', 'finished_at', 'due_at');

/** Ends an import without effect on its fleet, unless it has ended or was started anew. */
export async function failImport(ctx: Context, run: ImportRunKey, failure: Failure): Promise<void> {
  await transaction(ctx, async () => {
    const end = { state: 'FAILED', finished_at: ctx.now(), due_at: null } as const;
    const [failed] = await endAsFailed(ctx, { ...run, ...failure, ...end });
    if (failed) ctx.services.changes.emit('outcome', 'import', 'FAILED', 1);
    await forgetUnowned(ctx, {});
    ctx.services.changes.announce('import', run.id);
  });
}

const findAbandoned = prepare((p: { now: Date }) =>
  db
    .selectFrom('import')
    .select(importColumns)
    .where('import.due_at', '<=', asTimestamptz(p.now))
    .orderBy('import.due_at')
    .limit(sql.lit(10)),
);

/** Fails imports whose lease has run out, and removes batches that deleted imports have left. */
export async function failAbandonedImports(ctx: Context): Promise<void> {
  const abandoned = await findAbandoned(ctx, { now: ctx.now() });
  const gone: Failure = { failure: 'The process that read the upload has gone.', failure_code: 'PROCESS_ENDED' };
  for (const run of abandoned) await failImport(ctx, run, gone);
  await forgetUnowned(ctx, {});
}

/** Deletes the batches of imports that do not run or were deleted. */
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

export const deleteStagedBatches = prepare((p: RowKey) =>
  db.deleteFrom('import_batch').where('company', '=', p.company).where('import_id', '=', p.id),
);
const forgetImports = prepare((p: { company: string; ids: readonly string[] }) =>
  db.deleteFrom('import').where('company', '=', p.company).where('id', '=', anyOfIds(p.ids)),
);

/** The error of an import that cannot go on: FleetNotFound where it was deleted with its fleet, else Unavailable. */
export async function importEndedError(
  ctx: Context,
  run: RowKey,
  message = 'The upload made no progress for too long, so it was given up. Nothing was stored; send it again.',
): Promise<DomainError> {
  const [left] = await readImport(ctx, run);
  return left ? new Unavailable(message) : new FleetNotFound();
}

const IMPORTS_AT_ONCE = 100;
const REJECTIONS_AT_ONCE = 5000;
const LAST_ROW = 2 ** 31 - 1;

/** Locks old imports; one that is being started anew has that lock already and is left out. */
const lockOld = prepare((p: { before: Date }) =>
  db
    .selectFrom('import')
    .select(['company', 'id'])
    .where('finished_at', '<', asTimestamptz(p.before))
    .where('state', 'in', [sql.lit<ImportState>('COMPLETED'), sql.lit<ImportState>('FAILED')])
    .orderBy('finished_at')
    .limit(IMPORTS_AT_ONCE)
    .forUpdate()
    .skipLocked(),
);

/** The rows of an import up to the one after the first `offset`: a range, so that any plan looks at each row once. */
const forgetRejections = prepare((p: RowKey & { offset: number }) =>
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

/** Deletes imports that are past IMPORTS_KEEP_DAYS with their rejected rows, in small steps; gives whether more are left. */
export async function trimImports(ctx: Context): Promise<boolean> {
  const before = new Date(ctx.now().getTime() - ctx.services.config.IMPORTS_KEEP_DAYS * 86_400_000);
  return transaction(ctx, async () => forgetSome(ctx, await lockOld(ctx, { before })));
}

/** Deletes a first part of these imports and their rejected rows; gives whether more are left. */
async function forgetSome(ctx: Context, imports: readonly RowKey[]): Promise<boolean> {
  let room = REJECTIONS_AT_ONCE;
  const emptied = new Set<RowKey>();
  for (const one of imports) {
    room -= (await forgetRejections(ctx, { ...one, offset: room - 1 })).length;
    if (room === 0) break;
    emptied.add(one);
  }
  for (const [company, own] of Map.groupBy(imports, (one) => one.company)) {
    const ids = own.filter((one) => emptied.has(one)).map(({ id }) => id);
    await forgetImports(ctx, { company, ids });
  }
  return room === 0 || imports.length === IMPORTS_AT_ONCE;
}

const findOfFleet = prepare((p: { company: string; fleetId: string }) =>
  db
    .selectFrom('import')
    .select(['company', 'id'])
    .where('company', '=', p.company)
    .where('fleet_id', '=', p.fleetId)
    .limit(IMPORTS_AT_ONCE),
);

/** Deletes some imports of a fleet with their rejected rows; gives whether more may be left. */
export const deleteFleetImports = async (ctx: Context, company: string, fleetId: string): Promise<boolean> =>
  forgetSome(ctx, await findOfFleet(ctx, { company, fleetId }));
