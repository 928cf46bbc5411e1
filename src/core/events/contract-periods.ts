import { type QueryCreator, sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { isoSql } from '../sql/selection.ts';
import { onPrimary } from '../sql/send.ts';
import { db, type Tables } from '../sql/tables.ts';
import { contractData } from './record-events.ts';

const CONTRACTS_AT_ONCE = 500;

type Claimed = QueryCreator<Tables & { due: { [K in keyof Tables['contract']]: Tables['contract'][K] } }>;

const recordPeriod = (
  q: Claimed,
  p: { company: string; now: string },
  type: 'contract.started' | 'contract.ended',
  column: 'c.starts_at' | 'c.ends_at',
) =>
  q
    .insertInto('event')
    .columns(['type', 'actor', 'at', 'company', 'fleet_id', 'contract_id', 'vehicle_ids', 'vins', 'data'])
    .expression((from) =>
      from
        .selectFrom('due as c')
        .innerJoin('vehicle as v', (on) => on.onRef('v.id', '=', 'c.vehicle_id').on('v.company', '=', p.company))
        .select(({ cast, val }) => [
          cast<string>(val(type), 'text').as('type'),
          cast<string>(val('system'), 'text').as('actor'),
          cast<string>(val(p.now), 'timestamptz').as('at'),
          'c.company',
          'c.fleet_id',
          'c.id as contract_id',
          sql<string[]>`array[c.vehicle_id]`.as('vehicle_ids'),
          sql<string[]>`array[v.vin]`.as('vins'),
          contractData.as('data'),
        ])
        .whereRef('c.due_at', '=', column),
    );

const findCompanies = prepare((p: { now: string }) =>
  db
    .selectFrom((q) =>
      q
        .selectFrom('contract')
        .select('company')
        .where('due_at', '<=', p.now)
        .orderBy('due_at')
        .limit(CONTRACTS_AT_ONCE)
        .as('due'),
    )
    .select('company')
    .distinct(),
);

const recordDue = prepare((p: { company: string; now: string }) =>
  db
    .with('due', (q) =>
      q
        .selectFrom('contract')
        .selectAll()
        .where('company', '=', p.company)
        .where('due_at', '<=', p.now)
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
 * Records that contracts have started or ended since, each once: `due_at` is a contract's start, then its end.
 * Gives false when there were none left.
 */
export async function recordContractPeriods(ctx: Context): Promise<boolean> {
  const now = ctx.now().toISOString();
  let any = false;
  for (const { company } of await findCompanies(onPrimary(ctx), { now })) {
    const due = await recordDue(onPrimary(ctx), { company, now });
    any ||= due.length > 0;
  }
  return any;
}

const readNextDue = prepare((_: object) =>
  db
    .selectFrom('contract')
    .select(sql<string>`${sql.raw(isoSql('due_at'))}`.as('next'))
    .where('due_at', 'is not', null)
    .orderBy('due_at')
    .limit(1),
);

/** When the next contract starts or ends (ISO 8601), or null when none ever does. */
export async function nextContractDue(ctx: Context): Promise<string | null> {
  const [row] = await readNextDue(onPrimary(ctx), {});
  return row?.next ?? null;
}
