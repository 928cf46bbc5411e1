import type { IndexCheck, TellOperator } from './database.ts';
import type { PGlitePool } from './pglite.ts';

/** Tables are checked up to this size: nobody is served meanwhile, for some 0.3 ms per 1,000 rows. */
const MOST_BYTES = 256 * 1024 * 1024;

const names = `select c.relname::text as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
  where c.relnamespace = current_schema::regnamespace and pg_relation_size(i.indrelid) < ${MOST_BYTES}
  and (a.amname = 'btree' or c.relname = 'contract_no_overlap') order by 1`;

/** All contracts, once by the index and once by the table. A scan through a bitmap is the one that loses no entry. */
const ofPeriods = `do $$ declare found int; there int; begin
    set local enable_seqscan = off; set local enable_indexscan = off;
    select count(*) into found from contract where tstzrange(starts_at, ends_at) && '(,)';
    set local enable_seqscan = on; set local enable_bitmapscan = off;
    select count(*) into there from contract;
    if found <> there then raise exception using errcode = 'XX002', message = format('it has %s of %s contracts', found, there); end if;
  end $$`;

/** What amcheck, and the check of periods, raise. */
const DAMAGED = /^XX00[12]$/;
/** A row that a lost entry let in: the index cannot be rebuilt. */
const VIOLATED = /^23(505|P01)$/;

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);

/**
 * Looks for rows that an index does not have, since PostgreSQL itself may lose some (docs/decisions/periods.md). amcheck is there
 * during a check only: a dump of the database does not need it.
 */
export const indexChecks = (pool: PGlitePool, tell: TellOperator): IndexCheck => ({
  names: async () => (await pool.send(names, [])).map((row) => (row as { name: string }).name),
  async mend(name) {
    const { query, release } = await pool.connect();
    try {
      await query('begin; create extension amcheck');
      const check = name === 'contract_no_overlap' ? ofPeriods : `select bt_index_check('"${name}"', true)`;
      const fault = await query(check).then(
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
