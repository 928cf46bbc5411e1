import {
  type AliasedExpression,
  type Expression,
  type QueryCreator,
  type RawBuilder,
  type Selectable,
  sql,
} from 'kysely';
import { scheduleClause, scheduleForKind } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { contractData, contractFactsQuery, type VehicleName, type WithContracts } from '../events/contract-facts.ts';
import { anyOfIds, asTimestamptz, db, LOWEST_ID, prepare, prepareStatementVariants } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { programsOfContract } from './activation.ts';
import { contractsWithVehicles } from './contracts-of-vehicles.ts';
import { offerSql, type PlanValues, packSql, planValues } from './needs.ts';
import { ANY_OF_ROW, lockOrder, touched } from './touch-activations.ts';

// What contracts in force need becomes rows of `activation`, in the transaction that starts or ends them. A row is made
// due by whatever changes contracts; whether it is wanted is asked of the contracts when the row is claimed.

export const activationSchedule = scheduleForKind('activation', (company) =>
  db
    .selectFrom('activation')
    .select('due_at')
    .where('company', '=', company)
    .where('due_at', 'is not', null)
    .orderBy('due_at')
    .limit(sql.lit(1)),
);

/** Columns of a plan that other clauses name. */
type Planned = Pick<Selectable<Tables['contract']>, 'id' | 'company' | 'activation'> & { vin: string };

/**
 * A `with` clause: contracts of clause `c` that have begun, with their programs and their state from now on. A provider that has been asked
 * stays. `verdict` is that state, or the member of `reasons` that says why there is no provider.
 */
export const planClause = (p: PlanValues & { company: string }, now: Expression<string>) =>
  sql<Planned>`(
    select c.id, c.company, v.vin, v.manufacturer as brand,
      coalesce(c.provider, case when needed is not null then offer ->> 'provider' end) as provider,
      case when c.provider is not null then c.programs else array(select jsonb_array_elements_text(needed)) end as programs,
      case when reasons -> verdict is null then verdict else 'UNSUPPORTED' end as activation,
      reasons -> verdict as reason
    from c
    join vehicle v on v.company = ${p.company} and v.id = c.vehicle_id
    cross join lateral (select ${p.reasons}::jsonb as reasons, ${offerSql(p.offers)} as offer offset 0) offered
    cross join lateral (select ${packSql(sql`offer`)} as needed offset 0) packed
    cross join lateral (select case
      when c.ends_at <= ${now} and c.provider is not null and c.activation not in ('OFF', 'UNSUPPORTED', 'ENDED') then 'ENDING'
      when c.ends_at <= ${now} then 'ENDED'
      when ${p.offers}::jsonb is null then 'OFF'
      when v.manufacturer is null then 'unknown'
      when offer is null then 'brand'
      when needed is null then 'pack'
      else 'PENDING' end as verdict offset 0) decided)`;

/** A new wish is a new question: what the provider decided before is no answer to it. */
const askedAnew = (isNew: RawBuilder<unknown>, now: Expression<string>) => ({
  renewed: sql<boolean>`activation.renewed or ${isNew}`,
  state: sql<'PENDING'>`case when ${isNew} then 'PENDING' else activation.state end`,
  reason: sql<string | null>`case when ${isNew} then null else activation.reason end`,
  changed_at: sql<string>`case when ${isNew} then ${now} else activation.changed_at end`,
});

/** A `with` clause that makes the programs of clause `plan` wanted, and due. */
export const wantClause = (q: QueryCreator<Tables>, now: Expression<string>) =>
  q
    .insertInto('activation')
    .columns(['company', 'id', 'vin', 'provider', 'program', 'brand', 'changed_at', 'due_at'])
    .expression(
      sql`select distinct on (company, vin, provider, program) company, new_uuid() as id, vin, provider, program,
          brand, ${now} as changed_at, ${now} as due_at
        from plan, unnest(programs) program where activation = 'PENDING' order by company, vin, provider, program`,
    )
    .onConflict((conflict) =>
      conflict.columns(['company', 'vin', 'provider', 'program']).doUpdateSet({
        wanted: true,
        ...askedAnew(sql`activation.state not in ('PENDING', 'ACTIVE')`, now),
        ...touched(now),
      }),
    )
    .returning(['company', 'due_at']);

/** A `with` clause that keeps what is told of deleted contracts of clause `c` once their programs are ended. */
export const keepActiveClause = (
  q: WithContracts & QueryCreator<Tables>,
  vehicles: AliasedExpression<VehicleName, 'v'>,
) =>
  q
    .insertInto('deleted_contract')
    .columns(['company', 'id', 'fleet_id', 'vehicle_id', 'vin', 'provider', 'programs', 'data'])
    .expression(
      contractFactsQuery(q, vehicles)
        .clearSelect()
        .select(['c.company', 'c.id', 'c.fleet_id', 'c.vehicle_id', 'v.vin', 'c.provider', 'c.programs'])
        .select(contractData.as('data'))
        .where('c.provider', 'is not', null)
        .where(sql<boolean>`(c.was_active or c.activation = 'ACTIVE')`),
    );

const AT_ONCE = 1000;

type Unplanned = PlanValues & {
  company: string;
  after?: string;
  ids?: readonly string[];
  vehicles?: readonly string[];
  now: Date;
};

/** Whether a contract `c` is in force and no manufacturer has heard of it: the setting was off, or nobody could be asked. */
const isUnheard = (now: Expression<string>) =>
  sql<boolean>`c.activation = any('{OFF,UNSUPPORTED,PENDING}'::text[]) and c.provider is null
    and c.starts_at <= ${now} and c.ends_at > ${now}`;

const findCompaniesToPlan = prepare((p: { now: Date }) =>
  db
    .selectFrom('company as co')
    .select('co.company')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('contract as c')
          .select('c.id')
          .whereRef('c.company', '=', 'co.company')
          .where(isUnheard(asTimestamptz(p.now))),
      ),
    )
    .orderBy('co.company'),
);

const plan = prepareStatementVariants<Unplanned>()(['after', 'ids', 'vehicles'], (p, has) => {
  const now = asTimestamptz(p.now);
  return db
    .with('c', () =>
      db
        .selectFrom('contract as c')
        .selectAll('c')
        .where('c.company', '=', p.company)
        .where(isUnheard(now))
        .$if(has.after, (q) => q.where('c.id', '>', p.after as string))
        .$if(has.ids, (q) => q.where('c.id', '=', anyOfIds(p.ids as readonly string[])))
        .$if(has.vehicles, (q) => q.where('c.vehicle_id', '=', anyOfIds(p.vehicles as readonly string[])))
        .orderBy('c.id')
        .$if(!has.vehicles, (q) => q.limit(sql.lit(AT_ONCE)))
        .forNoKeyUpdate(),
    )
    .with('plan', () => planClause(p, now))
    .with('wanted', (q) => wantClause(q, now))
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('wanted').select(['company', 'due_at'])))
    .with('moved', (q) =>
      q
        .updateTable('contract')
        .from('plan')
        .set(planned(now))
        .whereRef('contract.id', '=', 'plan.id')
        .whereRef('contract.company', '=', 'plan.company')
        .where(
          sql<boolean>`(contract.activation, contract.provider) is distinct from (plan.activation, plan.provider)`,
        ),
    )
    .selectFrom('c')
    .select('id');
});

/** The columns of a contract that a plan decides. */
export const planned = (now: Expression<string>) => ({
  activation: sql<Planned['activation']>`plan.activation`,
  activation_reason: sql<string | null>`plan.reason`,
  activation_changed_at: now,
  provider: sql<string | null>`plan.provider`,
  programs: sql<string[]>`plan.programs`,
  was_active: sql<boolean>`contract.was_active or contract.activation = 'ACTIVE'`,
});

/** Carries out contracts in force of which no manufacturer has heard: those with these ids, or the first after one. */
export const planContracts = (ctx: Context, given: Pick<Unplanned, 'company' | 'after' | 'ids'>) =>
  plan(ctx, { ...planValues(ctx), ...given, now: ctx.now() });

/** Carries out all contracts of vehicles whose maker has changed, in the transaction that changes it: contracts are locked before programs. */
export async function planVehicles(ctx: Context, company: string, vehicles: readonly string[]): Promise<void> {
  await plan(ctx, { ...planValues(ctx), company, vehicles, now: ctx.now() });
  ctx.services.changes.announce('due', 'activation');
}

/** The companies with contracts in force of which no manufacturer has heard, and the step that carries out some of them. */
export async function findUnplanned(ctx: Context) {
  const rows = await findCompaniesToPlan(ctx, { now: ctx.now() });
  /** What nobody can be asked about stays: a company's steps go by its ids. */
  const reached = new Map<string, string>();
  return {
    companies: rows.map(({ company }) => company),
    async step(company: string): Promise<boolean> {
      const ids = (await planContracts(ctx, { company, after: reached.get(company) ?? LOWEST_ID })).map(({ id }) => id);
      ctx.services.changes.announce('due', 'activation');
      reached.set(company, ids.toSorted().at(-1) ?? LOWEST_ID);
      return ids.length === AT_ONCE;
    },
  };
}

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
        .orderBy('v.vin')
        .orderBy('c.id')
        .forNoKeyUpdate('c'),
    )
    .with('row', (q) =>
      q
        .selectFrom('activation')
        .innerJoin('named', (on) =>
          on.on(sql<boolean>`${sql.raw(programsOfContract('activation', 'named', 'named.vin'))}`),
        )
        .select('activation.id')
        .where('activation.company', '=', p.company)
        .orderBy(lockOrder)
        .forNoKeyUpdate('activation'),
    )
    .with('asked', (q) =>
      q
        .updateTable('activation')
        .set({
          ...touched(now),
          ...askedAnew(sql`activation.state in ('REJECTED', 'FAILED')`, now),
          faults: 0,
        })
        .where('company', '=', p.company)
        .where('id', '=', ANY_OF_ROW)
        .returning(['company', 'due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'activation', q.selectFrom('asked').select(['company', 'due_at'])))
    .updateTable('contract')
    .from('named')
    .set({ activation: 'PENDING', activation_reason: null, activation_changed_at: now })
    .where('contract.company', '=', p.company)
    .whereRef('contract.id', '=', 'named.id')
    .where('contract.activation', '=', sql<'REJECTED'>`any('{REJECTED,FAILED}'::text[])`);
});
