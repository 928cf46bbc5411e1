import type { Database } from './database.ts';

// Citus is an extension of PostgreSQL that spreads tables over servers (docs/decisions/companies.md).

export const hasCitus = `exists (select from pg_extension where extname = 'citus')`;

/** Tables that are spread by their company, those that others refer to first. */
const distributed = [
  ...['company', 'fleet', 'vehicle', 'vehicle_tally', 'contract', 'import', 'import_batch', 'import_rejection'],
  ...['idempotency_key', 'event', 'history', 'activity', 'webhook', 'delivery', 'schedule'],
];
/** Tables of the coordinator that every node may ask for. */
const local = ['rate_use', 'worker', 'mikro_orm_migrations'];

/** Citus has rules within a company alone: the overlap gets it, and an index that is unique without need becomes a plain one. */
const rewritten = `
  alter table contract drop constraint contract_no_overlap, add constraint contract_no_overlap
    exclude using gist (company with =, vehicle_id with =, pack with =, tstzrange(starts_at, ends_at) with &&);
  do $$ declare one record; begin
    for one in
      select c.oid::regclass as name, pg_get_indexdef(c.oid) as definition
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
      where i.indisunique and t.relnamespace = 'public'::regnamespace
        and t.relname in (${distributed.map((table) => `'${table}'`).join(', ')})
        and not exists (
          select from pg_attribute a where a.attrelid = t.oid and a.attnum = any(i.indkey) and a.attname = 'company')
    loop
      execute format('drop index %s', one.name);
      execute replace(one.definition, 'CREATE UNIQUE INDEX', 'CREATE INDEX');
    end loop;
  end $$`;

/**
 * Nodes do not know how a session of the coordinator is set. It writes values as its session does, and `22/11/2026 06:03 IST` is
 * another time there. Statements wait for locks there; `set local` reaches them too.
 */
const settings = [
  ...['datestyle to ISO', `timezone to 'UTC'`, 'intervalstyle to postgres'],
  ...[`lock_timeout to '3s'`, `citus.propagate_set_commands to 'local'`],
];
const settingsOfNodes = `
  do $$ declare setting text; begin
    foreach setting in array array[${settings.map((one) => `$s$${one}$s$`).join(', ')}] loop
      execute format('alter database %I set %s', current_database(), setting);
    end loop;
  end $$`;

/**
 * Spreads the tables over the nodes of a Citus cluster, in one transaction; gives the names of those that were not spread
 * before. Throws where the extension is not there.
 */
export async function distribute(database: Database): Promise<string[]> {
  const rows = async <Row>(statement: string) => (await database.send(statement, [])) as Row[];
  const [state] = await rows<{ citus: boolean }>(`select ${hasCitus} as citus`);
  if (!state?.citus) throw new Error('This database does not have the extension citus, so nothing can be distributed.');
  const known = new Set(
    (await rows<{ name: string }>('select logicalrelid::text as name from pg_dist_partition')).map(({ name }) => name),
  );
  const missing = [...distributed, ...local].filter((table) => !known.has(table));
  if (missing.length === 0) return [];
  await database.orm.em.fork().transactional(async (em) => {
    await em.execute('set local statement_timeout = 0');
    // Foreign keys between shards are made on connections of their own; those must see what this one did.
    await em.execute(`set local citus.multi_shard_modify_mode = 'sequential'`);
    if (!known.has('company')) await em.execute(rewritten);
    await em.execute(settingsOfNodes);
    for (const table of missing) {
      const options = table === distributed[0] ? `colocate_with => 'none'` : `colocate_with => '${distributed[0]}'`;
      await em.execute(
        local.includes(table)
          ? `select citus_add_local_table_to_metadata('${table}')`
          : `select create_distributed_table('${table}', 'company', ${options})`,
      );
    }
  });
  return missing;
}
