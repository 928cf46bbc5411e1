import type { IndexCheck, TellOperator } from './database.ts';
import type { PGlitePool } from './pglite.ts';

/** Tables are checked up to this size: nobody is served meanwhile, for some 0.3 ms per 1,000 rows. */
const MOST_BYTES = 256 * 1024 * 1024;

/** How much of a table's rows are looked up one by one, chosen anew each day. */
const SAMPLE_BYTES = 4 * 1024 * 1024;

interface Index {
  name: string;
  method: string;
  table: string;
  column: string;
  condition: string;
}

const indexes = `select c.relname::text as name, a.amname::text as method, i.indrelid::regclass::text as table,
    pg_get_indexdef(i.indexrelid, 1, true) as column, coalesce(pg_get_expr(i.indpred, i.indrelid), 'true') as condition
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
  where c.relnamespace = current_schema::regnamespace and pg_relation_size(i.indrelid) < ${MOST_BYTES}
  and (a.amname in ('btree', 'hash', 'gin') or c.relname = 'contract_no_overlap') order by 1`;

/** Counts rows once by this index alone and once by the table. A scan through a bitmap is the one that loses no entry. */
const counted = ({ name, table }: Index, found: string, there: string) => `do $$ declare found int; there int; begin
    update pg_index set indisvalid = false where indrelid = '${table}'::regclass and indexrelid <> '"${name}"'::regclass;
    set local enable_seqscan = off; set local enable_indexscan = off; set local enable_tidscan = off;
    set local enable_hashjoin = off; set local enable_mergejoin = off;
    found := (${found});
    set local enable_seqscan = on; set local enable_bitmapscan = off;
    there := (${there});
    if found <> there then raise exception using errcode = 'XX002', message = format('it has %s of %s rows', found, there); end if;
  end $$`;

/** How the rows of an index are compared with those of its table, by its method. */
const checks: Readonly<Record<string, (index: Index) => string>> = {
  btree: ({ name }) => `select bt_index_check('"${name}"', true)`,
  // contract_no_overlap.
  gist: (index) =>
    counted(
      index,
      `select count(*) from contract where tstzrange(starts_at, ends_at) && '(,)'`,
      'select count(*) from contract',
    ),
  // Rows that are under no key at all.
  gin: (index) => {
    const rows = `select count(*) from ${index.table} where ${index.condition}`;
    return counted(index, `${rows} and ${index.column} @> '{}'`, rows);
  },
  // Nothing goes through all of a hash index.
  hash: (index) => {
    const percent = `least(100, 100.0 * ${SAMPLE_BYTES} / greatest(pg_relation_size('${index.table}'), 1))`;
    const sample = `${index.table} s tablesample system (${percent}) repeatable (extract(doy from now()))`;
    const found = `select count(*) from ${sample} join ${index.table} x on x.${index.column} = s.${index.column}
      and x.ctid::text = s.ctid::text`;
    return counted(index, found, `select count(*) from ${sample}`);
  },
};

/** What amcheck and `counted` raise. */
const DAMAGED = /^XX00[12]$/;
/** A row that a lost entry let in: the index cannot be rebuilt. */
const VIOLATED = /^23(505|P01)$/;

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);

/**
 * Looks for rows that an index does not have, since PostgreSQL itself may lose some (docs/decisions/periods.md). amcheck is there
 * during a check only: a dump of the database does not need it.
 */
export const indexChecks = (pool: PGlitePool, tell: TellOperator): IndexCheck => ({
  names: async () => (await pool.send(indexes, [])).map((row) => (row as Index).name),
  async mend(name) {
    const { query, release } = await pool.connect();
    try {
      await query('begin; create extension amcheck');
      const [index] = (await query(`select * from (${indexes}) i where name = $1`, [name])).rows as Index[];
      const check = index && checks[index.method]?.(index);
      const fault = await (check ? query(check) : Promise.resolve()).then(
        () => null,
        (error: unknown) => error as Error,
      );
      await query('rollback');
      if (fault === null) return false;
      if (!DAMAGED.test(codeOf(fault))) throw fault;
      await query(`reindex index "${name}"`);
      tell(`The index ${name} lacked entries (${fault.message}), and was rebuilt.`);
      return true;
    } catch (error) {
      if (!VIOLATED.test(codeOf(error))) throw error;
      const remedy = 'delete one row of each two, and "reindex" it';
      throw new Error(`The index ${name} lacks entries, and rows violate it: ${remedy}.`, { cause: error });
    } finally {
      release();
    }
  },
});
