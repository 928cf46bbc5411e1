import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary, transaction } from '../sql/send.ts';
import { anyId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import type { ImportState } from './imports.ts';

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
