import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { isoSql } from '../sql/selection.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { contractData, recordEach } from './record-events.ts';
import { wanted } from './wanted.ts';

/** Events that get their place in the log in one transaction: few, since each may name 1,000 vehicles. */
export const PUBLISHED_AT_ONCE = 100;
/** Any number will do, as long as every process of the service has the same. */
const PUBLISHING_LOCK = 4_071_927;

/**
 * Waits until nobody publishes, and lets nobody until the open transaction ends. Positions thereby become visible in
 * their order, and a webhook is halted, or has caught up with the log, between two events. Everybody's events wait
 * meanwhile: only for what takes a moment, however much the webhook has.
 */
export async function holdPublishing(ctx: Context): Promise<void> {
  await execute(onPrimary(ctx), sql`select pg_advisory_xact_lock(${PUBLISHING_LOCK}::bigint)`);
}

/**
 * Gives recorded events their place in the log and a delivery to every webhook that wants them, in one transaction.
 * Gives how many these were, at most PUBLISHED_AT_ONCE.
 */
export async function publishEvents(ctx: Context): Promise<number> {
  const [waiting] = await execute(onPrimary(ctx), sql`select from event where position is null limit 1`);
  if (!waiting) return 0;
  return ctx.em.transactional(async () => {
    await holdPublishing(ctx);
    // A statement of its own: only now does it see all that was published before.
    const companies = await execute<{ company: string; events: number; deliveries: boolean }>(
      onPrimary(ctx),
      sql`with due as materialized (
            select id, nextval('event_position') as position
            from (select id from event where position is null order by seq limit ${PUBLISHED_AT_ONCE}) next
          ), published as (
            update event e set position = due.position from due where e.id = due.id returning e.id, e.company, e.type
          ), delivered as (
            insert into delivery (company, webhook_id, event_id, due_at, created_at)
            select w.company, w.id, e.id, ${ctx.now()}::timestamptz, ${ctx.now()}::timestamptz
            from published e join webhook w on w.company = e.company and w.state = 'ACTIVE' and w.held_from is null
            where ${wanted}
            -- One that is being deleted, with all its deliveries, holds up nobody.
            for key share of w skip locked
            on conflict do nothing returning 1
          )
          select company, count(*)::int as events, exists (select from delivered) as deliveries from published group by 1`,
    );
    const { changes } = ctx.services;
    for (const { company } of companies) changes.announce('event', company);
    if (companies[0]?.deliveries) changes.announce('due', 'delivery');
    return companies.reduce((sum, { events }) => sum + events, 0);
  });
}

const CONTRACTS_AT_ONCE = 500;

/**
 * Records that contracts have started or ended since, each once: `due_at` is a contract's start, then its end.
 * Gives false when there were none left.
 */
export async function recordContractPeriods(ctx: Context): Promise<boolean> {
  const periods = (type: 'contract.started' | 'contract.ended', due: 'starts_at' | 'ends_at') =>
    recordEach(
      ctx,
      type,
      sql`select c.company, c.fleet_id, c.id, array[c.vehicle_id], array[v.vin], ${contractData}
          from due c join vehicle v on v.id = c.vehicle_id where c.due_at = ${sql.ref(`c.${due}`)}`,
    );
  const due = await execute(
    onPrimary(ctx),
    sql`with due as (
          select * from contract where due_at <= ${ctx.now()}::timestamptz
          order by due_at limit ${CONTRACTS_AT_ONCE} for no key update skip locked
        ), moved as (
          update contract c set due_at = case when due.due_at = due.starts_at then due.ends_at end
          from due where c.id = due.id
        ), started as (${periods('contract.started', 'starts_at')}), ended as (${periods('contract.ended', 'ends_at')})
        select from due`,
  );
  return due.length > 0;
}

/** When the next contract starts or ends (ISO 8601), or null when none ever does. */
export async function nextContractDue(ctx: Context): Promise<string | null> {
  const [row] = await execute<{ next: string }>(
    onPrimary(ctx),
    sql`select ${sql.raw(isoSql('due_at'))} as next from contract where due_at is not null order by due_at limit 1`,
  );
  return row?.next ?? null;
}
