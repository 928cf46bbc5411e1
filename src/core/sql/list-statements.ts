import { MOST_COUNTED_ROWS } from './page.ts';

// The statements of lists, with names in braces for what differs. The figures are of PostgreSQL 15 and a company of a
// million vehicles in 6,515 fleets, from memory.

/** Up to this many rows are looked up by an index and sorted; more are searched in the list's order. */
export const MOST_FOUND = 5000;

/** In the order of an index: 50 of 10,000 vehicles of a fleet, by VIN, in 0.03 ms from 53 pages. */
export const IN_ORDER = `
select {values} from {table}
where {where}
order by {order} limit {limit}`;

/**
 * By an index of a condition that few rows may meet, then sorted: vehicles of a status that none has, in 0.01 ms from 3 pages;
 * of 20,000 with another one 5,001 are found and left in 13 ms, 6,193 pages: the list is then read in its order, where one comes soon.
 */
export const FOUND_OR_IN_ORDER = `
with {lookups} found as materialized ({found})
select * from (
  (select {alias}.* from found {alias}
   where {isFew} and {range}
   order by {order} limit {limit})
  union all
  (select {alias}.* from {table}
   where not {isFew} and {where}
   order by {order} limit {limit})
) {alias} order by {order} limit {limit}`;

/** By numbers that some rows have stored, and others, which are behind, get on the spot (docs/decisions/one-statement.md). */
export const STORED_OR_BEHIND = `
select {alias}.* from (
  (select {columns} from {table}
   where not {isBehind} and {where}
   order by {order} limit {limit})
  union all
  (select {columns} from {behind}
   where {where}
   order by {order} limit {limit})
) {alias} order by {order} limit {limit}`;

/** The values of the rows of one of these. The far end comes after their limit: before it, rows would be looked for beyond that end. */
export const VALUES = `
select {values} from ({rows}) {alias} {joins}
where {inside}
order by {order}`;

/** Rows of each value of a set: each look-up has the order of its index, and ends at the limit. */
export const FOUND_OF_EACH = `
select {alias}.* from {each} one(of)
cross join lateral ({found}) {alias}
where {isLookedUp} limit {limit}`;

/**
 * What is found by values of another table, such as contracts by the vehicles of a VIN's beginning: of more than 5,000 vehicles,
 * those with a contract, unless the list has fewer contracts (and than 100,000), which are walked then. Few found among many
 * cost the lesser of both: 6,000 vehicles beside 48,000 contracts 90,000 pages, where 193,600 were read for each vehicle's.
 */
export const LOOKUPS = `
given(of) as materialized (select of from ({values}) one(of) limit ${MOST_FOUND + 1}),
side(is_few, is_walked) as materialized (
  select is_few, case when is_few then false else (
    select listed.n < ${MOST_COUNTED_ROWS} and (select count(*) from (select of from ({values}) one(of) limit listed.n + 1) n) > listed.n
    from (select (select count(*) from (select from {table} where {where} limit ${MOST_COUNTED_ROWS}) n) as n offset 0) listed) end
  from (select (select count(*) from given) <= ${MOST_FOUND} as is_few offset 0) counted),
looked_up(of) as materialized (
  select of from given where (select is_few from side)
  union all
  (select of from ({values}) one(of)
   where not (select is_few or is_walked from side) and exists ({rows}) limit ${MOST_FOUND + 1})),`;

export const IS_LOOKED_UP = `(not (select is_walked from side) and (select count(*) from looked_up) <= ${MOST_FOUND})`;

/** The rows, for counting, that are found by values of another table, or walked. */
export const LOOKED_UP_OR_ALL = `
with {lookups} found as ({found})
select from found
union all
select from ({all}) n where not {isLookedUp}`;

/** The statement with these texts in place of its names. */
export const fill = (statement: string, holes: Readonly<Record<string, string>>): string =>
  statement.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const given = holes[name];
    if (given === undefined) throw new Error(`a statement of lists lacks ${name}`);
    return given;
  });
