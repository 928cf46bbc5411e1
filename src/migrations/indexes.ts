/**
 * Statements that make indexes, each by what it is on, and drop others. Nobody waits for them, so they are not for a
 * transaction; what was left by an attempt that was cut off is made anew.
 */
export function replaceIndexes(
  made: Readonly<Record<string, string>>,
  removed: readonly string[],
  kind: 'index' | 'unique index' = 'index',
): string[] {
  const names = Object.keys(made).map((name) => `'${name}'`);
  return [
    // Building one waits for the transactions that are open, however long they are.
    'set lock_timeout = 0',
    `do $$ declare broken text; begin
      for broken in select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
        where not i.indisvalid and c.relname in (${names.join(', ')}) and c.relnamespace = 'public'::regnamespace
      loop execute format('drop index %I', broken); end loop;
    end $$`,
    ...Object.entries(made).map(([name, on]) => `create ${kind} concurrently if not exists ${name} on ${on}`),
    ...removed.map((name) => `drop index concurrently if exists ${name}`),
    'reset lock_timeout',
  ];
}
