import { type Expression, expressionBuilder, sql } from 'kysely';
import { type SchedulePlace, scheduleForKind } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { type Event, eventJsonExpression } from '../events/events.ts';
import { anyOfTexts, db, prepare, unnestLists } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { signedHeaders, type WebhookSender, webhookPayload } from './sender.ts';

// A delivery is waiting (until `due_at`, and while its webhook is halted, unless it is `asked` for), claimed (`due_at` is the end of its
// claim) or over (without `due_at`). Publishing makes it, waiting. `claimDeliveries` claims it once it may be sent. Its attempt has it over, or
// waiting for the next one (store-attempts.ts). A claim that ends by itself has it waiting: its process is dead, and a receiver may get it twice.
// Somebody who asks for it again (deliveries.ts) has it waiting from any state but claimed.

/** Longer than an attempt; deliveries of a killed process come due again after it. */
const LEASE_SECONDS = 30;

/** Deliveries of a company that are claimed together: failing and halted webhooks do not hold up others. */
export type DeliveryGroup = { company: string; kind: keyof typeof kinds };

/** Deliveries of each webhook that this process is sending. */
type Busy = ReadonlyMap<string, number>;
type ClaimLimits = { limit: number; busy: Busy };
const listsOf = (busy: Busy) => ({ busy: [...busy.keys()], counts: [...busy.values()] });
type BusyLists = ReturnType<typeof listsOf>;

const w = expressionBuilder<{ w: Tables['webhook'] }, 'w'>();
const d = expressionBuilder<{ d: Tables['delivery'] }, 'd'>();
const isActive = w('w.state', '=', sql.lit('ACTIVE'));

/** Conditions on webhooks `w` and their deliveries `d`, and how many of one webhook are under way at a time. */
const kinds = {
  sound: { webhooks: w.and([isActive, w.not(w.ref('w.failing'))]), deliveries: d.lit(true), perWebhook: 4 },
  failing: { webhooks: w.and([isActive, w.ref('w.failing')]), deliveries: d.lit(true), perWebhook: 1 },
  asked: { webhooks: w.not(isActive), deliveries: d.ref('d.asked'), perWebhook: 1 },
};
type Kind = keyof typeof kinds;

const webhooksOf = (kind: Kind, company: string | Expression<string>) =>
  db.selectFrom('webhook as w').where('w.company', '=', company).where(kinds[kind].webhooks);

/** The deliveries of a webhook `w`, in the order in which they come due. */
const queueOf = (kind: Kind) =>
  db
    .selectFrom('delivery as d')
    .where('d.company', '=', sql.ref<string>('w.company'))
    .where('d.webhook_id', '=', sql.ref<string>('w.id'))
    .where('d.due_at', 'is not', null)
    .where(kinds[kind].deliveries)
    .orderBy('d.due_at');

const nextOf = (kind: Kind) => queueOf(kind).select('d.due_at').limit(1).as('next');

const busyRows = ({ busy, counts }: BusyLists) => unnestLists('busy', { id: [busy, 'uuid'], count: [counts, 'int'] });
const roomOf = (kind: Kind) =>
  sql<number>`greatest(0, ${sql.lit(kinds[kind].perWebhook)} - coalesce(${sql.ref('busy.count')}, 0))`;

type GroupSearch = BusyLists & { companies: readonly string[]; now: string };

const firstDue = (kind: Kind, p: GroupSearch) =>
  webhooksOf(kind, anyOfTexts(p.companies))
    .leftJoin(busyRows(p), 'busy.id', 'w.id')
    .crossJoinLateral(nextOf(kind))
    .where('next.due_at', '<=', p.now)
    .select(['w.company', sql<Kind>`${sql.lit(kind)}::text`.as('kind'), 'next.due_at', roomOf(kind).as('room')]);

const findGroups = prepare((p: GroupSearch) =>
  db
    .selectFrom(firstDue('sound', p).unionAll(firstDue('failing', p)).unionAll(firstDue('asked', p)).as('due'))
    .select(({ eb, fn }) => ['company', 'kind', eb(fn.max('room'), '>', 0).$castTo<boolean>().as('room')])
    .groupBy(['company', 'kind'])
    .orderBy(({ fn }) => fn.min('due_at')),
);

const awaiting = (kind: Kind, company: string) =>
  webhooksOf(kind, company).crossJoinLateral(nextOf(kind)).select('next.due_at');

const { companiesDue, reschedule } = scheduleForKind('delivery', (company) =>
  db
    .selectFrom(
      awaiting('sound', company).unionAll(awaiting('failing', company)).unionAll(awaiting('asked', company)).as('all'),
    )
    .select(({ fn }) => fn.min('all.due_at').as('due_at')),
);

/** Groups of some companies with due deliveries, the longest waiting first; `next` and `last` are as in the schedule. */
export async function findDueDeliveryGroups(ctx: Context, { busy, signal, after }: GroupsInput) {
  const { companies, next, last } = await companiesDue(ctx, after);
  if (companies.length === 0) return { groups: [], next, last };
  const now = ctx.now().toISOString();
  const groups = await findGroups(ctx, { ...listsOf(busy), companies, now });
  const due = new Set(groups.map(({ company }) => company));
  const done = companies.filter((company) => !due.has(company));
  for (const company of done) if (!signal.aborted) await reschedule(ctx, company);
  // A company that was rescheduled may have a delivery due before `next`, so look again at once.
  return { groups, next: done.length > 0 ? now : next, last };
}
type GroupsInput = { busy: Busy; signal: AbortSignal; after: SchedulePlace | undefined };

const claiming = (kind: Kind) =>
  prepare((p: BusyLists & { company: string; limit: number; now: string; until: string }) =>
    db
      .with(
        (cte) => cte('due').materialized(),
        () =>
          webhooksOf(kind, p.company)
            .leftJoin(busyRows(p), 'busy.id', 'w.id')
            .crossJoinLateral(
              queueOf(kind)
                .select(['d.id', 'd.due_at'])
                .where('d.due_at', '<=', p.now)
                .limit(roomOf(kind))
                .forUpdate()
                .skipLocked()
                .as('due'),
            )
            .select('due.id')
            .orderBy('due.due_at')
            .limit(p.limit),
      )
      .with('d', (q) =>
        q
          .updateTable('delivery')
          .from('due')
          .set({ due_at: p.until, claimed: true })
          .where('delivery.company', '=', p.company)
          .whereRef('delivery.id', '=', 'due.id')
          .returning(['delivery.id', 'delivery.webhook_id', 'delivery.event_id', 'delivery.attempts']),
      )
      .selectFrom(['d', 'webhook as w', 'event as e'])
      .whereRef('w.id', '=', 'd.webhook_id')
      .where('w.company', '=', p.company)
      .whereRef('e.id', '=', 'd.event_id')
      .where('e.company', '=', p.company)
      .select(({ ref }) => [
        'd.id',
        'd.webhook_id',
        'd.attempts',
        sql<string>`${p.until}::text`.as('until'),
        'w.company',
        'w.url',
        eventJsonExpression.$castTo<Event>().as('event'),
        sql<string[]>`case when ${ref('w.old_secret_until')} > ${p.now}::timestamptz
          then array[${ref('w.secret')}, ${ref('w.old_secret')}] else array[${ref('w.secret')}] end`.as('secrets'),
      ]),
  );
const claims = { sound: claiming('sound'), failing: claiming('failing'), asked: claiming('asked') };

/** A delivery that this process has claimed until `until`. */
export type ClaimedDelivery = Awaited<ReturnType<typeof claims.sound>>[number];

export async function claimDeliveries(ctx: Context, { company, kind }: DeliveryGroup, { limit, busy }: ClaimLimits) {
  const now = ctx.now();
  const until = new Date(now.getTime() + LEASE_SECONDS * 1000).toISOString();
  return claims[kind](ctx, { ...listsOf(busy), company, limit, now: now.toISOString(), until });
}

export type DeliveryResult = Awaited<ReturnType<typeof sendDelivery>>;

/** Sends a delivery once. Id and body are the same on each attempt; time and signature are of now. */
export async function sendDelivery(ctx: Context, sender: WebhookSender, { event, url, secrets }: ClaimedDelivery) {
  const at = ctx.now();
  const body = webhookPayload(event);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'FleetGateway-Webhooks/1',
    ...signedHeaders(event.id, body, secrets, at),
  };
  return { ...(await sender.send(url, headers, body)), headers, at };
}
