import { sql } from 'kysely';
import { inAnotherFleet } from './add-vehicles.ts';
import { announce } from './changes.ts';
import type { Context } from './context.ts';
import type { CsvRow } from './csv.ts';
import { recheckAfter } from './eligibility.ts';
import { IMPORT_LEASE_SECONDS, type ImportRow, importColumns } from './imports.ts';
import { newId, write } from './sql.ts';
import { readVin } from './vin.ts';

/** Sets a batch of a file aside: the good rows to be stored at its end, the refused ones to be reported. */
export async function stageRows(ctx: Context, run: ImportRow, rows: CsvRow[]): Promise<void> {
  const { manufacturers } = ctx.services;
  const good = {
    rows: [] as number[],
    ids: [] as string[],
    vins: [] as string[],
    manufacturers: [] as (string | null)[],
    supported: [] as boolean[],
    warned: [] as boolean[],
    cells: [] as (string | null)[],
  };
  const bad = {
    rows: [] as number[],
    values: [] as string[],
    codes: [] as string[],
    messages: [] as string[],
    cells: [] as (string | null)[],
  };
  for (const { row, value, cells } of rows) {
    const reading = readVin(value);
    const line = cells && JSON.stringify(cells);
    if ('vin' in reading) {
      good.rows.push(row);
      good.ids.push(newId());
      good.vins.push(reading.vin);
      good.manufacturers.push(manufacturers.manufacturerOf(reading.vin));
      good.supported.push(manufacturers.supports(reading.vin));
      good.warned.push(reading.warnings.length > 0);
      good.cells.push(line);
    } else {
      bad.rows.push(row);
      bad.values.push(value);
      bad.codes.push(reading.code);
      bad.messages.push(reading.message);
      bad.cells.push(line);
    }
  }
  await ctx.em.transactional(async () => {
    const [lease] = await write<{ rejected: number }>(
      ctx,
      sql`update import set received = received + ${rows.length}, rejected = rejected + ${bad.rows.length},
            due_at = ${ctx.now()}::timestamptz + make_interval(secs => ${IMPORT_LEASE_SECONDS})
          where id = ${run.id} and state = 'RUNNING' returning rejected`,
    );
    if (!lease) throw new Error('the import was ended by a worker, or its fleet deleted, while its file arrived');
    await write(
      ctx,
      sql`insert into import_row (import_id, row, vehicle_id, vin, manufacturer, supported, warned, cells)
          select ${run.id}::uuid, r.* from unnest(${good.rows}::int[], ${good.ids}::uuid[], ${good.vins}::text[],
            ${good.manufacturers}::text[], ${good.supported}::boolean[], ${good.warned}::boolean[], ${good.cells}::jsonb[]) r`,
    );
    const room = ctx.services.config.LIMIT_REJECTED_ROWS - (lease.rejected - bad.rows.length);
    if (bad.rows.length > 0 && room > 0) {
      await write(
        ctx,
        sql`insert into import_rejection (import_id, row, value, code, message, cells)
            select ${run.id}::uuid, r.* from unnest(${bad.rows}::int[], ${bad.values}::text[], ${bad.codes}::text[],
              ${bad.messages}::text[], ${bad.cells}::jsonb[]) r limit ${room}`,
      );
    }
    await write(ctx, announce.import(run.id));
  });
}

/** Marks a rollback of storeImport that is no fault: an atomic import with refused rows. */
class AtomicRefusal extends Error {}

/** Stores what was set aside, in one transaction, and ends the import; in mode atomic with a refused row it stores none. */
export async function storeImport(ctx: Context, run: ImportRow, digest: string): Promise<ImportRow> {
  try {
    return await store(ctx, run, digest, run.dry_run ? 'count' : 'insert');
  } catch (error) {
    if (!(error instanceof AtomicRefusal)) throw error;
    return store(ctx, run, digest, 'refuse');
  }
}

async function store(
  ctx: Context,
  run: ImportRow,
  digest: string,
  how: 'insert' | 'count' | 'refuse',
): Promise<ImportRow> {
  return ctx.em.transactional(async () => {
    // The set-based statements below may take longer than an ordinary one may.
    await write(ctx, sql`set local statement_timeout = '30min'`);
    const created = await writeVehicles[how](ctx, run);
    const elsewhere = await rejectElsewhere(ctx, run);
    const [good] = await write<{ count: number }>(
      ctx,
      sql`select count(*)::int as count from import_row where import_id = ${run.id}`,
    );
    const existing = (good?.count ?? 0) - created - elsewhere;
    await write(ctx, sql`delete from import_row where import_id = ${run.id}`);
    const [done] = await write<ImportRow>(
      ctx,
      sql`update import i set state = ${how === 'refuse' ? 'FAILED' : 'COMPLETED'}, digest = ${digest}, due_at = null,
            created = ${how === 'refuse' ? 0 : created}, existing = ${how === 'refuse' ? 0 : existing},
            rejected = i.rejected + ${elsewhere}, failure = ${how === 'refuse' ? 'Rows were refused (mode atomic).' : null},
            finished_at = ${ctx.now()}::timestamptz
          where i.id = ${run.id} and i.state = 'RUNNING' returning ${importColumns}`,
    );
    if (!done) throw new Error('the import was ended by a worker, or its fleet deleted, before it was stored');
    if (how === 'insert' && run.mode === 'atomic' && done.rejected > 0) throw new AtomicRefusal();
    await write(ctx, announce.import(run.id));
    if (how === 'insert' && created > 0) await write(ctx, announce.due('vehicle'));
    return done;
  });
}

/** What becomes of the good rows; each gives how many vehicles are new. */
const writeVehicles = {
  // Sorted by VIN, so that uploads of the same vehicles in opposite orders cannot wait for each other.
  async insert(ctx: Context, run: ImportRow): Promise<number> {
    const [row] = await write<{ count: number }>(
      ctx,
      sql`with first as (
            select distinct on (vin) vehicle_id, vin, manufacturer, supported, warned
            from import_row where import_id = ${run.id} order by vin, row
          ), inserted as (
            insert into vehicle (id, company, fleet_id, vin, manufacturer, warnings, created_at, status, due_at)
            select vehicle_id, ${run.company}, ${run.fleet_id}::uuid, vin, manufacturer,
              case when warned then '{VIN_CHECK_DIGIT}'::text[] else '{}' end, ${ctx.now()}::timestamptz,
              case when supported then 'PENDING' else 'UNSUPPORTED' end,
              ${ctx.now()}::timestamptz + case when supported then interval '0' else ${recheckAfter(ctx, 'UNSUPPORTED')} end
            from first order by vin
            on conflict (company, vin) do nothing returning 1
          )
          select count(*)::int as count from inserted`,
    );
    return row?.count ?? 0;
  },
  async count(ctx: Context, run: ImportRow): Promise<number> {
    const [row] = await write<{ count: number }>(
      ctx,
      sql`select count(distinct r.vin)::int as count from import_row r where r.import_id = ${run.id}
          and not exists (select from vehicle v where v.company = ${run.company} and v.vin = r.vin)`,
    );
    return row?.count ?? 0;
  },
  async refuse(): Promise<number> {
    return 0;
  },
};

/** Refuses the rows whose vehicle another fleet of the company has; gives how many there are. */
async function rejectElsewhere(ctx: Context, run: ImportRow): Promise<number> {
  const elsewhere = sql`from import_row r join vehicle v on v.company = ${run.company} and v.vin = r.vin
    where r.import_id = ${run.id} and v.fleet_id <> ${run.fleet_id}`;
  const [row] = await write<{ count: number }>(
    ctx,
    sql`with kept as (
          insert into import_rejection (import_id, row, value, code, message, cells)
          select r.import_id, r.row, r.vin, ${inAnotherFleet.code}, ${inAnotherFleet.message}, r.cells ${elsewhere}
          order by r.row
          limit greatest(0, ${ctx.services.config.LIMIT_REJECTED_ROWS} - (select count(*) from import_rejection where import_id = ${run.id}))
        )
        select count(*)::int as count ${elsewhere}`,
  );
  return row?.count ?? 0;
}
