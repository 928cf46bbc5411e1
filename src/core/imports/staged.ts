import { type Expression, expressionBuilder, sql } from 'kysely';
import { type By, EVENT_VEHICLES, recording } from '../events/record-events.ts';
import { ofFleetThatIsThere } from '../fleets/fleet.ts';
import { db, prepare, prepareVariants, type Tables } from '../sql/sql.ts';
import { inAnotherFleet } from '../vehicles/add-vehicles.ts';
import { type NewVehicles, newVehicle, newVehicleColumns, type ReadVin } from '../vehicles/insert-vehicles.ts';
import { ROWS_SHOWN } from './imports.ts';

const batch = expressionBuilder<{ b: Tables['import_batch'] }, 'b'>();
const row = expressionBuilder<{ r: ReadVin }, 'r'>();
const count = sql<number>`count(*)::int`;

interface Staged {
  importId: string;
  company: string;
}

/** The good rows, as `r`. */
const stagedRows = (p: Staged) =>
  db
    .selectFrom([
      'import_batch as b',
      sql<ReadVin & { row: number }>`unnest(${batch.ref('b.rows')}, ${batch.ref('b.vins')},
        ${batch.ref('b.manufacturers')}, ${batch.ref('b.supported')}, ${batch.ref('b.warnings')})`.as<'r'>(
        sql`r(row, vin, manufacturer, supported, warnings)`,
      ),
    ])
    .where('b.company', '=', p.company)
    .where('b.import_id', '=', p.importId);

/** VINs in the order of their characters, whatever the database's own is. */
const byCharacters = (vin: Expression<string>) => sql<string>`${vin} collate "C"`;

/**
 * Each VIN once, as it stands first in the file; with `unknown` only those that the company has not. These are looked up below the
 * sort, thus before the statement inserts any: a look-up among rows that it has just inserted may read all of them.
 */
function firstRows(p: Staged, unknown = false) {
  const vin = byCharacters(row.ref('r.vin'));
  return stagedRows(p)
    .$if(unknown, (rows) => rows.where(fleetWith(p.company, row.ref('r.vin')), 'is', null))
    .distinctOn(vin)
    .select([vin.as('vin'), 'r.row', 'r.manufacturer', 'r.supported', 'r.warnings'])
    .orderBy(vin)
    .orderBy('r.row')
    .as('r');
}

const anyFleetWith = (company: string, vin: Expression<string>) =>
  db.selectFrom('vehicle as v').select('v.fleet_id').where('v.company', '=', company).where('v.vin', '=', vin);

/** The fleet of the company that has the VIN, or null. */
const fleetWith = (company: string, vin: Expression<string>) =>
  anyFleetWith(company, vin).where(ofFleetThatIsThere('v', company));

/** What the batches of an import are known by. */
export const findBatches = prepare((p: Staged) =>
  db
    .selectFrom('import_batch')
    .select('first_row')
    .where('company', '=', p.company)
    .where('import_id', '=', p.importId)
    .orderBy('first_row'),
);

/**
 * The VINs of a batch's good rows that stand in fleets that are being deleted. Each is looked up by itself: joined, all vehicles
 * of these fleets would be read for each row where the planner knows nothing of the table.
 */
export const vinsOfDeleted = prepare((p: Staged & { first_row: number }) =>
  db
    .selectFrom(
      stagedRows(p)
        .where('b.first_row', '=', p.first_row)
        .select('r.vin')
        .select(({ ref }) => anyFleetWith(p.company, ref('r.vin')).as('fleet_id'))
        .as('v'),
    )
    .where(({ not }) => not(ofFleetThatIsThere('v', p.company)))
    .select('v.vin')
    .distinct(),
);

export const countStaged = prepare((p: Staged) =>
  db
    .selectFrom('import_batch')
    .select(({ ref }) => sql<number>`coalesce(sum(cardinality(${ref('rows')})), 0)::int`.as('count'))
    .where('company', '=', p.company)
    .where('import_id', '=', p.importId),
);

export const countNew = prepare((p: Staged) =>
  db
    .selectFrom(firstRows(p))
    .select(count.as('count'))
    .where(({ ref }) => fleetWith(p.company, ref('r.vin')), 'is', null),
);

/** UUIDv7 of one moment for rows that a statement makes, told apart by a counter at their end (RFC 9562, 6.2, method 2). */
export interface Ids {
  /** 20 hexadecimal digits: the time, and chance. */
  prefix: string;
  /** The last 12 digits of the id before the first. */
  start: number;
}

/** The id at an offset from the one before the first. */
const idAt = ({ prefix, start }: Ids, counter: Expression<number>) =>
  sql<string>`(${prefix}::text || to_hex(${start}::bigint + ${counter}))::uuid`;

interface Inserted extends Staged, NewVehicles, Ids {
  known: true | null;
  /** Another upload has some of the same VINs. */
  beside: true | null;
}

/**
 * In the order of VINs, so that uploads of the same vehicles in opposite orders cannot wait for each other, and so that
 * ids and VINs rise together: each index then grows at one end, which is what makes this as fast as COPY. `on conflict`
 * would make every row dearer, so it is there only when it is needed.
 */
export const insertStaged = prepareVariants<Inserted>()(['known', 'beside'], (p, has) =>
  db
    .insertInto('vehicle')
    .columns(newVehicleColumns)
    .expression((q) =>
      q
        .selectFrom(firstRows(p, has.known))
        .select(idAt(p, sql`row_number() over ()`).as('id'))
        .select(newVehicle(p))
        .orderBy('r.vin'),
    )
    .$if(has.beside, (q) => q.onConflict((conflict) => conflict.columns(['company', 'vin']).doNothing())),
);

/** How many vehicles of each status have ids up to that of the last row that was staged. */
export const countInserted = prepare((p: Ids & { company: string; staged: number }) =>
  db
    .selectFrom('vehicle')
    .select(['status', count.as('delta')])
    .where('company', '=', p.company)
    .where('id', '>', idAt(p, sql`0`))
    .where('id', '<=', idAt(p, sql`${p.staged}::int`))
    .groupBy('status'),
);

interface Told extends By, Ids {
  company: string;
  fleet_id: string;
  staged: number;
  data: string;
}

/**
 * The vehicles of each event are a stretch of ids. Rows that others have added meanwhile leave gaps in it. In one pass: planned
 * without knowing of so many rows, a look for each stretch might go through all of the company's vehicles.
 */
export const tellOfNew = prepare((p: Told) => {
  const counter = sql<number>`(('x' || right(${sql.ref('v.id')}::text, 12))::bit(48)::bigint - ${p.start}::bigint)`;
  const facts = db
    .selectFrom('vehicle as v')
    .where('v.company', '=', p.company)
    .where('v.id', '>', idAt(p, sql`0`))
    .where('v.id', '<=', idAt(p, sql`${p.staged}::int`))
    .groupBy(['v.company', sql`(${counter} - 1) / ${EVENT_VEHICLES}::int`])
    .orderBy(({ ref }) => sql`(array_agg(${ref('v.id')}))[1]`)
    .select(({ ref }) => [
      'v.company',
      sql<string>`${p.fleet_id}::uuid`.as('fleet_id'),
      sql<string | null>`null::uuid`.as('contract_id'),
      sql<string[]>`array_agg(${ref('v.id')})`.as('vehicle_ids'),
      sql<string[]>`array_agg(${ref('v.vin')})`.as('vins'),
      sql<unknown>`${p.data}::jsonb`.as('data'),
    ]);
  return recording(db, p, { 'vehicle.added': facts });
});

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

export const rejectStagedRows = prepare((p: Elsewhere) =>
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
