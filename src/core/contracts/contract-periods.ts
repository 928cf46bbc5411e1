import { type QueryCreator, type Selectable, sql } from 'kysely';
import type { Context } from '../context.ts';
import { type By, bySystem, contractData, recording } from '../events/record-events.ts';
import { ofFleetThatIsThere } from '../fleets/fleet.ts';
import { scheduleOf } from '../schedule.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db, type Tables } from '../sql/tables.ts';

const CONTRACTS_AT_ONCE = 500;

const { companiesDue, reschedule } = scheduleOf('contract', (company) =>
  db
    .selectFrom('contract')
    .select('due_at')
    .where('company', '=', company)
    .where('due_at', 'is not', null)
    .where(ofFleetThatIsThere('contract', company))
    .orderBy('due_at')
    .limit(sql.lit(1)),
);

/** Finds the companies of which contracts have started or ended. */
export const companiesWithPeriods = companiesDue;

type Claimed = QueryCreator<Tables & { due: Selectable<Tables['contract']> }>;

const recordPeriod = (
  q: Claimed,
  p: By & { company: string },
  type: 'contract.started' | 'contract.ended',
  column: 'c.starts_at' | 'c.ends_at',
) => {
  const facts = q
    .selectFrom('due as c')
    .innerJoin('vehicle as v', (on) => on.onRef('v.id', '=', 'c.vehicle_id').on('v.company', '=', p.company))
    .select([
      'c.company',
      'c.fleet_id',
      'c.id as contract_id',
      sql<string[]>`array[c.vehicle_id]`.as('vehicle_ids'),
      sql<string[]>`array[v.vin]`.as('vins'),
      contractData.as('data'),
    ])
    .whereRef('c.due_at', '=', column);
  return recording(q, p, { [type]: facts });
};

const recordDue = prepare((p: By & { company: string }) =>
  db
    .with('due', (q) =>
      q
        .selectFrom('contract')
        .selectAll()
        .where('company', '=', p.company)
        .where('due_at', '<=', p.at)
        .where(ofFleetThatIsThere('contract', p.company))
        .orderBy('due_at')
        .limit(CONTRACTS_AT_ONCE)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .with('moved', (q) =>
      q
        .updateTable('contract as c')
        .from('due')
        .set({ due_at: sql<string | null>`case when due.due_at = due.starts_at then due.ends_at end` })
        .where('c.company', '=', p.company)
        .whereRef('c.id', '=', 'due.id'),
    )
    .with('started', (q) => recordPeriod(q, p, 'contract.started', 'c.starts_at'))
    .with('ended', (q) => recordPeriod(q, p, 'contract.ended', 'c.ends_at'))
    .selectFrom('due')
    .select('id'),
);

/**
 * Records that contracts of a company have started or ended since, each once: `due_at` is a contract's start, then its end.
 * Some hundred at a time; those that another process is recording are left to it.
 */
export async function recordContractPeriods(ctx: Context, company: string): Promise<void> {
  await recordDue(onPrimary(ctx), { ...bySystem(ctx), company });
  await reschedule(ctx, company);
}
