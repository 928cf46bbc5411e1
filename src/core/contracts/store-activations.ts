import { type Selectable, sql } from 'kysely';
import type { ProgramAnswer, WishAnswer } from '../../manufacturers/provider.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { announceEvents, type EventOrigin, eventsClause, systemOrigin } from '../events/record-events.ts';
import { toMendedJson } from '../input.ts';
import { anyOfIds, anyOfTexts, asTimestamptz, db, jsonRecordset, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { programsOfContract } from './activation.ts';
import { contractFactsQuery, vehicleNamesOf } from './contracts.ts';
import { CONTRACTS_OF_VEHICLE, contractsOfVins } from './contracts-of-vehicles.ts';
import type { ClaimedProgram } from './due-activations.ts';

export type AskedProgram = { program: ClaimedProgram; answer: WishAnswer };

/** Active programs are looked at again, since manufacturers end some by themselves. */
const RECHECK_ACTIVE_SECONDS = 24 * 3600;
/** Delays without an answer grow as 1, 2, 4 … seconds, up to a quarter of an hour, each spread by half. */
const RETRY_CAP_SECONDS = 900;

/** Seconds until the manufacturer is asked next; null where that would change nothing. */
function secondsToNext(
  { looks, faults, state }: ClaimedProgram,
  answer: AskedProgram['answer'],
  schedule: readonly number[],
) {
  const spread = 1 + Math.random() / 10;
  if (answer.outcome === 'NO_ANSWER') {
    const backoff = Math.min(RETRY_CAP_SECONDS, 2 ** Math.min(faults, 20)) * (0.75 + Math.random() / 2);
    return Math.max(answer.retryAfter ?? 0, answer.asked ? backoff : 1) * spread;
  }
  if (answer.state === 'ACTIVE') return RECHECK_ACTIVE_SECONDS * spread;
  if (answer.state !== 'PENDING' && answer.state !== 'ENDING') return null;
  const before = answer.state === state ? looks : 0;
  return (schedule[Math.min(before, schedule.length - 1)] ?? RETRY_CAP_SECONDS) * spread;
}

interface Fact {
  id: string;
  until: string;
  /** null: no answer. */
  state: ProgramAnswer['state'] | null;
  reason: string | null;
  raw: string | null;
  asked: boolean;
  next: number | null;
}
const factColumns = `id uuid, until timestamptz, state text, reason jsonb, raw jsonb, asked boolean, next float8`;

interface Facts extends EventOrigin {
  company: string;
  process: string;
  facts: string;
  ids: readonly string[];
}

/** Contracts are locked before programs, as whatever changes contracts does. */
const lockContracts = prepare((p: { company: string; vins: readonly string[] }) =>
  contractsOfVins(p.company, p.vins)
    .select('c.id')
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
        .where('activation.touched', '=', sql.lit(false)),
    )
    .with('kept', (q) =>
      q
        .updateTable('activation as a')
        .from('fact')
        .set({
          // Contracts changed while it was being ended: it may be wanted again.
          state: sql<'PENDING'>`case fact.state when 'ENDED' then 'PENDING' else coalesce(fact.state, a.state) end`,
          reason: sql<
            string | null
          >`case when fact.state is null then coalesce(fact.reason, a.reason) else fact.reason end`,
          raw_answer: sql<string | null>`coalesce(fact.raw, a.raw_answer)`,
          changed_at: sql<string>`case when fact.state is null or fact.state = a.state or not a.wanted then a.changed_at else ${now} end`,
          looks: sql<number>`case when fact.state is null then a.looks when fact.state = a.state then a.looks + 1 else 0 end`,
          faults: sql<number>`case when fact.state is null then a.faults + fact.asked::int else 0 end`,
          renewed: sql<boolean>`a.renewed and (fact.state is null or a.touched)`,
          due_at: sql<
            string | null
          >`case when a.touched then ${now} else ${now} + make_interval(secs => fact.next) end`,
          touched: false,
          claimed_by: null,
        })
        .where(held('a'))
        .where(sql<boolean>`(fact.state is distinct from 'ENDED' or a.touched)`)
        .returning(['a.company', 'a.due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('kept').select(['company', 'due_at'])))
    .selectFrom('kept')
    .select('company');
});

/** The worst state of a contract's programs comes first. */
const RANK = `array_position('{REJECTED,FAILED,PENDING,ACTIVE}'::text[], p.state)`;

/** Gives contracts the worst state of their programs, and records what became of them. */
export const settle = prepare((p: EventOrigin & { company: string; vins: readonly string[] }) => {
  const now = asTimestamptz(p.at);
  return db
    .with(
      'own',
      () =>
        sql<{ id: string; was: string; state: Selectable<Tables['contract']>['activation']; reason: string | null }>`(
        select c.id, c.activation as was,
          case when c.ends_at > ${now} then worst.state when left_over.is_left then 'ENDING' else 'ENDED' end as state,
          case when c.ends_at > ${now} then worst.reason when left_over.is_left then left_over.reason end as reason
        from contract c
        join vehicle v on v.company = ${p.company} and ${sql.raw(CONTRACTS_OF_VEHICLE)}
        cross join lateral (
          select p.state, p.reason from (
            select case when a.state is null or a.state = 'ENDING' then 'PENDING' else a.state end as state, a.reason
            from unnest(c.programs) program left join activation a on a.company = c.company and a.vin = v.vin
              and a.provider = c.provider and a.program = program.program
          ) p order by ${sql.raw(RANK)} limit 1
        ) worst
        cross join lateral (
          select count(*) > 0 as is_left, (array_agg(a.reason))[1] as reason from activation a
          where ${sql.raw(programsOfContract('a', 'c', 'v.vin'))} and not a.wanted
        ) left_over
        where c.company = ${p.company} and v.vin = ${anyOfTexts(p.vins)} and c.provider is not null
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
        })
        .where('c.company', '=', p.company)
        .whereRef('c.id', '=', 'own.id')
        .where(sql<boolean>`(own.state <> own.was or own.reason is distinct from c.activation_reason)`)
        .returningAll('c'),
    )
    .with('recorded', (q) => {
      const changed = (state: 'ACTIVE' | 'REJECTED' | 'ENDED') =>
        contractFactsQuery(q, vehicleNamesOf(p.company), 'withReason')
          .where('c.activation', '=', sql.lit(state))
          .where(sql<boolean>`exists (select from own where own.id = c.id and own.was <> own.state)`);
      return eventsClause(q, p, {
        'contract.activated': changed('ACTIVE'),
        'contract.rejected': changed('REJECTED'),
        'contract.deactivated': changed('ENDED'),
      });
    })
    .selectFrom('c')
    .select('id');
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
    next: secondsToNext(program, answer, manufacturers.activatorOf(program.provider)?.looks ?? []),
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
  }
}
