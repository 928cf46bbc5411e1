import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { isoSql } from '../sql/selection.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { type Delimiter, rejectedCsv } from './csv/csv.ts';
import type { DuplicateRow, Import, ImportState, RejectedRow } from './import.ts';

/** An import of the caller's company, as far as it is; throws ImportNotFound. */
export async function getImport(ctx: Context, input: { id: string }): Promise<Import> {
  return toImport(await importRow(ctx, input.id));
}

/** The first refused rows of an import. */
export async function listRejections(ctx: Context, input: { importId: string; limit: number }): Promise<RejectedRow[]> {
  return execute<RejectedRow>(
    onPrimary(ctx),
    sql`select row, value, code, message from import_rejection where import_id = ${input.importId} order by row limit ${input.limit}`,
  );
}

const REJECTIONS_PAGE = 1000;

/** The refused rows as a CSV in the file's own layout, with the reason beside each; throws ImportNotFound. */
export async function streamRejectedCsv(ctx: Context, input: { importId: string }): Promise<AsyncIterable<string>> {
  const { id, delimiter, columns } = await importRow(ctx, input.importId);
  return rejectedCsv({ delimiter, columns }, rejections(ctx, id));
}

async function* rejections(ctx: Context, importId: string) {
  let after = -1;
  for (;;) {
    const page = await execute<RejectedRow & { cells: string[] | null }>(
      onPrimary(ctx),
      sql`select row, value, code, message, cells from import_rejection
          where import_id = ${importId} and row > ${after} order by row limit ${REJECTIONS_PAGE}`,
    );
    yield* page;
    if (page.length < REJECTIONS_PAGE) return;
    after = page.at(-1)?.row ?? after;
  }
}

const IMPORTS_AT_ONCE = 100;
const REJECTIONS_AT_ONCE = 5000;

/** Forgets imports past their time with their refused rows, in small steps; gives whether there may be more. */
export async function trimImports(ctx: Context): Promise<boolean> {
  const oldest = new Date(ctx.now().getTime() - ctx.services.config.IMPORTS_KEEP_DAYS * 86_400_000);
  return ctx.em.transactional(async () => {
    const old = await execute<{ id: string }>(
      onPrimary(ctx),
      sql`select id from import where finished_at < ${oldest}::timestamptz and state <> 'RUNNING'
          order by finished_at limit ${IMPORTS_AT_ONCE} for update skip locked`,
    );
    const ids = sql`any(${old.map(({ id }) => id)}::uuid[])`;
    const rejections = await execute(
      onPrimary(ctx),
      sql`delete from import_rejection where (import_id, row) in (
            select import_id, row from import_rejection where import_id = ${ids} limit ${REJECTIONS_AT_ONCE}
          ) returning 1`,
    );
    await execute(
      onPrimary(ctx),
      sql`delete from import i where i.id = ${ids}
            and not exists (select from import_rejection r where r.import_id = i.id)`,
    );
    return old.length === IMPORTS_AT_ONCE || rejections.length === REJECTIONS_AT_ONCE;
  });
}

// Imports are read from the primary: who asks is following one that moves on.
async function importRow(ctx: Context, id: string): Promise<ImportRow> {
  const company = authorize(ctx, 'fleets:read');
  const [row] = isId(id)
    ? await execute<ImportRow>(
        onPrimary(ctx),
        sql`select ${importColumns} from import i where i.id = ${id} and i.company = ${company}`,
      )
    : [];
  if (!row) throw new ImportNotFound();
  return row;
}

export interface ImportRow {
  id: string;
  company: string;
  fleet_id: string;
  state: ImportState;
  mode: 'partial' | 'atomic';
  dry_run: boolean;
  received: number;
  created: number;
  existing: number;
  rejected: number;
  delimiter: Delimiter;
  columns: string[] | null;
  digest: string | null;
  idempotency_key: string | null;
  duplicates: DuplicateRow[];
  failure: string | null;
  started_at: string;
  finished_at: string | null;
}

export const importColumns = sql`i.id, i.company, i.fleet_id, i.state, i.mode, i.dry_run, i.received, i.created, i.existing,
  i.rejected, i.delimiter, i.columns, i.digest, i.idempotency_key, i.duplicates, i.failure,
  ${sql.raw(isoSql('i.started_at'))} as started_at, ${sql.raw(isoSql('i.finished_at'))} as finished_at`;

export const toImport = (row: ImportRow): Import => ({
  id: row.id,
  fleetId: row.fleet_id,
  state: row.state,
  received: row.received,
  created: row.created,
  existing: row.existing,
  rejected: row.rejected,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
});
