import type { Database } from '../../src/database/database.ts';

const samples: Record<string, string> = {
  // Digits, since ids are put together of some.
  text: `'01980000000070008000'`,
  uuid: `'01980000-0000-7000-8000-000000000001'`,
  boolean: 'true',
  integer: '1',
  bigint: String(2 ** 46),
  real: '1',
  'double precision': '1',
  numeric: '1',
  'timestamp with time zone': `'2026-11-22 00:00:00Z'`,
  json: `'[]'`,
  jsonb: `'[]'`,
};

let tried = 0;
/** The statement with a value in each place, as its types have it. */
async function withValues({ orm }: Database, text: string): Promise<string> {
  const em = orm.em.fork();
  const name = `tried_${++tried}`;
  const types = await em.transactional(async () => {
    await em.execute(`prepare ${name} as ${text}`);
    const [row] = await em.execute<{ types: string[] }[]>(
      `select parameter_types::text[] as types from pg_prepared_statements where name = '${name}'`,
    );
    await em.execute(`deallocate ${name}`);
    return row?.types ?? [];
  });
  return text.replaceAll(/\$(\d+)/g, (_, number) => {
    const type = types[Number(number) - 1] ?? 'text';
    return `${type.endsWith('[]') ? `'{}'` : (samples[type] ?? 'null')}::${type}`;
  });
}

/** `one` task, or what else Citus makes of it: tasks on all shards, steps one after another (`subplans`), or none. */
export async function planOf(database: Database, text: string): Promise<string> {
  try {
    const statement = await withValues(database, text);
    const rows = await database.orm.em.fork().execute<Record<string, string>[]>(`explain (costs off) ${statement}`);
    const plan = rows.map((row) => Object.values(row)[0]).join('\n');
    const tasks = [...plan.matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count));
    const steps = plan.includes('Subplan') ? ['subplans'] : [];
    if (tasks.length === 0 && !plan.includes('Citus')) return 'no table of companies';
    return [...(Math.max(0, ...tasks) > 1 ? ['all shards'] : ['one']), ...steps].join(', ');
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message.split('\n')[0] : error}`;
  }
}
