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
