import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { counted } from '../counted.ts';
import { type Installation, MoveError, stayingTables } from './installation.ts';

// PostgreSQL's own logical replication copies a company and follows its changes: a publication with row filters, and a subscription.

export interface Move {
  company: string;
  source: Installation;
  target: Installation;
  tell: (text: string) => void;
  /** Like `tell`, for what is worth a line now and then. */
  progress: (text: string) => void;
}
export type Moved = Omit<Move, 'source' | 'target'>;

const POLL_MS = 50;
const MOST_FAULTS = 5;

/** The name of publication, subscription and slot of a company. */
const nameFor = (company: string): string =>
  `fleet_gateway_move_${createHash('sha256').update(company).digest('hex').slice(0, 16)}`;

/** Begins the copy, or goes on with one that was begun. */
export async function beginCopy(move: Move): Promise<void> {
  const { company, source, target } = move;
  const name = nameFor(company);
  if (await target.one('select 1 from pg_subscription where subname = $1', [name])) return;
  // A copy that was cut off before it had a subscription.
  await endCopy(move);
  await clear(target, move);
  const tables = source.tables.map(
    (table) =>
      `${pg.escapeIdentifier(source.schema)}.${pg.escapeIdentifier(table)} where (company = ${pg.escapeLiteral(company)})`,
  );
  await source.query(`create publication ${name} for table ${tables.join(', ')}`);
  // libpq refuses a parameter that it does not know.
  const address = pg.escapeLiteral(source.url.replace(/([?&])uselibpqcompat=\w*(?:&|$)/, '$1'));
  await target.query(`create subscription ${name} connection ${address} publication ${name}`);
}

const COPY_STATE = `select count(*) filter (where r.srsubstate in ('r', 's'))::int as ready,
    (select coalesce(sum(tuples_processed), 0) from pg_stat_progress_copy
      where datname = current_database() and command = 'COPY FROM') as rows,
    (select (apply_error_count + sync_error_count)::int from pg_stat_subscription_stats where subname = $1) as faults,
    exists (select from pg_stat_subscription where subname = $1 and relid is null and pid is not null) as works
  from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid where s.subname = $1`;

type CopyState = { ready: number; rows: string; faults: number; works: boolean };

/** The bytes up to a position of the source that the target lacks. Throws MoveError where the source does not keep them. */
async function missing({ company, source }: Move, end = '0/0'): Promise<string> {
  const bytes = await source.one<string | undefined>(
    `select greatest(0, $1::pg_lsn - confirmed_flush_lsn)::bigint from pg_replication_slots
      where slot_name = $2 and wal_status <> 'lost'`,
    [end, nameFor(company)],
  );
  if (bytes !== undefined) return bytes;
  throw new MoveError('The replication slot of the copy has gone, or has lost its WAL: give the move up (--abort).');
}

/** Waits until the company's rows are in the target, and its changes follow. */
export async function copied(move: Move): Promise<void> {
  const { company, source, target, progress } = move;
  const name = nameFor(company);
  for (let before: number | undefined; ; await delay(POLL_MS)) {
    await missing(move);
    const [{ ready, rows, faults, works }] = (await target.query(COPY_STATE, [name])) as [CopyState];
    if (ready === source.tables.length) break;
    before ??= faults;
    if (faults - before > MOST_FAULTS)
      throw new MoveError(`The copy fails again and again: the log of ${target.name}'s PostgreSQL says why.`);
    const done = `copied ${ready} of ${source.tables.length} tables; ${rows} rows of the next ones`;
    progress(works ? done : `no worker of ${target.name} copies: see max_logical_replication_workers there`);
  }
  // Rows are then counted by their index alone while requests are refused, and plans know the company.
  await target.query(`vacuum (analyze, index_cleanup off) ${source.tables.join(', ')}`);
  await caughtUp(move);
}

/** Waits until the target has all that the source has written by now. */
export async function caughtUp(move: Move): Promise<void> {
  // Flushes what others may have committed without waiting for the disk.
  await move.source.query(`select pg_logical_emit_message(true, 'fleet-gateway', 'move')`);
  const end = await move.source.one<string>('select pg_current_wal_insert_lsn()::text');
  for (let bytes = ''; bytes !== '0'; await delay(POLL_MS / 5)) {
    bytes = await missing(move, end);
    move.progress(`the target follows, ${bytes} bytes behind`);
  }
}

/** Says how many rows they have in each table. Throws MoveError unless both have as many. */
export async function compare({ company, source, target }: Move): Promise<string> {
  const count = `select ${source.tables.map((table) => `(select count(*) from ${table} where company = $1) as ${table}`)}`;
  const counts = [source, target].map((one) => one.query<Record<string, string>>(count, [company]));
  const [here = {}, there = {}] = (await Promise.all(counts)).flat();
  const other = source.tables.filter((table) => here[table] !== there[table]);
  const differences = other.map((table) => `${table} ${here[table]} and ${there[table]}`);
  if (other.length > 0) throw new MoveError(`The copy differs: ${differences.join(', ')}.`);
  return source.tables.flatMap((table) => (here[table] === '0' ? [] : `${table} ${here[table]}`)).join(', ');
}

/** So far ahead that the target's own writes cannot pass while the sequence is set. */
const AHEAD = 1_000_000;

/** Has the target's sequences pass those of the source: rows with the source's numbers have arrived. */
export async function passSequences({ source, target }: Move): Promise<void> {
  const sequences = await source.query<{ name: string }>(
    `select pg_get_serial_sequence(attrelid::regclass::text, attname) as name from pg_attribute
      where attidentity <> '' and attrelid = any ($1::text[]::regclass[])`,
    [source.tables],
  );
  for (const { name } of sequences) {
    const last = await source.one<string>(`select last_value from ${name}`);
    await target.query(`select setval('${name}', greatest(last_value, $1::bigint) + ${AHEAD}) from ${name}`, [last]);
  }
}

/** Ends following, wherever it stands. */
export async function endCopy({ company, source, target }: Move): Promise<void> {
  const name = nameFor(company);
  if (await target.one('select 1 from pg_subscription where subname = $1', [name])) {
    // Without its slot, which a source that has failed over lacks.
    for (const change of ['disable', 'set (slot_name = none)'])
      await target.query(`alter subscription ${name} ${change}`);
    await target.query(`drop subscription ${name}`);
  }
  await source.query(`drop publication if exists ${name}`);
  await source.query(DROP_SLOT, [name]);
}
const DROP_SLOT = `select pg_terminate_backend(active_pid, 5000), pg_drop_replication_slot(slot_name)
  from pg_replication_slots where slot_name = $1`;

const CLEARED_AT_ONCE = 5_000;

/** Deletes a company's rows in small steps, so that no other company waits. */
export async function clear(where: Installation, { company, tell, progress }: Moved): Promise<void> {
  let cleared = 0;
  for (const table of [...where.tables, ...stayingTables]) {
    // They are looked for once: each step would walk over what the ones before have deleted, and nothing has vacuumed yet.
    const rows = `select ctid from ${table} where company = ${pg.escapeLiteral(company)}`;
    const next = () => where.query<{ ctid: string }>(`fetch ${CLEARED_AT_ONCE} from leaving`);
    // A row that changes meanwhile is at another place.
    for (let changed = true; changed; ) {
      changed = false;
      await where.query(`close all; declare leaving no scroll cursor with hold for ${rows}`);
      for (let step = await next(); step.length > 0; step = await next()) {
        const gone = `delete from ${table} where company = $1 and ctid = any ($2::tid[]) returning 1`;
        const deleted = (await where.query(gone, [company, step.map(({ ctid }) => ctid)])).length;
        changed ||= deleted < step.length;
        cleared += deleted;
        progress(`deleted ${counted(cleared, 'row')} from ${where.name}, the last ones of ${table}`);
      }
    }
  }
  if (cleared > 0) tell(`deleted ${counted(cleared, 'row')} from ${where.name}`);
}
