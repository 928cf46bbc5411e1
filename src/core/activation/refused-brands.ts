import { type Expression, sql } from 'kysely';
import type { Manufacturers, Reason } from '../../manufacturers/index.ts';
import type { Context } from '../context.ts';
import { type SendStatement, transaction } from '../database.ts';
import { asTimestamptz, db, jsonRecordset, prepare } from '../sql/sql.ts';
import { programsOfContract } from './activation.ts';
import { askAgain } from './ask-again.ts';
import { isOfContract } from './contracts-of-vehicles.ts';

// Vehicles that a provider refused by the name of a brand, and that its table of brands has another name for by now.

interface Refused {
  provider: string;
  brand: string;
  wmi: string;
  reason: Reason | null;
}
const refusedColumns = 'provider text, brand text, wmi text, reason jsonb';
const wmiSql = sql<string>`left(a.vin, 3)`;

const failedContracts = (now: Expression<string>) =>
  db
    .selectFrom('contract as c')
    .innerJoin('vehicle as v', (on) => on.onRef('v.company', '=', 'c.company').on(isOfContract))
    .innerJoin('activation as a', (on) => on.on(sql<boolean>`${sql.raw(programsOfContract('a', 'c', 'v.vin'))}`))
    .where('c.activation', '=', sql.lit('FAILED'))
    .where('c.starts_at', '<=', now)
    .where('c.ends_at', '>', now)
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
export async function planOfBrands(
  send: SendStatement,
  { activatorOf }: Pick<Manufacturers, 'activatorOf'>,
  now: Date,
) {
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

/** What is asked for again by another brand, as JSON, and the companies that have such contracts. */
export async function findRefusedBrands(ctx: Context): Promise<{ refused: string; companies: string[] }> {
  const { database, manufacturers } = ctx.services;
  const plan = await planOfBrands(database.send, manufacturers, ctx.now());
  if (plan.length === 0) return { refused: '[]', companies: [] };
  const refused = JSON.stringify(plan.map(({ provider, brand, wmi, reason }) => ({ provider, brand, wmi, reason })));
  const rows = await findCompanies(ctx, { refused, now: ctx.now() });
  return { refused, companies: rows.map(({ company }) => company) };
}

/** Has the first of a company's refused contracts asked for again; gives whether more may be left. */
export async function askByOtherBrands(ctx: Context, company: string, refused: string): Promise<boolean> {
  const now = ctx.now();
  const ids = await transaction(ctx, async () => {
    const found = (await findContracts(ctx, { company, refused, now })).map(({ id }) => id);
    await askAgain(ctx, { company, ids: found, now });
    return found;
  });
  ctx.services.changes.announce('due', 'activation');
  ctx.services.changes.announceActivations(company, ids);
  return ids.length === AT_ONCE;
}
