import { expressionBuilder } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { allFleetsAreThere, fleetIsThere, ofFleetThatIsThere } from '../fleets/fleet.ts';
import { prepare } from '../sql/prepare.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { isoOf, jsonTable } from '../sql/selection.ts';
import { onNewest } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import type { Delimiter } from './csv/head.ts';
import { type Import, importSchema } from './import.ts';

/** An import of the caller's company, as far as it is; throws ImportNotFound. */
export async function getImport(ctx: Context, input: { id: string }): Promise<Import> {
  const company = authorize(ctx, 'fleets:read');
  // From the primary: who asks is following one that moves on.
  const [row] = isId(input.id) ? await readImport(onNewest(ctx), { company, id: input.id }) : [];
  if (!row) throw new ImportNotFound();
  return toImport(row);
}

/** The first rejected rows of an import. */
export const firstRejections = prepare((p: { company: string; importId: string; limit: number }) =>
  db
    .selectFrom('import_rejection')
    .select(['row', 'value', 'code', 'message'])
    .where('company', '=', p.company)
    .where('import_id', '=', p.importId)
    .orderBy('row')
    .limit(p.limit),
);

export const importRows: Resource = {
  table: 'import n',
  where: fleetIsThere('n'),
  whereForAll: allFleetsAreThere,
  id: 'n.id',
  members: jsonTable('import', 'n', importSchema, {}),
  conditions: { id: ['n.id = ?::uuid', idOrNull] },
  // Ids that callers choose say nothing of the time.
  order: {
    columns: ['n.started_at', 'n.id'],
    placeOf: (id) => [
      `(select p.started_at from import p where p.company = $company and p.id = ${id}::uuid)`,
      `${id}::uuid`,
    ],
  },
  primary: true,
  missing: () => new ImportNotFound(),
};

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
  isoOf(oneImport.ref('import.storing_since')).as('storing_since'),
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

export const toImport = (row: ImportRow): Import => ({
  id: row.id,
  fleetId: row.fleet_id,
  state: row.state,
  received: row.received,
  created: row.created,
  existing: row.existing,
  rejected: row.rejected,
  startedAt: row.started_at,
  storingSince: row.storing_since,
  finishedAt: row.finished_at,
});
