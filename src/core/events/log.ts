import { expressionBuilder, type QueryCreator, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Context } from '../context.ts';
import { scheduling } from '../schedule.ts';
import { onNewest, onPrimary, transaction } from '../sql/send.ts';
import { anyOf, prepare } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import { countActivity, dueEvents, keepHistory } from './published.ts';

// Every company has a log of its own, whose end is counted in the company's row.

/** The position of a company's last event: 0 before its first. */
export const endOfLog = (company: string | RawBuilder<string>) =>
  sql<string>`coalesce((select position from company where company = ${company}), 0)`;

const readEnd = prepare((p: { company: string }) => db.selectNoFrom(endOfLog(p.company).as('end')));

/** The position of the last event of a company; '0' before the first. */
export async function readEndOfLog(ctx: Context, company: string): Promise<string> {
  const [row] = await readEnd(onNewest(ctx), { company });
  return row?.end ?? '0';
}

/** A `with` clause that inserts the company's row if there is none. */
export const knowCompany = (company: string) => (q: QueryCreator<Tables>) =>
  q
    .insertInto('company')
    .values({ company })
    .onConflict((conflict) => conflict.doNothing());

const addCompany = prepare((p: { company: string }) => knowCompany(p.company)(db));

const lockLog = prepare((p: { company: string }) =>
  db.selectFrom('company').select('company').where('company', '=', p.company).forNoKeyUpdate(),
);

/**
 * Waits until nobody publishes events of a company, and lets nobody until the open transaction ends. Positions thereby
 * become visible in their order, and a webhook is created, halted or deleted, or has caught up with the log, between two
 * events. Companies are to be held in the order of their names.
 */
export async function holdPublishing(ctx: Context, company: string): Promise<void> {
  await addCompany(onPrimary(ctx), { company });
  await lockLog(onPrimary(ctx), { company });
}

/** Whether a webhook `w` wants an event `e`: the condition that decides of every delivery, but for tests, which go to one. */
export const wanted = sql<SqlBool>`(e.type <> 'webhook.test' and (w.types = '{}' or e.type = any(w.types)))`;

const { cast, val } = expressionBuilder<Tables>();

export const deliveryColumns = ['company', 'webhook_id', 'event_id', 'due_at', 'created_at'] as const;
export const newDelivery = (now: Date | string) => {
  const time = cast<string>(val(now), 'timestamptz');
  return ['w.company', 'w.id as webhook_id', 'e.id as event_id', time.as('due_at'), time.as('created_at')] as const;
};

/**
 * Events that get their place in the log in one transaction: few, since each may name 1,000 vehicles; and fewer where each goes to
 * many webhooks, so that the database does not work for one company for half a second.
 */
const MANY_EVENTS = 100;
const FEW_EVENTS = 10;
const MANY_WEBHOOKS = 10;

const EVENTS_SEARCHED = 1000;

/** Reads unpublished events alone, so that a company without any costs nothing. */
const findCompanies = prepare((p: { after: string }) =>
  db
    .selectFrom((of) =>
      of
        .selectFrom('event')
        .select('company')
        .where('company', '>', p.after)
        .where('position', 'is', null)
        .orderBy('company')
        .limit(sql.lit(EVENTS_SEARCHED))
        .as('next'),
    )
    .select(({ fn, cast }) => ['company', cast<number>(fn.countAll(), 'int4').as('events')])
    .groupBy('company')
    .orderBy('company'),
);

/**
 * The next companies behind `after`, by name, that have something to publish; behind `last` there may be others, and there are
 * none where it is ''. Locks nothing.
 */
export async function companiesToPublish(ctx: Context, after = ''): Promise<{ companies: string[]; last: string }> {
  const found = await findCompanies(onPrimary(ctx), { after });
  const events = found.reduce((sum, one) => sum + one.events, 0);
  const companies = found.map(({ company }) => company);
  return { companies, last: events < EVENTS_SEARCHED ? '' : (companies.at(-1) ?? '') };
}

const lockFreeLog = prepare((p: { company: string }) =>
  db
    .selectFrom('company')
    .select(({ selectFrom }) => [
      selectFrom('webhook as w')
        .select(({ fn, cast }) => cast<number>(fn.countAll(), 'int4').as('count'))
        .where('w.company', '=', p.company)
        .where('w.state', '=', 'ACTIVE')
        .where('w.held_from', 'is', null)
        .$asScalar()
        .$notNull()
        .as('webhooks'),
    ])
    .where('company', '=', p.company)
    .forNoKeyUpdate()
    .skipLocked(),
);

const publishing = (most: number) =>
  prepare((p: { company: string; now: Date }) =>
    db
      .with('log', (q) => q.selectFrom('company').select('position').where('company', '=', p.company))
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
          .returning(['e.id', 'e.type']),
      )
      .with('moved', (q) =>
        q
          .updateTable('company')
          .from((from) =>
            from
              .selectFrom('due')
              .select(({ fn }) => fn.max('due.position').as('position'))
              .as('last'),
          )
          .set(({ ref }) => ({ position: ref('last.position') }))
          .where('company.company', '=', p.company)
          .where('last.position', 'is not', null),
      )
      .with('delivered', (q) =>
        q
          .insertInto('delivery')
          .columns(deliveryColumns)
          .expression((from) =>
            from
              .selectFrom('published as e')
              .innerJoin('webhook as w', (on) => on.on('w.company', '=', p.company))
              .select(newDelivery(p.now))
              .where('w.state', '=', 'ACTIVE')
              .where('w.held_from', 'is', null)
              .where(wanted),
          )
          .onConflict((conflict) => conflict.doNothing())
          .returning(['company', 'due_at']),
      )
      .with('scheduled', (q) =>
        scheduling(q, 'delivery', q.selectFrom('delivered').select(['company', 'due_at']).as('r')),
      )
      .selectNoFrom(({ exists, selectFrom }) => [
        selectFrom('published')
          .select(({ fn, cast }) => cast<number>(fn.countAll(), 'int4').as('count'))
          .$asScalar()
          .$notNull()
          .as('events'),
        exists(selectFrom('delivered').select('company')).as('deliveries'),
      ]),
  );
const publishMany = publishing(MANY_EVENTS);
const publishFew = publishing(FEW_EVENTS);

interface Published {
  events: number;
  more: boolean;
}

/**
 * Gives recorded events of a company their places in its log, and a delivery to every webhook that wants them, in one
 * transaction: none where somebody else holds the company's log.
 */
export async function publishEventsOf(ctx: Context, company: string): Promise<Published> {
  return transaction(ctx, async () => {
    const [free] = await lockFreeLog(onPrimary(ctx), { company });
    if (!free) return { events: 0, more: false };
    const [publish, most] = free.webhooks > MANY_WEBHOOKS ? [publishFew, FEW_EVENTS] : [publishMany, MANY_EVENTS];
    // A statement of its own: only now does it see all that was published before.
    const [row] = await publish(onPrimary(ctx), { company, now: ctx.now() });
    const { events = 0, deliveries = false } = row ?? {};
    const { changes } = ctx.services;
    if (events > 0) changes.announce('event', company);
    if (deliveries) changes.announce('due', 'delivery');
    return { events, more: events === most };
  });
}
