import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { transaction, write } from '../database.ts';
import { isHeld } from '../database-errors.ts';
import { PayloadTooLarge, RateLimited } from '../errors.ts';
import { db, prepare } from '../sql/sql.ts';
import { type ImportRunKey, importEndedError, isImportUnderWay, stillRunningCondition } from './import-run.ts';
import { readImport } from './imports.ts';

/** An upload takes room for its rows in steps, and has the first when it begins: few uploads need another. */
export const STAGED_STEP_BYTES = 4 * 1024 * 1024;
/** The room for a company's uploads that have not ended, in files of the largest size: a list of VINs takes two and a half. */
const MOST_FILES = 3;
const RETRY_SECONDS = 30;

const holdRoom = prepare((p: ImportRunKey & { bytes: number; most: number }) =>
  db
    .updateTable('import')
    .set({ staged_bytes: p.bytes })
    .where(stillRunningCondition(p))
    .where(({ selectFrom }) => {
      const others = selectFrom('import as o')
        .select(sql<number>`coalesce(sum(o.staged_bytes), 0)`.as('bytes'))
        .where('o.company', '=', p.company)
        .where('o.id', '<>', p.id)
        .where('o.due_at', 'is not', null);
      return sql<boolean>`${p.bytes}::bigint + ${others} <= ${p.most}::bigint`;
    })
    .returning('import.id'),
);

/**
 * Takes room for so many bytes of an upload's rows; gives how many it has then. Throws PayloadTooLarge where it alone needs more
 * than a company has, and RateLimited while others have too much.
 */
export async function takeStagedRoom(ctx: Context, run: ImportRunKey, needed: number): Promise<number> {
  const most = Math.max(MOST_FILES * ctx.services.config.LIMIT_FILE_BYTES, STAGED_STEP_BYTES);
  const limit = most.toLocaleString('en');
  if (needed > most) {
    throw new PayloadTooLarge(`The rows of the file hold more than ${limit} bytes. Split it into several files.`);
  }
  const bytes = Math.min(Math.ceil(needed / STAGED_STEP_BYTES) * STAGED_STEP_BYTES, most);
  const [held] = await holdRoom(ctx, { ...run, bytes, most });
  if (held) return bytes;
  const [still] = await readImport(ctx, run);
  if (!still || !isImportUnderWay(still.state)) throw await importEndedError(ctx, run);
  throw new RateLimited(
    RETRY_SECONDS,
    `The rows of your company's uploads under way would hold more than ${limit} bytes together. Try again when one has ended.`,
  );
}

const findRoom = prepare(() =>
  db.selectNoFrom(({ exists, selectFrom }) => [
    sql<number>`pg_total_relation_size('import_batch'::regclass)::float8`.as('size'),
    exists(selectFrom('import_batch').select('first_row')).as('holds'),
    selectFrom('import')
      .select(sql<number>`coalesce(sum(staged_bytes), 0)::float8`.as('bytes'))
      .where('due_at', 'is not', null)
      .as('taken'),
  ]),
);

/** Gives the room of rows that uploads have left behind back to the disk. */
export async function returnStagedRoom(ctx: Context): Promise<void> {
  const [room] = await findRoom(ctx, {});
  if (!room || room.size <= STAGED_STEP_BYTES) return;
  if (!room.holds) await emptyTable(ctx);
  // Rows of others stand among those that are left behind: new rows take their place, and what is free at the end goes.
  else if (room.size > 2 * (room.taken ?? 0) + STAGED_STEP_BYTES)
    await write(ctx, 'vacuum (skip_locked) import_batch', []);
}

/** At once or not at all: an upload does not wait for it, nor lose a row. */
const emptyTable = (ctx: Context): Promise<void> =>
  transaction(ctx, async () => {
    await write(ctx, 'lock table import_batch in access exclusive mode nowait', []);
    const [room] = await findRoom(ctx, {});
    if (room && !room.holds) await write(ctx, 'truncate import_batch', []);
  }).catch((error: unknown) => {
    if (!isHeld(error)) throw error;
  });
