import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import {
  type DomainError,
  FleetNotFound,
  IdempotencyInProgress,
  IdempotencyKeyReused,
  RateLimited,
  Unavailable,
  ValidationFailed,
} from '../errors.ts';
import { IDEMPOTENCY_HOURS } from '../idempotency.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { newId } from '../sql/sql.ts';
import { type ImportRow, importColumns } from './imports.ts';

/** A running import is its process's for so long; then it counts as abandoned. */
const LEASE_SECONDS = 30;
const RENEWED_EVERY_MS = 10_000;
const RETRY_SECONDS = 5;

/** What an import is asked to do. */
export interface Wanted {
  fleetId: string;
  importId?: string | null | undefined;
  mode: 'partial' | 'atomic';
  dryRun: boolean;
}

/**
 * Opens the import, or finds the one that this id, or in the last 24 hours this key, has opened before: one that completed
 * is `repeated`, and so is one whose rows were refused under this key; one that failed or was abandoned starts anew. Throws IdempotencyInProgress for one that runs, IdempotencyKeyReused for one
 * that was asked something else, RateLimited when the company has too many uploads under way, and ValidationFailed.
 */
export async function beginImport(ctx: Context, company: string, wanted: Wanted, key = '') {
  const now = ctx.now();
  const importId = wanted.importId ?? newId();
  return ctx.em.transactional(async () => {
    // One at a time for each company, so that the limit is one.
    await execute(
      onPrimary(ctx),
      sql`select pg_advisory_xact_lock(hashtextextended(${JSON.stringify(['uploads', company])}::text, 0))`,
    );
    await forgetKey(ctx, company, key);
    const [before] = await execute<ImportRow & { abandoned: boolean }>(
      onPrimary(ctx),
      sql`select ${importColumns}, i.due_at <= ${now}::timestamptz as abandoned from import i
          where i.company = ${company} and (i.id = ${importId} or i.idempotency_key = ${key})`,
    );
    if (before) {
      if (!isSame(before, wanted)) throw new IdempotencyKeyReused();
      const refused = before.state === 'FAILED' && before.digest !== null && before.idempotency_key === key;
      if (before.state === 'COMPLETED' || refused) return { run: before, repeated: true };
      if (before.state === 'RUNNING' && !before.abandoned) {
        throw new IdempotencyInProgress('The first upload with this key or importId is still running.');
      }
    }
    await limitUploads(ctx, company);
    const lease = sql`${now}::timestamptz + make_interval(secs => ${LEASE_SECONDS})`;
    if (before) await forgetRows(ctx, before.id);
    const [run] = await execute<ImportRow>(
      onPrimary(ctx),
      before
        ? sql`update import i set state = 'RUNNING', received = 0, created = 0, existing = 0, rejected = 0,
                duplicates = '[]', digest = null, failure = null, started_at = ${now}::timestamptz, finished_at = null, due_at = ${lease}
              where i.id = ${before.id} returning ${importColumns}`
        : sql`insert into import as i (id, company, fleet_id, mode, dry_run, idempotency_key, started_at, due_at)
              values (${importId}, ${company}, ${wanted.fleetId}, ${wanted.mode}, ${wanted.dryRun}, nullif(${key}, ''),
                ${now}::timestamptz, ${lease})
              on conflict do nothing returning ${importColumns}`,
    );
    if (!run) throw new ValidationFailed([{ path: 'importId', code: 'TAKEN', message: 'is taken; choose another' }]);
    ctx.services.changes.announce('import', run.id);
    return { run, repeated: false };
  });
}

/** A key that is past its time may be used again. */
const forgetKey = (ctx: Context, company: string, key: string) =>
  execute(
    onPrimary(ctx),
    sql`update import set idempotency_key = null where company = ${company} and idempotency_key = ${key}
          and started_at <= ${ctx.now()}::timestamptz - make_interval(hours => ${IDEMPOTENCY_HOURS})`,
  );

const isSame = (before: ImportRow, { fleetId, mode, dryRun }: Wanted) =>
  before.fleet_id === fleetId.toLowerCase() && before.mode === mode && before.dry_run === dryRun;

/**
 * For those who must keep a file before they know its fleet: throws what importVehicles would before it reads any, Forbidden
 * and RateLimited. `waiting` are such files of the company that are being kept already.
 */
export const admitUpload = (ctx: Context, { waiting }: { waiting: number }): Promise<void> =>
  limitUploads(ctx, authorize(ctx, 'fleets:write'), waiting);

async function limitUploads(ctx: Context, company: string, waiting = 0): Promise<void> {
  const limit = ctx.services.config.LIMIT_UPLOADS;
  const [running] = await execute<{ count: number }>(
    onPrimary(ctx),
    sql`select count(*)::int as count from import where company = ${company} and due_at > ${ctx.now()}::timestamptz`,
  );
  if ((running?.count ?? 0) + waiting < limit) return;
  throw new RateLimited(
    RETRY_SECONDS,
    `At most ${limit} uploads of a company run at once, and as many are running. Try again in ${RETRY_SECONDS} s.`,
  );
}

/** This start of this import, as long as nobody has ended it. */
export const stillRunning = (run: ImportRow) =>
  sql`id = ${run.id} and started_at = ${run.started_at}::timestamptz and state = 'RUNNING'`;

/** Moves the import's lease on until the returned function is called. Where that fails, the lease runs out. */
export function keepAlive(ctx: Context, run: ImportRow): () => void {
  const renew = () => {
    const until = new Date(ctx.now().getTime() + LEASE_SECONDS * 1000);
    execute(onPrimary(ctx), sql`update import set due_at = ${until}::timestamptz where ${stillRunning(run)}`).catch(
      () => {},
    );
  };
  const timer = setInterval(renew, RENEWED_EVERY_MS);
  return () => clearInterval(timer);
}

/** Ends an import without effect on its fleet. One that has ended, or was started anew by somebody else, stays as it is. */
export async function failImport(ctx: Context, run: ImportRow, failure: string): Promise<void> {
  await ctx.em.transactional(async () => {
    await execute(
      onPrimary(ctx),
      sql`update import set state = 'FAILED', failure = ${failure}, finished_at = ${ctx.now()}::timestamptz, due_at = null
          where ${stillRunning(run)}`,
    );
    await forgetUnowned(ctx);
    ctx.services.changes.announce('import', run.id);
  });
}

/** Fails the imports whose process has gone: nobody has moved their lease on. What is left of deleted ones goes too. */
export async function failAbandonedImports(ctx: Context): Promise<void> {
  const abandoned = await execute<ImportRow>(
    onPrimary(ctx),
    sql`select ${importColumns} from import i where i.due_at <= ${ctx.now()}::timestamptz order by i.due_at limit 10`,
  );
  for (const run of abandoned) await failImport(ctx, run, 'The process that read the upload has gone.');
  await forgetUnowned(ctx);
}

/** Deletes what was set aside for imports that do not run, or are no more. */
const forgetUnowned = (ctx: Context) =>
  execute(
    onPrimary(ctx),
    sql`delete from import_batch b
        where not exists (select from import i where i.id = b.import_id and i.state = 'RUNNING')`,
  );

export const forgetBatches = (ctx: Context, importId: string) =>
  execute(onPrimary(ctx), sql`delete from import_batch where import_id = ${importId}`);

async function forgetRows(ctx: Context, importId: string): Promise<void> {
  await forgetBatches(ctx, importId);
  await execute(onPrimary(ctx), sql`delete from import_rejection where import_id = ${importId}`);
}

/** What the caller is told of an import that was ended while its process was at it. */
export async function endedEarly(ctx: Context, run: ImportRow): Promise<DomainError> {
  const [left] = await execute(onPrimary(ctx), sql`select from import where id = ${run.id}`);
  return left
    ? new Unavailable('The upload was taken for dead. Nothing was stored; send it again.')
    : new FleetNotFound();
}
