import {
  type AliasedExpression,
  type Expression,
  expressionBuilder,
  type QueryCreator,
  type RawBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import { eligibilityStatuses } from '../../entities/fleet.ts';
import { scheduleClause } from '../companies/schedule.ts';
import { type Context, contextOfNewestRead } from '../context.ts';
import { transaction } from '../database.ts';
import { anyOf, db, LOWEST_ID, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';

// Every company has a log of its own, whose end is counted in the company's row.

export const endOfLogExpression = (company: string | RawBuilder<string>) =>
  sql<string>`coalesce((select position from company where company = ${company}), 0)`;

const readEnd = prepare((p: { company: string }) => db.selectNoFrom(endOfLogExpression(p.company).as('end')));

/** The position of the last event of a company; '0' before the first. */
export async function readEndOfLog(ctx: Context, company: string): Promise<string> {
  const [row] = await readEnd(contextOfNewestRead(ctx), { company }, 'read');
  return row?.end ?? '0';
}

/** A `with` clause that inserts the company's row if there is none. */
export const companyRowClause = (company: string) => (q: QueryCreator<Tables>) =>
  q
    .insertInto('company')
    .values({ company })
    .onConflict((conflict) => conflict.doNothing());

const addCompany = prepare((p: { company: string }) => companyRowClause(p.company)(db));

const lockLog = prepare((p: { company: string }) =>
  db.selectFrom('company').select('company').where('company', '=', p.company).forNoKeyUpdate(),
);

/** Holds publishing until the transaction ends, for positions in order. Companies go by name, against deadlocks. */
export async function holdPublishing(ctx: Context, company: string): Promise<void> {
  await addCompany(ctx, { company });
  await lockLog(ctx, { company });
}

/** A `with` clause with deliveries of these events for the webhooks `w` that want them. Tests have one webhook each. */
export const deliveriesClause = (
  q: QueryCreator<Tables>,
  { company, now }: { company: string; now: Date | string },
  events: AliasedExpression<{ id: string; type: string; position: string | null }, 'e'>,
  webhooks: Expression<SqlBool>,
) =>
  q
    .insertInto('delivery')
    .columns(['company', 'webhook_id', 'event_id', 'due_at', 'created_at'])
    .expression(
      db
        .selectFrom(events)
        .innerJoin('webhook as w', (on) => on.on('w.company', '=', company).on(webhooks))
        .select(({ cast, val }) => [
          'w.company',
          'w.id as webhook_id',
          'e.id as event_id',
          cast<string>(val(now), 'timestamptz').as('due_at'),
          cast<string>(val(now), 'timestamptz').as('created_at'),
        ])
        .where(sql<SqlBool>`(e.type <> 'webhook.test' and (w.types = '{}' or e.type = any(w.types)))`)
        .orderBy('e.position'),
    )
    .onConflict((conflict) => conflict.doNothing());

/** Events of one transaction: few, since each may name 1,000 vehicles; fewer where each goes to many webhooks. */
const MANY_EVENTS = 100;
const FEW_EVENTS = 10;
const MANY_WEBHOOKS = 10;

const EVENTS_SEARCHED = 1000;

/** Reads unpublished events only: a company without any costs nothing. */
const findUnpublished = prepare((p: { after: string }) =>
  db
    .selectFrom('event')
    .select('company')
    .where('company', '>', p.after)
    .where('position', 'is', null)
    .orderBy('company')
    .limit(EVENTS_SEARCHED),
);

/** The next companies after `after`, by name, with unpublished events, and the `last` of them: '' at the end. */
export async function findCompaniesToPublish(ctx: Context, after = ''): Promise<{ companies: string[]; last: string }> {
  const events = await findUnpublished(ctx, { after });
  const companies = [...new Set(events.map(({ company }) => company))];
  return { companies, last: events.length < EVENTS_SEARCHED ? '' : (companies.at(-1) ?? '') };
}

const w = expressionBuilder<{ w: Tables['webhook'] }, 'w'>();
/** A webhook `w` gets events as they are published. */
const isSentTo = w.and([w('w.state', '=', sql.lit('ACTIVE')), w('w.held_from', 'is', null)]);
const count = sql<number>`count(*)::int`.as('count');

const lockFreeLog = prepare((p: { company: string }) =>
  db
    .selectFrom('company')
    .select(({ selectFrom }) => [
      'position',
      selectFrom('webhook as w').select(count).where('w.company', '=', p.company).where(isSentTo).as('webhooks'),
    ])
    .where('company', '=', p.company)
    .forNoKeyUpdate()
    .skipLocked(),
);

/** An event's type, or the type of the event that represents it. */
const PART_OF = sql.raw(
  `case type when 'vehicle.added' then 'import.completed' when 'vehicle.removed' then 'fleet.deleted' else type end`,
);

/** What manufacturers say about contracts. */
const TOLD = sql.raw(`('contract.activated', 'contract.rejected', 'contract.deactivated', 'contract.failed')`);

type DueEvent = Record<'id' | 'position' | 'key', string>;

/**
 * The next events of a company, with their positions. Events with one `key` are an item of the history: of one type, actor,
 * fleet, hour and request, whose id clients may give to several requests; what manufacturers say about contracts, of one of them.
 */
const dueEvents = (p: { company: string; end: string }, most: number) => sql<DueEvent>`(
  select *, encode(substr(sha256(convert_to(concat_ws(' ', fleet_id, extract(epoch from hour),
    coalesce(import_id::text, request_id), ${PART_OF}, actor, manufacturer), 'UTF8')), 1, 16), 'hex')::uuid as key
  from (
    select id, type, fleet_id, actor, request_id, at, date_trunc('hour', at, 'UTC') as hour,
      cardinality(vehicle_ids) as vehicles, data ->> 'to' as status, (data ->> 'importId')::uuid as import_id,
      case when type in ${TOLD} then data ->> 'manufacturer' end as manufacturer,
      ${p.end}::bigint + row_number() over (order by seq) as position
    from (
      select * from event where company = ${p.company} and position is null order by seq limit ${sql.lit(most)}
    ) next
  ) due)`;

const counts = ['events', 'vehicles', ...eligibilityStatuses.map((status) => status.toLowerCase())].map(sql.ref);
const grown = counts.map((column) => sql`${column} = history.${column} + excluded.${column}`);

const countOf = (one: string) => sql`count(*) filter (where type = 'eligibility.changed' and status = ${sql.lit(one)})`;

/** Types whose single event represents all others of the same moment. */
const TELLING = sql.raw(`('import.completed', 'fleet.deleted')`);

/** Adds the events `due` to the items of the history that they are parts of; gives these. */
const keepHistory = (p: { company: string }) => sql<{ id: string; key: string }>`(
  insert into history (company, key, position, type, fleet_id, import_id, actor, request_id, manufacturer, first_at, last_at,
    ${sql.join(counts)})
  select ${p.company}, key, min(position),
    (array_agg(type order by type in ${TELLING} desc, position))[1], fleet_id, (array_agg(import_id))[1], actor,
    max(request_id), manufacturer, min(at), max(at), count(*), sum(vehicles),
    ${sql.join(eligibilityStatuses.map(countOf))}
  from due group by key, fleet_id, actor, manufacturer
  on conflict (company, key) do update set
    type = case when excluded.type in ${TELLING} then excluded.type else history.type end,
    import_id = coalesce(history.import_id, excluded.import_id),
    first_at = least(history.first_at, excluded.first_at), last_at = greatest(history.last_at, excluded.last_at),
    ${sql.join(grown)}
  returning id, key)`;

const countActivity = (p: { company: string }) => sql<{ company: string }>`(
  insert into activity (company, hour, fleet_id, type, events, vehicles)
  select ${p.company}, hour, coalesce(fleet_id, ${sql.lit(LOWEST_ID)}), type, count(*), sum(vehicles)
  from due group by hour, coalesce(fleet_id, ${sql.lit(LOWEST_ID)}), type
  on conflict (company, hour, fleet_id, type) do update set
    events = activity.events + excluded.events, vehicles = activity.vehicles + excluded.vehicles
  returning company)`;

const publishing = (most: number) =>
  prepare((p: { company: string; end: string; now: Date }) =>
    db
      .with(
        (cte) => cte('due').materialized(),
        () => dueEvents(p, most),
      )
      .with('item', () => keepHistory(p))
      .with('counted', () => countActivity(p))
      .with('published', (q) =>
        q
          .updateTable('event as e')
          .from('due')
          .innerJoin('item', 'item.key', 'due.key')
          .set(({ ref }) => ({ position: ref('due.position'), history_id: ref('item.id') }))
          .where('e.company', '=', p.company)
          .where('e.id', '=', (of) => anyOf(of.selectFrom('due').select('id')))
          .whereRef('e.id', '=', 'due.id')
          .returning(['e.id', 'e.type', 'e.position']),
      )
      .with('moved', (q) =>
        q
          .updateTable('company')
          .set(({ selectFrom }) => ({ position: selectFrom('due').select(({ fn }) => fn.max('position').as('last')) }))
          .where('company', '=', p.company)
          .where(({ exists, selectFrom }) => exists(selectFrom('due').select('id'))),
      )
      .with('delivered', (q) => {
        const events = q.selectFrom('published').selectAll().as('e');
        return deliveriesClause(q, p, events, isSentTo).returning(['company', 'due_at']);
      })
      .with('scheduled', (q) => scheduleClause(q, 'delivery', q.selectFrom('delivered').select(['company', 'due_at'])))
      .selectFrom('published')
      .select(({ exists, selectFrom }) => exists(selectFrom('delivered').select('company')).as('isDelivered')),
  );
const publishMany = publishing(MANY_EVENTS);
const publishFew = publishing(FEW_EVENTS);

/** Publishes a company's next events in one transaction, with their deliveries, unless another process does. */
export async function publishEventsOf(ctx: Context, company: string) {
  return transaction(ctx, async () => {
    const [log] = await lockFreeLog(ctx, { company });
    if (!log) return { events: 0, more: false };
    const [publish, most] = (log.webhooks ?? 0) > MANY_WEBHOOKS ? [publishFew, FEW_EVENTS] : [publishMany, MANY_EVENTS];
    // A later statement than the lock sees all that was published before.
    const events = await publish(ctx, { company, end: log.position, now: ctx.now() });
    const { changes } = ctx.services;
    if (events.length > 0) changes.announce('event', company);
    if (events[0]?.isDelivered) changes.announce('due', 'delivery');
    return { events: events.length, more: events.length === most };
  });
}
