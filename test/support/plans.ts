/** A node of an executed plan, in PostgreSQL's JSON format. */
export interface Plan {
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Plan[];
}

let prepared = 0;

/**
 * The plan of a statement for any values, as `explain (format json)` gives it, without running the statement. Needs a
 * transaction. PostgreSQL 15 has no `explain (generic_plan)`.
 */
export async function genericPlan<Node>(
  run: (statement: string) => Promise<Record<string, unknown>[]>,
  text: string,
): Promise<Node> {
  const values = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const name = `planned_${++prepared}`;
  await run('set local plan_cache_mode = force_generic_plan');
  await run(`prepare ${name} as ${text}`);
  const given = values > 0 ? `(${Array(values).fill('null').join(', ')})` : '';
  const [row] = await run(`explain (format json) execute ${name}${given}`);
  await run(`deallocate ${name}`);
  const plan = row?.['QUERY PLAN'];
  return (typeof plan === 'string' ? JSON.parse(plan) : plan)[0].Plan;
}

/** Pages of tables and indexes that were read for these plans. */
export const pagesRead = (plans: readonly Plan[]): number =>
  plans.reduce((sum, plan) => sum + (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0), 0);

/** Counts the rows that a plan has read, by table and index, and the pairs that its joins rejected. */
export function looks(plan: Plan, found: Record<string, number> = {}): Record<string, number> {
  const { 'Relation Name': table, 'Index Name': index = 'no index', Plans: below = [] } = plan;
  const rows = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  // A bitmap index scan has no table name.
  if (table || plan['Index Name']) {
    const what = `${table ?? 'entries'} by ${index}`;
    found[what] = (found[what] ?? 0) + rows;
  }
  const pairs = (plan['Rows Removed by Join Filter'] ?? 0) * plan['Actual Loops'];
  if (pairs > 0) found.pairs = (found.pairs ?? 0) + pairs;
  for (const one of below) looks(one, found);
  return found;
}
