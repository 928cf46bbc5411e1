import { type QueryCreator, type Selectable, sql } from 'kysely';
import type { Context } from '../context.ts';
import { type By, bySystem, recording } from '../events/record-events.ts';
import { ofFleetThatIsThere } from '../fleets/fleet.ts';
import { contractFacts, namesOf } from '../remove-contracts.ts';
import { scheduleOf } from '../schedule.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db, type Tables } from '../sql/tables.ts';

const CONTRACTS_AT_ONCE = 500;

const contractsOf = (company: string) =>
  db.selectFrom('contract as c').where('c.company', '=', company).where(ofFleetThatIsThere('c', company));

/** Which companies have contracts that are to start or end. */
export const contractSchedule = scheduleOf('contract', (company) =>
  contractsOf(company).select('c.due_at').where('c.due_at', 'is not', null).orderBy('c.due_at').limit(sql.lit(1)),
);

type WithDue = QueryCreator<Tables & { c: Selectable<Tables['contract']> }>;

const recordDue = prepare((p: By & { company: string }) => {
  const facts = (q: WithDue, since: 'c.starts_at' | 'c.ends_at') =>
    contractFacts(q, namesOf(p.company)).whereRef('c.due_at', '=', since);
  return db
    .with('c', () =>
      contractsOf(p.company)
        .selectAll('c')
        .where('c.due_at', '<=', p.at)
        .orderBy('c.due_at')
        .limit(CONTRACTS_AT_ONCE)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .with('moved', (q) =>
      q
        .updateTable('contract')
        .from('c')
        .set({ due_at: sql<string | null>`case when c.due_at = c.starts_at then c.ends_at end` })
        .where('contract.company', '=', p.company)
        .whereRef('contract.id', '=', 'c.id'),
    )
    .with('started', (q) => recording(q, p, { 'contract.started': facts(q, 'c.starts_at') }))
    .with('ended', (q) => recording(q, p, { 'contract.ended': facts(q, 'c.ends_at') }))
    .selectFrom('c')
    .select('id');
});

/**
 * Records that contracts of a company have started or ended since, each once: `due_at` is a contract's start, then its end.
 * Some hundred at a time; those that another process is recording are left to it.
 */
export async function recordContractPeriods(ctx: Context, company: string): Promise<void> {
  await recordDue(onPrimary(ctx), { ...bySystem(ctx), company });
  await contractSchedule.reschedule(ctx, company);
}
