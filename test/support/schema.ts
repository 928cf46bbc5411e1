import { MikroORM } from '@mikro-orm/postgresql';
import { PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll } from 'vitest';
import { ormOptions } from '../../src/database/orm.ts';
import { asAdmin, testDatabase } from './database.ts';
import { SCHEMA } from './operator.ts';

type Row = Record<string, string>;

/**
 * A migrated database on a single connection, so that `begin` and `rollback` enclose the statements between them. On a
 * server it is its administrator's: some changes of the catalogue are beyond the service's role.
 */
export async function schemaSession() {
  const { database, env } = await testDatabase();
  const connectionString = env.DATABASE_URL && asAdmin(env);
  const pool = new pg.Pool({ connectionString, max: 1, options: `-c array_nulls=on -c search_path=${SCHEMA}` });
  const { dbName, schema } = database.orm.config.getAll();
  const orm = env.DATABASE_URL
    ? await MikroORM.init({ ...ormOptions, dbName, schema, driverOptions: () => new PostgresDialect({ pool }) })
    : database.orm;
  afterAll(() => (orm === database.orm ? undefined : orm.close()));
  const execute = (statement: string) => orm.em.getConnection().execute(statement);
  const undone = async <T>(body: () => Promise<T>): Promise<T> => {
    await execute('begin');
    return body().finally(() => execute('rollback'));
  };
  return { orm, env, execute, undone };
}

/** The statements with which MikroORM would change the database to match the entities. */
export const difference = async (orm: MikroORM): Promise<string> =>
  (await orm.schema.getUpdateSchemaSQL({ wrap: false })).trim();

const oursOnly = `c.relnamespace = current_schema::regnamespace and c.relname not like 'mikro_orm_%'`;

/**
 * Columns whose type or collation differs from their property. MikroORM confuses json with jsonb, timestamp with
 * timestamptz and array types, and reads the collation "C" as none if that is the database's default.
 */
export async function otherTypes(orm: MikroORM): Promise<string[]> {
  const declared = [...orm.getMetadata().getAll().values()].flatMap(({ tableName, props }) =>
    props
      .filter(({ persist }) => persist !== false)
      .flatMap(({ fieldNames, columnTypes, collation = 'default' }) =>
        fieldNames.map((column, at) => ({ table: tableName, column, type: columnTypes[at], order: collation })),
      ),
  );
  const rows = await orm.em.getConnection().execute<Row[]>(
    `with declared as (
       select * from jsonb_to_recordset('${JSON.stringify(declared)}')
         as d("table" text, "column" text, type text, "order" text))
     select concat_ws(' ', d."table", d."column", 'is', format_type(a.atttypid, null), l.collname) as line
     from declared d left join pg_attribute a on a.attrelid = to_regclass(d."table") and a.attname = d."column"
     left join pg_collation l on l.oid = a.attcollation
     where a.atttypid is distinct from to_regtype(d.type) or coalesce(l.collname, 'default') <> d."order"`,
  );
  return rows.map(({ line = '' }) => line);
}

/** Queries for lines of text, one for each kind of object that MikroORM compares in part or not at all. */
const catalogue = [
  `select pg_get_indexdef(indexrelid)
     || case when i.indisvalid and i.indisready then '' else ' -- invalid' end
     || case when n.oid is null then '' else ' -- constraint' end as line
   from pg_index i join pg_class c on c.oid = i.indrelid
   left join pg_constraint n on n.conindid = i.indexrelid and n.contype in ('p', 'u', 'x') where ${oursOnly}`,
  `select concat_ws(' ', 'table', c.relname, case c.relpersistence when 'u' then 'unlogged' end,
     c.reloptions::text, case when c.relreplident <> 'd' then 'replica identity ' || c.relreplident::text end) as line
   from pg_class c where c.relkind = 'r' and ${oursOnly}
     and (c.relpersistence <> 'p' or c.reloptions is not null or c.relreplident <> 'd')`,
  `select concat_ws(' ', 'column', c.relname || '.' || a.attname, 'storage ' || a.attstorage::text, nullif(a.attcompression::text, ''),
     nullif(coalesce(a.attstattarget, -1), -1), o.options::text) as line
   from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
   cross join lateral (select nullif(array(select one from unnest(a.attoptions) one where one like 'n_distinct%'), '{}') options) o
   where c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and ${oursOnly} and (a.attstorage <> t.typstorage
     or a.attcompression <> '' or coalesce(a.attstattarget, -1) <> -1 or o.options is not null)`,
  `select 'not validated: ' || c.relname || ' ' || n.conname as line
   from pg_constraint n join pg_class c on c.oid = n.conrelid where not n.convalidated and ${oursOnly}`,
  `select pg_get_triggerdef(t.oid) || case t.tgenabled when 'O' then '' else ' -- enabled ' || t.tgenabled::text end as line
   from pg_trigger t join pg_class c on c.oid = t.tgrelid where not t.tgisinternal and ${oursOnly}`,
  `select pg_get_functiondef(p.oid) as line from pg_proc p where p.pronamespace = current_schema::regnamespace
     and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
  `select format('sequence %s as %s start %s increment %s from %s to %s cache %s%s', c.relname, s.seqtypid::regtype,
     s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, case when s.seqcycle then ' cycle' end) as line
   from pg_sequence s join pg_class c on c.oid = s.seqrelid where ${oursOnly}`,
  `select 'rule ' || definition as line from pg_rules where schemaname = current_schema`,
  `select pg_get_statisticsobjdef(s.oid) as line from pg_statistic_ext s where s.stxnamespace = current_schema::regnamespace`,
  `select 'extension ' || extname as line from pg_extension where extname <> 'plpgsql'`,
  `select 'schema ' || nspname as line from pg_namespace where nspname not in ('information_schema', 'public', current_schema) and nspname !~ '^pg_'`,
  `select 'domain ' || typname as line from pg_type where typtype = 'd' and typnamespace = current_schema::regnamespace`,
];

/** Lists the objects that MikroORM does not compare, one per line (a function has several lines), as of the schema `public`. */
export async function beyondMikroOrm(orm: MikroORM): Promise<string> {
  const kinds: string[] = [];
  for (const query of catalogue) {
    const rows = await orm.em.getConnection().execute<Row[]>(query);
    const lines = rows.map(({ line = '' }) => line.trimEnd().replaceAll(`${SCHEMA}.`, 'public.')).sort();
    if (lines.length > 0) kinds.push(lines.join('\n'));
  }
  return `${kinds.join('\n\n')}\n`;
}
