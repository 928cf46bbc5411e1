import { sql } from 'kysely';
import { prepare } from '../sql/prepare.ts';
import { db } from '../sql/tables.ts';
import { inAnotherFleet } from '../vehicles/add-vehicles.ts';
import { ROWS_SHOWN } from './import.ts';
import { batch, byCharacters, count, fleetWith, type Staged, stagedRows } from './staged.ts';

// What is told of rows that were set aside, and not stored.

/** The good rows with their cells, as `r`. */
const stagedCells = (p: Staged) =>
  db
    .selectFrom([
      'import_batch as b',
      sql<{ row: number; vin: string; cells: unknown }>`rows from (unnest(${batch.ref('b.rows')}),
        unnest(${batch.ref('b.vins')}), json_array_elements(${batch.ref('b.cells')}))`.as<'r'>(sql`r(row, vin, cells)`),
    ])
    .where('b.company', '=', p.company)
    .where('b.import_id', '=', p.importId);

interface Elsewhere extends Staged {
  fleetId: string;
  room: number;
}

export const rejectStaged = prepare((p: Elsewhere) =>
  db
    .with('kept', (q) =>
      q
        .insertInto('import_rejection')
        .columns(['company', 'import_id', 'row', 'value', 'code', 'message', 'cells'])
        .expression(
          stagedCells(p)
            .select(({ ref }) => [
              'b.company',
              'b.import_id',
              'r.row',
              'r.vin',
              sql<string>`${inAnotherFleet.code}::text`.as('code'),
              sql<string>`${inAnotherFleet.message}::text`.as('message'),
              sql<string | null>`nullif(${ref('r.cells')}::text, 'null')::jsonb`.as('cells'),
            ])
            .where(({ ref }) => fleetWith(p.company, ref('r.vin')), '<>', p.fleetId)
            .orderBy('r.row')
            .limit(p.room),
        ),
    )
    .selectFrom(stagedRows(p).select(['r.vin']).as('r'))
    .select(count.as('count'))
    .where(({ ref }) => fleetWith(p.company, ref('r.vin')), '<>', p.fleetId),
);

/** The first rows whose VIN stands in an earlier one. */
export const findDuplicates = prepare((p: Staged & { fleetId: string }) =>
  db
    .selectFrom(
      stagedRows(p)
        .select(({ ref }) => [
          'r.row',
          'r.vin',
          sql<number>`min(${ref('r.row')}) over (partition by ${byCharacters(ref('r.vin'))})`.as('first_row'),
        ])
        .as('d'),
    )
    .select(['d.row', 'd.first_row as firstRow', 'd.vin as value'])
    .whereRef('d.row', '<>', 'd.first_row')
    .where(({ eb, ref }) => eb(fleetWith(p.company, ref('d.vin')), '<>', p.fleetId), 'is not', true)
    .orderBy('d.row')
    .limit(ROWS_SHOWN),
);
