import { type Expression, type Selectable, sql } from 'kysely';
import { contractFactsQuery, vehicleNamesOf } from '../events/contract-facts.ts';
import { type EventOrigin, eventsClause } from '../events/record-events.ts';
import { anyOfTexts, asTimestamptz, db, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { programsOfContract } from './activation.ts';
import { contractsOfEach, contractsOfVins } from './contracts-of-vehicles.ts';

// What becomes of contracts by the states of their programs.

/** Programs of a contract `c` whose end is not confirmed. */
const notEnded = (c: string, vin: string) => `activation a
  where ${programsOfContract('a', c, vin)} and a.state <> 'ENDED'`;

/** Those that no contract in force needs: `wanted` is as it was at the last claim. */
const leftOf = (c: string, vin: string, company: string, now: Expression<string>) =>
  sql`${sql.raw(notEnded(c, vin))} and not (a.wanted and exists (
    select from vehicle v cross join lateral ${contractsOfEach(company)} n where v.company = a.company and v.vin = a.vin
      and n.starts_at <= ${now} and n.ends_at > ${now} and n.provider = a.provider and a.program = any(n.programs)))`;

/** A contract in force has the worst state of its programs. One without a row, or one that is still ending, is yet to be asked for. */
const IN_FORCE = `(
  select p.state, p.reason from (
    select case when a.state in ('REJECTED', 'FAILED', 'ACTIVE') then a.state else 'PENDING' end as state, a.reason
    from unnest(c.programs) program left join activation a
      on a.company = c.company and a.vin = v.vin and a.provider = c.provider and a.program = program.program
  ) p order by array_position('{REJECTED,FAILED,PENDING,ACTIVE}'::text[], p.state) limit 1)`;

/** A contract that is over is ending while programs are left. */
const over = (company: string, now: Expression<string>) => sql`(
  select case when count(*) > 0 then 'ENDING' else 'ENDED' end as state, (array_agg(a.reason))[1] as reason
  from ${leftOf('c', 'v.vin', company, now)})`;

/** Whether a program is left that was found on after the end of `c`: it was needed until then, and by no contract since. */
const FOUND_AGAIN = `exists (select from ${notEnded('c', 'v.vin')} and not a.wanted and a.changed_at <= c.activation_changed_at)`;
/** What ends may be found on so long (LOOKS_AFTER_END in next-look.ts). */
const FOUND_WITHIN = `interval '2 days'`;

/** Whatever changes contracts locks them before their programs, in the order of VINs: opposite orders would wait for each other. */
export const lockContracts = prepare((p: { company: string; vins: readonly string[]; now: Date }) =>
  db
    .with(
      (w) => w('found').materialized(),
      () => contractsOfVins(p.company, p.vins).select(['c.id', 'v.vin']),
    )
    .selectFrom('contract as c')
    .innerJoin('found', 'found.id', 'c.id')
    .select('c.id')
    .where('c.company', '=', p.company)
    .where('c.provider', 'is not', null)
    .where(
      sql<boolean>`(c.activation <> 'ENDED' or c.activation_changed_at > ${asTimestamptz(p.now)} - ${sql.raw(FOUND_WITHIN)})`,
    )
    .orderBy('found.vin')
    .orderBy('c.id')
    .forNoKeyUpdate('c'),
);

type Own = Pick<Selectable<Tables['contract']>, 'id' | 'was_active'> & {
  was: string;
  state: Selectable<Tables['contract']>['activation'];
  reason: string | null;
};

/** Gives contracts the states of their programs, and records what became of them, and of deleted ones that were active. */
export const settle = prepare((p: EventOrigin & { company: string; vins: readonly string[] }) => {
  const now = asTimestamptz(p.at);
  return db
    .with(
      'own',
      () =>
        sql<Own>`(
        select c.id, c.activation as was, c.was_active or c.activation = 'ACTIVE' as was_active, stands.state, stands.reason
        from vehicle v
        cross join lateral ${contractsOfEach(p.company)} c
        cross join lateral (
          select * from ${sql.raw(IN_FORCE)} in_force where c.ends_at > ${now}
          union all
          select * from ${over(p.company, now)} over_now where c.ends_at <= ${now}
        ) stands
        where v.company = ${p.company} and v.vin = ${anyOfTexts(p.vins)} and c.provider is not null and c.starts_at <= ${now}
          and (c.activation <> 'ENDED' or c.activation_changed_at > ${now} - ${sql.raw(FOUND_WITHIN)} and ${sql.raw(FOUND_AGAIN)}))`,
    )
    .with('c', (q) =>
      q
        .updateTable('contract as c')
        .from('own')
        .set({
          activation: sql<'ACTIVE'>`own.state`,
          activation_reason: sql<string | null>`own.reason`,
          activation_changed_at: now,
          // Waiting is no news.
          was_active: sql<boolean>`own.was_active and own.state in ('PENDING', 'ENDING')`,
        })
        .where('c.company', '=', p.company)
        .whereRef('c.id', '=', 'own.id')
        .where(sql<boolean>`(own.state <> own.was or own.reason is distinct from c.activation_reason)`)
        .returningAll('c'),
    )
    .with('deleted', (q) =>
      q
        .deleteFrom('deleted_contract as c')
        .where('c.company', '=', p.company)
        .where('c.vin', '=', anyOfTexts(p.vins))
        .where(sql<boolean>`not exists (select from ${leftOf('c', 'c.vin', p.company, now)})`)
        .returningAll(),
    )
    .with('recorded', (q) => {
      const changed = (states: string, wasActive: boolean) =>
        contractFactsQuery(q, vehicleNamesOf(p.company), 'withReason').where(
          sql<boolean>`exists (select from own where own.id = c.id and own.was <> own.state
            and own.state = any(${sql.lit(states)}::text[]) and own.was_active = ${sql.lit(wasActive)})`,
        );
      const ofDeleted = q
        .selectFrom('deleted as d')
        .select([
          'd.company',
          'd.fleet_id',
          'd.id as contract_id',
          sql<string[]>`array[d.vehicle_id]`.as('vehicle_ids'),
        ])
        .select([sql<string[]>`array[d.vin]`.as('vins'), 'd.data']);
      return eventsClause(q, p, {
        'contract.activated': changed('{ACTIVE}', false),
        'contract.rejected': changed('{REJECTED}', false),
        'contract.failed': changed('{FAILED}', false),
        'contract.deactivated': changed('{REJECTED,FAILED,ENDED}', true).unionAll(ofDeleted),
      });
    })
    .selectFrom('c')
    .select('id')
    .unionAll((q) => q.selectFrom('deleted').select('id'));
});
