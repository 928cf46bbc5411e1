import { expressionBuilder, sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { fleetIsThere, ofFleetThatIsThere } from '../fleets/there.ts';
import { jsonTable } from '../sql/json-table.ts';
import { prepare } from '../sql/prepare.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { isoOf } from '../sql/selection.ts';
import { onNewest, onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import type { Delimiter } from './csv/csv.ts';
import { type Import, importSchema, type RejectedRow } from './import.ts';
import { runningImport } from './running.ts';

/** An import of the caller's company, as far as it is; throws ImportNotFound. */
export async function getImport(ctx: Context, input: { id: string }): Promise<Import> {
  const company = authorize(ctx, 'fleets:read');
  return runningImport(company, input.id) ?? toImport(await importRow(ctx, input.id));
}

const firstRejections = prepare((p: { company: string; importId: string; limit: number }) =>
  db
    .selectFrom('import_rejection')
    .select(['row', 'value', 'code', 'message'])
    .where('company', '=', p.company)
    .where('import_id', '=', p.importId)
    .orderBy('row')
    .limit(p.limit),
);

/** The first rejected rows of an import. */
export async function listRejections(
  ctx: Context,
  input: { company: string; importId: string; limit: number },
): Promise<RejectedRow[]> {
  return firstRejections(onPrimary(ctx), input);
}

const IMPORTS_AT_ONCE = 100;
const REJECTIONS_AT_ONCE = 5000;

const findOld = prepare((p: { before: Date }) =>
  db
    .selectFrom('import')
    .select(['company', 'id'])
    .where('finished_at', '<', sql<string>`${p.before}::timestamptz`)
    .where('state', '<>', sql.lit('RUNNING'))
    .orderBy('finished_at')
    .limit(IMPORTS_AT_ONCE),
);

/** Imports of a company. */
interface Some {
  company: string;
  ids: readonly string[];
}

const lockOld = prepare((p: Some & { before: Date }) =>
  db
    .selectFrom('import')
    .select('id')
    .where('company', '=', p.company)
    .where('id', '=', sql<string>`any(${p.ids}::uuid[])`)
    .where('finished_at', '<', sql<string>`${p.before}::timestamptz`)
    .where('state', '<>', sql.lit('RUNNING'))
    .forUpdate()
    .skipLocked(),
);

const forgetRejections = prepare((p: Some) =>
  db
    .deleteFrom('import_rejection')
    .where('company', '=', p.company)
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('import_id', 'row'),
        'in',
        selectFrom('import_rejection')
          .select(['import_id', 'row'])
          .where('company', '=', p.company)
          .where('import_id', '=', sql<string>`any(${p.ids}::uuid[])`)
          .limit(REJECTIONS_AT_ONCE)
          .$asTuple('import_id', 'row'),
      ),
    )
    .returning('row'),
);

const forgetImports = prepare((p: Some) =>
  db
    .deleteFrom('import')
    .where('import.company', '=', p.company)
    .where('import.id', '=', sql<string>`any(${p.ids}::uuid[])`)
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
    await ctx.em.transactional(async () => {
      const held = await lockOld(onPrimary(ctx), { company, before, ids: own.map(({ id }) => id) });
      const ids = held.map(({ id }) => id);
      more = (await forgetSome(ctx, { company, ids })) || more;
    });
  }
  return more;
}

/** Forgets some of the rejected rows of imports, and those that have none left; gives whether there may be more. */
async function forgetSome(ctx: Context, which: Some): Promise<boolean> {
  const rejections = await forgetRejections(onPrimary(ctx), which);
  await forgetImports(onPrimary(ctx), which);
  return rejections.length === REJECTIONS_AT_ONCE;
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

/** Writes conditions on imports. */
export const oneImport = expressionBuilder<Tables, 'import'>();

/** What is read of an import. */
export const importColumns = [
  'import.id',
  'import.company',
  'import.fleet_id',
  'import.state',
  'import.mode',
  'import.dry_run',
  'import.received',
  'import.created',
  'import.existing',
  'import.rejected',
  oneImport.ref('import.delimiter').$castTo<Delimiter>().as('delimiter'),
  'import.columns',
  'import.digest',
  'import.idempotency_key',
  'import.duplicates',
  'import.failure',
  isoOf(oneImport.ref('import.started_at')).as('started_at'),
  isoOf(oneImport.ref('import.finished_at')).as('finished_at'),
] as const;

/** An import as it is. */
export const readImport = prepare((p: { company: string; id: string }) =>
  db
    .selectFrom('import')
    .select(importColumns)
    .where('import.id', '=', p.id)
    .where('import.company', '=', p.company)
    .where(ofFleetThatIsThere('import', p.company)),
);
export type ImportRow = Awaited<ReturnType<typeof readImport>>[number];

/** An import; throws ImportNotFound. It is read from the primary: who asks is following one that moves on. */
async function importRow(ctx: Context, id: string): Promise<ImportRow> {
  const company = authorize(ctx, 'fleets:read');
  const [row] = isId(id) ? await readImport(onNewest(ctx), { company, id }) : [];
  if (!row) throw new ImportNotFound();
  return row;
}

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

export const importRows: Resource = {
  table: 'import n',
  where: fleetIsThere('n'),
  id: 'n.id',
  members: jsonTable('import', 'n', importSchema, {}),
  conditions: { id: ['n.id = ?::uuid', idOrNull] },
  // Ids that callers choose say nothing of the time.
  order: {
    columns: ['n.started_at', 'n.id'],
    placeOf: (id) => `(select p.started_at, p.id from import p where p.company = $company and p.id = ${id}::uuid)`,
  },
  primary: true,
  missing: () => new ImportNotFound(),
};
