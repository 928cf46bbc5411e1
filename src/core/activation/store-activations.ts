import { sql } from 'kysely';
import type { ProgramAnswer } from '../../manufacturers/index.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { announceEvents, type EventOrigin, systemOrigin } from '../events/record-events.ts';
import { toMendedJson } from '../input.ts';
import { anyOfIds, asTimestamptz, db, jsonRecordset, prepare } from '../sql/sql.ts';
import { type AskedProgram, secondsToNext } from './next-look.ts';
import { lockContracts, settle } from './settle-contracts.ts';
import { lockOrder } from './touch-activations.ts';

/** The columns of an answer that conditions name; `answer` is null where the provider did not answer. */
type Fact = { answer: ProgramAnswer['state'] | null; next: number | null };
const factColumns = `id uuid, until timestamptz, answer text, why jsonb, raw jsonb, asked boolean, renewed boolean, wished timestamptz, looked boolean, brand text, since timestamptz, next float8`;

type Facts = EventOrigin & { company: string; process: string; facts: string; ids: readonly string[] };

const storeFacts = prepare((p: Facts) => {
  const now = asTimestamptz(p.at);
  const isHeld = sql<boolean>`a.company = ${p.company} and a.id = fact.id and a.id = ${anyOfIds(p.ids)}
    and a.claimed_by = ${p.process} and a.due_at is not distinct from fact.until`;
  // What came of an earlier question is no answer to a wish that is new since.
  const isAnswered = sql<boolean>`(not row.renewed or f.renewed and date_trunc('milliseconds', row.changed_at) = f.wished)`;
  return db
    .with('row', () =>
      db
        .selectFrom('activation')
        // As they are now: contracts may have changed since the statement began.
        .select(['id', 'touched', 'renewed', 'changed_at'])
        .where('company', '=', p.company)
        .where('id', '=', anyOfIds(p.ids))
        .orderBy(lockOrder)
        .forNoKeyUpdate(),
    )
    .with('fact', (q) =>
      q
        .selectFrom(jsonRecordset<Fact & { id: string }, 'f'>('f', p.facts, factColumns))
        .innerJoin('row', 'row.id', 'f.id')
        .selectAll('f')
        .select('row.touched')
        .select(sql<Fact['answer']>`case when ${isAnswered} then f.answer end`.as('state'))
        .select(sql<string | null>`case when ${isAnswered} then f.why end`.as('reason')),
    )
    .with('gone', (q) =>
      q
        .deleteFrom('activation as a')
        .using('fact')
        .where(isHeld)
        .where('fact.state', '=', sql.lit('ENDED'))
        .where('fact.next', 'is', null)
        .where('fact.touched', '=', sql.lit(false)),
    )
    .with('kept', (q) =>
      q
        .updateTable('activation as a')
        .from('fact')
        .set({
          state: sql<'PENDING'>`coalesce(fact.state, a.state)`,
          reason: sql<
            string | null
          >`case when fact.state is not null then fact.reason when a.state = 'REJECTED' and a.wanted then a.reason
            else coalesce(fact.reason, a.reason) end`,
          raw_answer: sql<string | null>`coalesce(fact.raw, a.raw_answer)`,
          changed_at: sql<string>`case when fact.state is null or fact.state = a.state or not a.wanted then a.changed_at
            else fact.since end`,
          looks: sql<number>`case when fact.touched then 0 when fact.state is null then a.looks when fact.state = a.state then a.looks + 1 else 1 end`,
          faults: sql<number>`case when fact.state is null then a.faults + fact.asked::int else 0 end`,
          // What is wanted counts as new until the provider answers.
          renewed: sql<boolean>`a.renewed and fact.state is null`,
          due_at: sql<
            string | null
          >`case when fact.touched then ${now} else ${now} + make_interval(secs => fact.next) end`,
          touched: false,
          claimed_by: null,
          brand: sql<string>`coalesce(fact.brand, a.brand)`,
          looked_at: sql<string | null>`case when fact.looked then ${now} else a.looked_at end`,
        })
        .where(isHeld)
        .where(sql<boolean>`(fact.state is distinct from 'ENDED' or fact.next is not null or fact.touched)`)
        .returning(['a.company', 'a.due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('kept').select(['company', 'due_at'])))
    .selectFrom('kept')
    .select('company');
});

/** Stores answers about programs of a company, and what they mean for its contracts; skips claims that are lost. */
export async function storeActivations(ctx: Context, company: string, asked: readonly AskedProgram[]): Promise<void> {
  const { changes, manufacturers } = ctx.services;
  const now = ctx.now();
  const facts = asked.map(({ program, answer }) => ({
    id: program.id,
    until: program.until,
    answer: answer.outcome === 'STANDS' ? answer.state : null,
    why: answer.reason,
    raw: answer.raw,
    asked: answer.outcome === 'STANDS' || answer.asked,
    renewed: program.renewed,
    wished: new Date(program.since).toISOString(),
    looked: answer.looked ?? false,
    brand: (answer.outcome === 'STANDS' && answer.brand) || null,
    since: sinceOf({ program, answer }, now.getTime()),
    next: secondsToNext({ program, answer }, manufacturers, now.getTime()),
  }));
  const origin = systemOrigin(ctx);
  const vins = [...new Set(asked.map(({ program }) => program.vin))];
  const store = async () => {
    await lockContracts(ctx, { company, vins, now });
    const ids = facts.map(({ id }) => id);
    await storeFacts(ctx, { ...origin, company, process: changes.process, facts: toMendedJson(facts), ids });
    const contracts = await settle(ctx, { ...origin, company, vins });
    if (contracts.length > 0) announceEvents(ctx);
    changes.announceActivations(company, contracts);
  };
  await transaction(ctx, store, { repeats: true });
  for (const { program, answer } of asked) {
    const state = answer.outcome === 'STANDS' ? answer.state : 'NO_ANSWER';
    changes.emit('outcome', 'activation', state === program.state ? 'UNCHANGED' : state, 1);
    if (program.state === 'ENDED' && state === 'ENDING') changes.emit('outcome', 'found', program.provider, 1);
  }
}

/**
 * Since when a program stands so. What its provider says of later is news: where it does not say when, that is since the question, since
 * answers are stored with those of a whole batch.
 */
function sinceOf({ program, answer }: AskedProgram, now: number): string {
  const at = (answer.outcome === 'STANDS' && answer.orderedAt) || program.claimedAt;
  // A provider may say what no date can have.
  return new Date(Math.min(Math.max(at, 0), now)).toISOString();
}
