import { expressionBuilder } from 'kysely';
import { ofFleetThatIsThere } from '../fleets/fleet.ts';
import { prepare } from '../sql/prepare.ts';
import { isoOf } from '../sql/selection.ts';
import { db, type Tables } from '../sql/tables.ts';
import type { Delimiter } from './csv/head.ts';
import type { Import } from './import.ts';

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
