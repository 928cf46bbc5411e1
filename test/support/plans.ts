/** A step of a plan, as PostgreSQL explains it in JSON after it was run. */
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

/** How many rows a plan has looked at, by table and index, and how many pairs of rows that do not belong together. */
export function looks(plan: Plan, found: Record<string, number> = {}): Record<string, number> {
  const { 'Relation Name': table, 'Index Name': index = 'no index', Plans: below = [] } = plan;
  const rows = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  // A bitmap's index names no table.
  if (table || plan['Index Name']) {
    const what = `${table ?? 'entries'} by ${index}`;
    found[what] = (found[what] ?? 0) + rows;
  }
  const pairs = (plan['Rows Removed by Join Filter'] ?? 0) * plan['Actual Loops'];
  if (pairs > 0) found.pairs = (found.pairs ?? 0) + pairs;
  for (const one of below) looks(one, found);
  return found;
}
