import { type Selectable, sql } from 'kysely';
import type { ProgramAnswer } from '../../manufacturers/index.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { announceEvents, type EventOrigin, eventsClause, systemOrigin } from '../events/record-events.ts';
import { toMendedJson } from '../input.ts';
import { anyOfIds, anyOfTexts, asTimestamptz, db, jsonRecordset, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { programsOfContract } from './activation.ts';
import { contractFactsQuery, vehicleNamesOf } from './contracts.ts';
import { contractsOfEach, contractsOfVins } from './contracts-of-vehicles.ts';
import { type AskedProgram, secondsToNext } from './next-look.ts';

export type { AskedProgram };

interface Fact {
  id: string;
  until: string;
  /** null: no answer. */
  state: ProgramAnswer['state'] | null;
  reason: string | null;
  raw: string | null;
  asked: boolean;
  /** Whether it was the first question about a wish. */
  first: boolean;
  looked: boolean;
  brand: string | null;
  next: number | null;
}
const factColumns = `id uuid, until timestamptz, state text, reason jsonb, raw jsonb, asked boolean, first boolean, looked boolean, brand text, next float8`;

interface Facts extends EventOrigin {
  company: string;
  process: string;
  facts: string;
  ids: readonly string[];
}

/** Contracts are locked before programs, as whatever changes contracts does. */
const lockContracts = prepare((p: { company: string; vins: readonly string[] }) =>
  db
    .with(
      (w) => w('found').materialized(),
      () => contractsOfVins(p.company, p.vins).select('c.id'),
    )
    .selectFrom('contract as c')
    .innerJoin('found', 'found.id', 'c.id')
    .select('c.id')
    .where('c.company', '=', p.company)
    .where('c.provider', 'is not', null)
    .where('c.activation', '<>', sql.lit('ENDED'))
    .orderBy('c.id')
    .forNoKeyUpdate('c'),
);

const storeFacts = prepare((p: Facts) => {
  const now = asTimestamptz(p.at);
  const held = (table: 'activation' | 'a') =>
    sql<boolean>`${sql.ref(`${table}.company`)} = ${p.company} and ${sql.ref(`${table}.id`)} = fact.id
      and ${sql.ref(`${table}.id`)} = ${anyOfIds(p.ids)} and ${sql.ref(`${table}.claimed_by`)} = ${p.process}
      and ${sql.ref(`${table}.due_at`)} is not distinct from fact.until`;
  return db
    .with('fact', (q) => q.selectFrom(jsonRecordset<Fact, 'f'>('f', p.facts, factColumns)).selectAll())
    .with('gone', (q) =>
      q
        .deleteFrom('activation')
        .using('fact')
        .where(held('activation'))
        .where('fact.state', '=', sql.lit('ENDED'))
        .where('fact.next', 'is', null)
        .where('activation.touched', '=', sql.lit(false)),
    )
    .with('kept', (q) =>
      q
        .updateTable('activation as a')
        .from('fact')
        .set({
          state: sql<'PENDING'>`coalesce(fact.state, a.state)`,
          reason: sql<
            string | null
          >`case when fact.state is not null then fact.reason when a.state = 'REJECTED' then a.reason
            else coalesce(fact.reason, a.reason) end`,
          raw_answer: sql<string | null>`coalesce(fact.raw, a.raw_answer)`,
          changed_at: sql<string>`case when fact.state is null or fact.state = a.state or not a.wanted then a.changed_at else ${now} end`,
          looks: sql<number>`case when a.touched then 0 when fact.state is null then a.looks when fact.state = a.state then a.looks + 1 else 1 end`,
          faults: sql<number>`case when fact.state is null then a.faults + fact.asked::int else 0 end`,
          // A wish is new until it is answered.
          renewed: sql<boolean>`case when fact.state is null then a.renewed or fact.first else a.renewed and a.touched end`,
          due_at: sql<
            string | null
          >`case when a.touched then ${now} else ${now} + make_interval(secs => fact.next) end`,
          touched: false,
          claimed_by: null,
          brand: sql<string>`coalesce(fact.brand, a.brand)`,
          looked_at: sql<string | null>`case when fact.looked then ${now} else a.looked_at end`,
        })
        .where(held('a'))
        .where(sql<boolean>`(fact.state is distinct from 'ENDED' or fact.next is not null or a.touched)`)
        .returning(['a.company', 'a.due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('kept').select(['company', 'due_at'])))
    .selectFrom('kept')
    .select('company');
});

/** The worst state of a contract's programs comes first. */
const RANK = `array_position('{REJECTED,FAILED,PENDING,ACTIVE}'::text[], p.state)`;

/** Programs of a contract `c` that nobody wants, and whose end is not confirmed. */
const leftOf = (c: string, vin: string) =>
  sql.raw(`activation a
  where ${programsOfContract('a', c, vin)} and not a.wanted and a.state <> 'ENDED'`);

type Own = Pick<Selectable<Tables['contract']>, 'id' | 'was_active'> & {
  was: string;
  state: Selectable<Tables['contract']>['activation'];
  reason: string | null;
};

/** Gives contracts the worst state of their programs, and records what became of them, and of deleted ones that were active. */
export const settle = prepare((p: EventOrigin & { company: string; vins: readonly string[] }) => {
  const now = asTimestamptz(p.at);
  return db
    .with(
      'own',
      () =>
        sql<Own>`(
        select c.id, c.activation as was, c.was_active or c.activation = 'ACTIVE' as was_active,
          case when c.ends_at > ${now} then worst.state when left_over.is_left then 'ENDING' else 'ENDED' end as state,
          case when c.ends_at > ${now} then worst.reason when left_over.is_left then left_over.reason end as reason
        from vehicle v
        cross join lateral ${contractsOfEach(p.company)} c
        cross join lateral (
          select p.state, p.reason from (
            select case when a.state is null or a.state in ('ENDING', 'ENDED') then 'PENDING' else a.state end as state, a.reason
            from unnest(c.programs) program left join activation a on a.company = c.company and a.vin = v.vin
              and a.provider = c.provider and a.program = program.program
          ) p order by ${sql.raw(RANK)} limit 1
        ) worst
        cross join lateral (
          select count(*) > 0 as is_left, (array_agg(a.reason))[1] as reason from ${leftOf('c', 'v.vin')}
        ) left_over
        where v.company = ${p.company} and v.vin = ${anyOfTexts(p.vins)} and c.provider is not null
          and c.activation <> 'ENDED' and c.starts_at <= ${now})`,
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
        .where(sql<boolean>`not exists (select from ${leftOf('c', 'c.vin')})`)
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

/** Stores answers about programs of a company, and what they mean for its contracts; skips claims that are lost. */
export async function storeActivations(ctx: Context, company: string, asked: readonly AskedProgram[]): Promise<void> {
  const { changes, manufacturers } = ctx.services;
  const facts = asked.map(({ program, answer }) => ({
    id: program.id,
    until: program.until,
    state: answer.outcome === 'STANDS' ? answer.state : null,
    reason: answer.reason,
    raw: answer.raw,
    asked: answer.outcome === 'STANDS' || answer.asked,
    first: !program.asked,
    looked: answer.looked ?? false,
    brand: (answer.outcome === 'STANDS' && answer.brand) || null,
    next: secondsToNext(
      { program, answer },
      manufacturers.activatorOf(program.provider)?.looks ?? [],
      ctx.now().getTime(),
    ),
  }));
  const origin = systemOrigin(ctx);
  const vins = [...new Set(asked.map(({ program }) => program.vin))];
  await transaction(ctx, async () => {
    await lockContracts(ctx, { company, vins });
    const ids = facts.map(({ id }) => id);
    await storeFacts(ctx, { ...origin, company, process: changes.process, facts: toMendedJson(facts), ids });
    const contracts = await settle(ctx, { ...origin, company, vins });
    if (contracts.length > 0) announceEvents(ctx);
    changes.announceActivations(
      company,
      contracts.map(({ id }) => id),
    );
  });
  for (const { program, answer } of asked) {
    const state = answer.outcome === 'STANDS' ? answer.state : 'NO_ANSWER';
    changes.emit('outcome', 'activation', state === program.state ? 'UNCHANGED' : state, 1);
    if (program.state === 'ENDED' && state === 'ENDING') changes.emit('outcome', 'found', program.provider, 1);
  }
}
