import type { Installation } from './installation.ts';

export interface ListedCompany {
  company: string;
  installation: string;
  /** How a move of it stands; empty without one. */
  state: string;
  vehicles: number;
  rows: number;
  /** Estimated: its part of the tables and their indexes. */
  bytes: number;
}

/** Rows of each company, and the part of each table's size that they are. */
const countedIn = (table: string) => `select company, count(*) as rows,
      count(*) * pg_total_relation_size('${table}') / greatest(sum(count(*)) over (), 1) as bytes,
      ${table === 'vehicle' ? 'count(*)' : '0'} as vehicles from ${table} where company <> '' group by company`;

const listOf = ({ tables }: Installation) => `select company, $1::text as installation,
  case when p.state <> 'HERE' then p.state else '' end as state, sum(vehicles)::float as vehicles, sum(rows)::float as rows, sum(bytes)::float as bytes
  from (${tables.map(countedIn).join(' union all ')}) counted left join placement p using (company)
  where p.state is distinct from 'ELSEWHERE' group by company, p.state order by bytes desc, company`;

/** Companies with what they have, where they are, the largest of each installation first. Reads all rows. */
export async function listCompanies(installations: readonly Installation[]): Promise<ListedCompany[]> {
  return (await Promise.all(installations.map((one) => one.query<ListedCompany>(listOf(one), [one.name])))).flat();
}
