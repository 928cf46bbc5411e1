import { type RawBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import { Unavailable } from '../errors.ts';
import { EVENT_VEHICLES, record, recordEach } from '../events/record-events.ts';
import { holdFleet } from '../fleets/fleets.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { newId } from '../sql/sql.ts';
import { inAnotherFleet, warningsOf } from '../vehicles/add-vehicles.ts';
import { recheckAfter, unsupportedReason } from '../vehicles/eligibility.ts';
import { type DuplicateRow, ROWS_SHOWN } from './import.ts';
import { type ImportRow, importColumns } from './imports.ts';
import { endedEarly, forgetBatches, stillRunning } from './run.ts';
import type { ImportStaging } from './staging.ts';

/** What is done with the rows that were set aside; `beside` is `insert` where another upload has some of the same VINs. */
type How = 'insert' | 'beside' | 'count' | 'refuse';

/** Marks a rollback that is no fault: an atomic import with a row that is refused in the end. */
class AtomicRefusal extends Error {}

/**
 * Stores what was set aside, in one transaction, and ends the import; in mode atomic with a refused row it stores none.
 * `digest` is the file's. Throws Unavailable when the database has lost some of it.
 */
export async function storeImport(
  ctx: Context,
  run: ImportRow,
  staging: ImportStaging,
  digest: string,
): Promise<ImportRow> {
  let how: How = run.dry_run ? 'count' : run.mode === 'atomic' && staging.rejected > 0 ? 'refuse' : 'insert';
  for (;;) {
    try {
      return await store(ctx, run, staging, digest, how);
    } catch (error) {
      if (error instanceof AtomicRefusal) how = 'refuse';
      else if (how === 'insert' && isTakenVin(error)) how = 'beside';
      else throw error;
    }
  }
}

const isTakenVin = (error: unknown) =>
  error instanceof Error && 'constraint' in error && error.constraint === 'vehicle_vin';

async function store(
  ctx: Context,
  run: ImportRow,
  staging: ImportStaging,
  digest: string,
  how: How,
): Promise<ImportRow> {
  return ctx.em.transactional(async () => {
    // The statements below are about the whole file: they may take long, sort in memory, and gain nothing from a compiler.
    // Each VIN is looked up in the index, even where the planner takes the table for empty: it fills under their hands.
    await execute(
      onPrimary(ctx),
      sql`select set_config('statement_timeout', '30min', true), set_config('lock_timeout', '0', true), set_config('work_mem', '64MB', true),
            set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true)`,
    );
    await needAll(ctx, run, staging.good);
    const ids = idsOfOneStatement();
    const created = staging.good === 0 ? 0 : await createVehicles[how](ctx, run, ids);
    // New vehicles hold their fleet as well; what is told below must not come after its deletion where there are none.
    await holdFleet(ctx, run.company, run.fleet_id);
    // What was not created is there already, in this fleet or in another.
    const elsewhere = created < staging.good ? await rejectElsewhere(ctx, run, staging) : 0;
    const existing = staging.good - created - elsewhere;
    const duplicates = existing > 0 ? await findDuplicates(ctx, run) : [];
    const rejected = staging.rejected + elsewhere;
    if ((how === 'insert' || how === 'beside') && run.mode === 'atomic' && rejected > 0) throw new AtomicRefusal();
    await forgetBatches(ctx, run.id);
    const failure = how === 'count' ? null : domainErrorOf(how, staging.received, rejected);
    const kept = failure === null;
    const [done] = await execute<ImportRow>(
      onPrimary(ctx),
      sql`update import i set state = ${kept ? 'COMPLETED' : 'FAILED'}, digest = ${digest}, due_at = null,
            received = ${staging.received}, created = ${kept ? created : 0}, existing = ${kept ? existing : 0},
            rejected = ${rejected}, duplicates = ${JSON.stringify(duplicates)}::jsonb, failure = ${failure},
            finished_at = ${ctx.now()}::timestamptz
          where ${stillRunning(run)} returning ${importColumns}`,
    );
    if (!done) throw await endedEarly(ctx, run);
    ctx.services.changes.announce('import', run.id);
    if (how !== 'count' && kept) await tellOf(ctx, done, ids);
    return done;
  });
}

/** Why nothing of the file was stored, as its sender is told; null where there is nothing to refuse. */
function domainErrorOf(how: How, received: number, rejected: number): string | null {
  if (rejected > 0 && rejected === received) return `Every row was refused (${rejected}).`;
  return how === 'refuse' ? `${rejected} of ${received} rows were refused, so nothing was stored (mode atomic).` : null;
}

/** An unlogged table is empty after a crash of the database: half a file must not pass for the whole. */
async function needAll(ctx: Context, run: ImportRow, good: number): Promise<void> {
  const [staged] = await execute<{ count: number }>(
    onPrimary(ctx),
    sql`select coalesce(sum(cardinality(rows)), 0)::int as count from import_batch where import_id = ${run.id}`,
  );
  if (staged?.count === good) return;
  throw new Unavailable('The database lost part of the file while it arrived. Nothing was stored; send it again.');
}

const staged = (run: ImportRow) =>
  sql`import_batch b, unnest(b.rows, b.vins, b.manufacturers, b.supported, b.warnings)
        r(row, vin, manufacturer, supported, warnings)
      where b.import_id = ${run.id}`;

/** The fleet of the company that has the VIN, or null. */
const fleetOf = (run: ImportRow, vin: RawBuilder<unknown>) =>
  sql`(select v.fleet_id from vehicle v where v.company = ${run.company} and v.vin = ${vin})`;

/** Each VIN once, as it stands first in the file. */
const firstRows = (run: ImportRow) =>
  sql`(select distinct on (r.vin collate "C") r.vin collate "C" as vin, r.manufacturer, r.supported, r.warnings
       from ${staged(run)} order by r.vin collate "C", r.row) f`;

/** What becomes of the good rows; each gives how many vehicles are new. */
const createVehicles: Record<How, (ctx: Context, run: ImportRow, ids: Ids) => Promise<number>> = {
  insert: (ctx, run, ids) => insertVehicles(ctx, run, ids, sql``),
  beside: (ctx, run, ids) => insertVehicles(ctx, run, ids, sql`on conflict (company, vin) do nothing`),
  async count(ctx, run) {
    const [row] = await execute<{ count: number }>(
      onPrimary(ctx),
      sql`select count(*)::int as count from ${firstRows(run)} where ${fleetOf(run, sql`f.vin`)} is null`,
    );
    return row?.count ?? 0;
  },
  refuse: async () => 0,
};

/**
 * In the order of VINs, so that uploads of the same vehicles in opposite orders cannot wait for each other, and so that
 * ids and VINs rise together: each index then grows at one end, which is what makes this as fast as COPY. `on conflict`
 * would make every row dearer, so it is there only when it is needed.
 */
async function insertVehicles(ctx: Context, run: ImportRow, ids: Ids, onConflict: RawBuilder<unknown>) {
  const now = sql`${ctx.now()}::timestamptz`;
  const [known] = await execute(onPrimary(ctx), sql`select from vehicle where company = ${run.company} limit 1`);
  const { numAffectedRows } = await sql`
    insert into vehicle (id, company, fleet_id, vin, manufacturer, warnings, created_at, status, reason, due_at)
    select (${ids.prefix}::text || to_hex(${ids.start}::bigint + row_number() over ()))::uuid, ${run.company},
      ${run.fleet_id}::uuid, f.vin, f.manufacturer,
      ${warningsOf(sql`f.warnings`)}, ${now},
      case when f.supported then 'PENDING' else 'UNSUPPORTED' end, ${unsupportedReason(ctx, sql`f`)},
      case when f.supported then ${now} else ${now} + ${recheckAfter(ctx, 'UNSUPPORTED')} end
    from ${firstRows(run)} ${known ? sql`where ${fleetOf(run, sql`f.vin`)} is null` : sql``}
    order by f.vin ${onConflict}`.execute(ctx.em.getKysely());
  return Number(numAffectedRows ?? 0);
}

/** UUIDv7 of one moment for rows that a statement makes, told apart by a counter at their end (RFC 9562, 6.2, method 2). */
interface Ids {
  /** 20 hexadecimal digits: the time, and chance. */
  prefix: string;
  /** The last 12 digits of the id before the first. */
  start: number;
}

function idsOfOneStatement(): Ids {
  const digits = newId().replaceAll('-', '');
  // Between 2^46 and 2^47, so that it keeps its 12 digits however far it is counted on.
  return { prefix: digits.slice(0, 20), start: 2 ** 46 + (Number.parseInt(digits.slice(20), 16) % 2 ** 46) };
}

/** Refuses the rows whose vehicle another fleet of the company has; gives how many there are. */
async function rejectElsewhere(ctx: Context, run: ImportRow, staging: ImportStaging): Promise<number> {
  const room = Math.max(0, ctx.services.config.LIMIT_REJECTED_ROWS - staging.kept);
  const isElsewhere = sql`${fleetOf(run, sql`r.vin`)} <> ${run.fleet_id}::uuid`;
  const [row] = await execute<{ count: number }>(
    onPrimary(ctx),
    sql`with kept as (
          insert into import_rejection (company, import_id, row, value, code, message, cells)
          select b.company, b.import_id, r.row, r.vin, ${inAnotherFleet.code}, ${inAnotherFleet.message},
            nullif(r.cells::text, 'null')::jsonb
          from import_batch b,
            rows from (unnest(b.rows), unnest(b.vins), json_array_elements(b.cells)) r(row, vin, cells)
          where b.import_id = ${run.id} and ${isElsewhere} order by r.row limit ${room}
        )
        select count(*)::int as count from ${staged(run)} and ${isElsewhere}`,
  );
  return row?.count ?? 0;
}

/** The first rows whose VIN stands in an earlier one. */
async function findDuplicates(ctx: Context, run: ImportRow): Promise<DuplicateRow[]> {
  return execute<DuplicateRow>(
    onPrimary(ctx),
    sql`select d.row, d.first_row as "firstRow", d.vin as value from (
          select r.row, r.vin, min(r.row) over (partition by r.vin collate "C") as first_row from ${staged(run)}
        ) d
        where d.row <> d.first_row and (${fleetOf(run, sql`d.vin`)} <> ${run.fleet_id}::uuid) is not true
        order by d.row limit ${ROWS_SHOWN}`,
  );
}

/** The events of an import, and the work that has come due with it. */
async function tellOf(ctx: Context, run: ImportRow, { prefix, start }: Ids): Promise<void> {
  const { company, fleet_id: fleetId, received, created, existing, rejected } = run;
  const data = { importId: run.id, received, created, existing, rejected };
  if (created > 0) {
    const idAt = (counter: RawBuilder<unknown>) =>
      sql`(${prefix}::text || to_hex(${start}::bigint + ${counter}))::uuid`;
    // The ids follow each other, so the vehicles of each event are a stretch of the primary key.
    const batches = sql`
      select ${company}::text, ${fleetId}::uuid, null::uuid, batch.ids, batch.vins, ${JSON.stringify({ importId: run.id })}::jsonb
      from generate_series(0, ${created - 1}::int, ${EVENT_VEHICLES}::int) first, lateral (
        select array_agg(v.id) as ids, array_agg(v.vin) as vins from vehicle v
        where v.id > ${idAt(sql`first`)} and v.id <= ${idAt(sql`(first + ${EVENT_VEHICLES}::int)`)}
      ) batch`;
    await execute(onPrimary(ctx), recordEach(ctx, 'vehicle.added', batches));
    ctx.services.changes.announce('due', 'vehicle');
  }
  await record(ctx, { type: 'import.completed', company, fleetId, data });
}
