import { sql } from 'kysely';
import { scheduleClause } from '../companies/schedule.ts';
import { anyOfIds, asTimestamptz, db, prepare } from '../sql/sql.ts';
import { programsOfContract } from './activation.ts';
import { contractsWithVehicles } from './contracts-of-vehicles.ts';
import { touched } from './due-activations.ts';
import { askedAnew } from './plan-activations.ts';

type Refreshed = { company: string; ids: readonly string[]; now: Date };

/** Makes questions due about contracts whose manufacturer has been asked, and that are neither active nor over. */
export const askAgain = prepare((p: Refreshed) => {
  const now = asTimestamptz(p.now);
  return db
    .with('named', () =>
      contractsWithVehicles(p.company)
        .select(['c.company', 'c.id', 'v.vin', 'c.provider', 'c.programs'])
        .where('c.id', '=', anyOfIds(p.ids))
        .where('c.activation', '=', sql<'PENDING'>`any('{PENDING,REJECTED,FAILED,ENDING}'::text[])`)
        .where('c.provider', 'is not', null)
        .where('c.starts_at', '<=', now)
        .orderBy('c.id')
        .forNoKeyUpdate('c'),
    )
    .with('asked', (q) =>
      q
        .updateTable('activation')
        .from('named')
        .set({
          ...touched(now),
          ...askedAnew(sql`activation.state in ('REJECTED', 'FAILED')`, now),
          faults: 0,
        })
        .where(sql<boolean>`${sql.raw(programsOfContract('activation', 'named', 'named.vin'))}`)
        .where('activation.company', '=', p.company)
        .returning(['activation.company', 'activation.due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('asked').select(['company', 'due_at'])))
    .updateTable('contract')
    .from('named')
    .set({ activation: 'PENDING', activation_reason: null, activation_changed_at: now })
    .where('contract.company', '=', p.company)
    .whereRef('contract.id', '=', 'named.id')
    .where('contract.activation', '=', sql<'REJECTED'>`any('{REJECTED,FAILED}'::text[])`);
});
