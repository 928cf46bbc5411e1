import { type Expression, expressionBuilder, sql } from 'kysely';
import { type EventOrigin, eventsClause, MOST_EVENT_VEHICLES } from '../events/record-events.ts';
import { fleetExistsExpression } from '../fleets/fleet.ts';
import { db, prepare, prepareStatementVariants, type RowKey } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { otherFleetRejection } from '../vehicles/add-vehicles.ts';
import {
  type NewVehicleParams,
  newVehicleColumns,
  newVehicleValues,
  type VinRow,
} from '../vehicles/insert-vehicles.ts';
import { MOST_ROWS_SHOWN, rejectionColumns } from './imports.ts';

const batch = expressionBuilder<{ b: Tables['import_batch'] }, 'b'>();
const row = expressionBuilder<{ r: VinRow }, 'r'>();
const count = sql<number>`count(*)::int`;
const countWhere = (condition: Expression<unknown>) => sql<number>`(count(*) filter (where ${condition}))::int`;

const stagedRows = (p: RowKey) =>
  db
    .selectFrom([
      'import_batch as b',
      sql<VinRow & { row: number }>`unnest(${batch.ref('b.rows')}, ${batch.ref('b.vins')},
        ${batch.ref('b.manufacturers')}, ${batch.ref('b.supported')}, ${batch.ref('b.warnings')})`.as<'r'>(
        sql`r(row, vin, manufacturer, supported, warnings)`,
      ),
    ])
    .where('b.company', '=', p.company)
    .where('b.import_id', '=', p.id);

/** VINs in the order of their characters, whatever the database's own is. */
const byCharacters = (vin: Expression<string>) => sql<string>`${vin} collate "C"`;

/**
 * Each VIN once, in its first row; with `unknown` only those that the company has not. They are looked up below the sort, before
 * the statement inserts any: among rows that it has just inserted, a look-up may read all.
 */
function firstRows(p: RowKey, unknown = false) {
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
  anyFleetWith(company, vin).where(fleetExistsExpression('v', company));

export const findStagedBatches = prepare((p: RowKey) =>
  db
    .selectFrom('import_batch')
    .select(({ ref }) => ['first_row', sql<number>`cardinality(${ref('rows')})`.as('count')])
    .where('company', '=', p.company)
    .where('import_id', '=', p.id)
    .orderBy('first_row'),
);

/** The VINs of a batch in fleets that are being deleted: looked up one by one, since a join may read all of a fleet for each. */
export const findVinsInDeletion = prepare((p: RowKey & { first_row: number }) =>
  db
    .selectFrom(
      stagedRows(p)
        .where('b.first_row', '=', p.first_row)
        .select('r.vin')
        .select(({ ref }) => anyFleetWith(p.company, ref('r.vin')).as('fleet_id'))
        .as('v'),
    )
    .where(({ not }) => not(fleetExistsExpression('v', p.company)))
    .select('v.vin')
    .distinct(),
);

export const countNewVehicles = prepare((p: RowKey) => db.selectFrom(firstRows(p, true)).select(count.as('count')));

/** At most `most` UUIDv7 of one moment: 20 digits as `prefix`, and a counter that begins behind `start`. */
export type NewIdRange = { prefix: string; start: number; most: number };

const idAt = ({ prefix, start }: NewIdRange, counter: Expression<number>) =>
  sql<string>`(${prefix}::text || to_hex(${start}::bigint + ${counter}))::uuid`;

/** `known`: the company has vehicles. `beside`: another upload has some of the same VINs. */
type Insertion = RowKey & NewVehicleParams & NewIdRange & { known: true | null; beside: true | null };

/** In the order of VINs: opposite uploads cannot wait for each other, and indexes grow at one end. `on conflict` is expensive. */
export const insertStagedVehicles = prepareStatementVariants<Insertion>()(['known', 'beside'], (p, has) =>
  db
    .insertInto('vehicle')
    .columns(newVehicleColumns)
    .expression((q) =>
      q
        .selectFrom(firstRows(p, has.known))
        .select(idAt(p, sql`row_number() over ()`).as('id'))
        .select(newVehicleValues(p))
        .orderBy('r.vin'),
    )
    .$if(has.beside, (q) => q.onConflict((conflict) => conflict.columns(['company', 'vin']).doNothing())),
);

type Inserted = NewIdRange & { company: string };

/** The vehicles with ids of this range. */
const inserted = (p: Inserted) =>
  db
    .selectFrom('vehicle as v')
    .where('v.company', '=', p.company)
    .where('v.id', '>', idAt(p, sql`0`))
    .where('v.id', '<=', idAt(p, sql`${p.most}::int`));

export const countInsertedVehicles = prepare((p: Inserted) =>
  inserted(p)
    .select(['v.status', count.as('delta')])
    .groupBy('v.status'),
);

/** A stretch of ids for each event, in one pass: planned without statistics, a look-up for each might read all vehicles. */
export const recordAddedVehicles = prepare((p: EventOrigin & Inserted & { fleetId: string; data: string }) => {
  const counter = sql<number>`(('x' || right(${sql.ref('v.id')}::text, 12))::bit(48)::bigint - ${p.start}::bigint)`;
  const facts = inserted(p)
    .groupBy(['v.company', sql`(${counter} - 1) / ${MOST_EVENT_VEHICLES}::int`])
    .orderBy(({ ref }) => sql`(array_agg(${ref('v.id')}))[1]`)
    .select(({ ref }) => [
      'v.company',
      sql<string>`${p.fleetId}::uuid`.as('fleet_id'),
      sql<string | null>`null::uuid`.as('contract_id'),
      sql<string[]>`array_agg(${ref('v.id')})`.as('vehicle_ids'),
      sql<string[]>`array_agg(${ref('v.vin')})`.as('vins'),
      sql<unknown>`${p.data}::jsonb`.as('data'),
    ]);
  return eventsClause(db, p, { 'vehicle.added': facts });
});

const stagedCells = (p: RowKey, q: Pick<typeof db, 'selectFrom'>) =>
  q
    .selectFrom([
      'import_batch as b',
      sql<{ row: number; vin: string; cells: unknown }>`rows from (unnest(${batch.ref('b.rows')}),
        unnest(${batch.ref('b.vins')}), json_array_elements(${batch.ref('b.cells')}))`.as<'r'>(sql`r(row, vin, cells)`),
    ])
    .where('b.company', '=', p.company)
    .where('b.import_id', '=', p.id);

/**
 * Rejects the rows whose VIN another fleet has, and counts them; at most `room`, with cells of so many bytes, are kept for the
 * report. `missing` counts those whose VIN no fleet has.
 */
export const rejectStagedRows = prepare((p: RowKey & { fleetId: string; room: number; bytes: number }) =>
  db
    .with('first', (q) =>
      stagedCells(p, q)
        .select(({ ref }) => [
          'b.company',
          'b.import_id',
          'r.row',
          'r.vin',
          sql<string>`${ref('r.cells')}::text`.as('cells'),
        ])
        .where(({ ref }) => fleetWith(p.company, ref('r.vin')), '<>', p.fleetId)
        .orderBy('r.row')
        .limit(p.room),
    )
    .with('rejected', (q) =>
      q
        .insertInto('import_rejection')
        .columns(rejectionColumns)
        .expression(
          q
            .selectFrom(
              q
                .selectFrom('first')
                .selectAll()
                .select(sql<number>`sum(octet_length(cells)) over (order by row)`.as('bytes'))
                .as('r'),
            )
            .select([
              'r.company',
              'r.import_id',
              'r.row',
              'r.vin',
              sql<string>`${otherFleetRejection.code}::text`.as('code'),
              sql<string>`${otherFleetRejection.message}::text`.as('message'),
              sql<string | null>`nullif(r.cells, 'null')::jsonb`.as('cells'),
            ])
            .where(sql<boolean>`(r.bytes > ${p.bytes}::bigint) is not true`),
        ),
    )
    .selectFrom(
      stagedRows(p)
        .select(({ ref }) => fleetWith(p.company, ref('r.vin')).as('fleet_id'))
        // `offset` has each fleet looked up once.
        .offset(sql.lit(0))
        .as('r'),
    )
    .select(({ eb }) => [
      countWhere(eb('r.fleet_id', '<>', p.fleetId)).as('count'),
      countWhere(eb('r.fleet_id', 'is', null)).as('missing'),
    ]),
);

export const findDuplicateRows = prepare((p: RowKey & { fleetId: string }) =>
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
    .limit(MOST_ROWS_SHOWN),
);
