import type { Installation } from './installation.ts';

/** Rows of each company, and the part of each table's size with its indexes that they are, estimated. */
const countedIn = (table: string) => `select company, count(*) as rows,
      count(*) * pg_total_relation_size('${table}') / greatest(sum(count(*)) over (), 1) as bytes,
      ${table === 'vehicle' ? 'count(*)' : '0'} as vehicles from ${table} where company <> '' group by company`;

/** `state`: how a move stands. */
const listOf = ({ tables }: Installation) => `select company, $1::text as installation,
  case when p.state <> 'HERE' then p.state else '' end as state, sum(vehicles)::float as vehicles, sum(rows)::float as rows, sum(bytes)::float as bytes
  from (${tables.map(countedIn).join(' union all ')}) counted left join placement p using (company)
  where p.state is distinct from 'ELSEWHERE' group by company, p.state order by bytes desc, company`;

/** Companies with what they have, where they are, the largest of each installation first. Reads all rows. */
export const listCompanies = async (installations: readonly Installation[]): Promise<object[]> =>
  (await Promise.all(installations.map((one) => one.query(listOf(one), [one.name])))).flat();
