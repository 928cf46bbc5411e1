import { type Expression, sql } from 'kysely';
import type { Reason } from '../../manufacturers/index.ts';
import type { Context } from '../context.ts';
import { type SendStatement, transaction } from '../database.ts';
import { asTimestamptz, jsonRecordset, prepare } from '../sql/sql.ts';
import { programsOfContract } from './activation.ts';
import { contractsInForce } from './contracts-of-vehicles.ts';
import type { Offering } from './needs.ts';
import { askAgain } from './plan-activations.ts';

// Vehicles that a provider refused by the name of a brand, and that its table of brands has another name for by now.

type Refused = Pick<Awaited<ReturnType<typeof groupFailed>>[number], 'provider' | 'brand' | 'wmi' | 'reason'>;
const refusedColumns = 'provider text, brand text, wmi text, reason jsonb';
const wmiSql = sql<string>`left(a.vin, 3)`;

const failedContracts = (now: Expression<string>) =>
  contractsInForce(now)
    .innerJoin('activation as a', (on) => on.on(sql<boolean>`${sql.raw(programsOfContract('a', 'c', 'v.vin'))}`))
    .where('c.activation', '=', sql.lit('FAILED'))
    .where('a.state', '=', sql.lit('FAILED'));

const groupFailed = prepare((p: { now: Date }) =>
  failedContracts(asTimestamptz(p.now))
    .select(['a.provider', 'a.brand', 'v.manufacturer', 'c.pack', 'c.programs', wmiSql.as('wmi')])
    .select(sql<Reason | null>`a.reason`.as('reason'))
    .select(sql<string>`min(a.vin)`.as('vin'))
    .select(sql<number>`count(*)::int`.as('contracts'))
    .select(sql<number>`count(distinct v.vin)::int`.as('vehicles'))
    .groupBy(['a.provider', 'a.brand', 'v.manufacturer', 'c.pack', 'c.programs', wmiSql, 'a.reason'])
    .orderBy('a.provider')
    .orderBy('v.manufacturer')
    .orderBy('c.pack'),
);

/** Contracts in force that are asked for again by another brand, as groups of a plan of settings. */
export async function planOfBrands(send: SendStatement, { activatorOf }: Offering, now: Date) {
  const groups = await groupFailed(send, { now });
  return groups.flatMap((group) => {
    const { provider, programs } = group;
    const isMisnamed = activatorOf(provider)?.isMisnamed?.(group) ?? false;
    return isMisnamed ? { ...group, needed: { provider, programs }, asked: programs, ended: [] as string[] } : [];
  });
}

const AT_ONCE = 500;

type Given = { refused: string; now: Date };
const refusedContracts = ({ refused, now }: Given) =>
  failedContracts(asTimestamptz(now)).innerJoin(jsonRecordset<Refused, 'r'>('r', refused, refusedColumns), (on) =>
    on
      .onRef('r.provider', '=', 'a.provider')
      .onRef('r.brand', '=', 'a.brand')
      .on('r.wmi', '=', wmiSql)
      .on(sql<boolean>`r.reason is not distinct from a.reason`),
  );

const findCompanies = prepare((p: Given) => refusedContracts(p).select('c.company').distinct().orderBy('c.company'));

const findContracts = prepare((p: Given & { company: string }) =>
  refusedContracts(p).select('c.id').where('c.company', '=', p.company).distinct().limit(sql.lit(AT_ONCE)),
);

/** The companies with contracts that are asked for again by another brand, and the step that does so for some of them. */
export async function findRefusedBrands(ctx: Context) {
  const { database, manufacturers } = ctx.services;
  const plan = await planOfBrands(database.send, manufacturers, ctx.now());
  const refused = JSON.stringify(plan.map(({ provider, brand, wmi, reason }) => ({ provider, brand, wmi, reason })));
  const rows = plan.length === 0 ? [] : await findCompanies(ctx, { refused, now: ctx.now() });
  return {
    companies: rows.map(({ company }) => company),
    step: (company: string) => askByOtherBrands(ctx, company, refused),
  };
}

/** Has the first of a company's refused contracts asked for again; gives whether more may be left. */
async function askByOtherBrands(ctx: Context, company: string, refused: string): Promise<boolean> {
  const now = ctx.now();
  const found = await transaction(ctx, async () => {
    const rows = await findContracts(ctx, { company, refused, now });
    await askAgain(ctx, { company, ids: rows.map(({ id }) => id), now });
    return rows;
  });
  ctx.services.changes.announce('due', 'activation');
  ctx.services.changes.announceActivations(company, found);
  return found.length === AT_ONCE;
}
