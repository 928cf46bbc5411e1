import { authorize, type Context } from '../context.ts';
import { ImportNotFound } from '../errors.ts';
import { allFleetsAreThere, fleetIsThere } from '../fleets/fleet.ts';
import { jsonTable } from '../sql/json-table.ts';
import { prepare } from '../sql/prepare.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { onNewest } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { type Import, importSchema } from './import.ts';
import { readImport, toImport } from './import-row.ts';

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
