import { sql } from 'kysely';
import { z } from 'zod';
import { programsOfContract } from '../activation/activation.ts';
import { contractsWithVehicles } from '../activation/contracts-of-vehicles.ts';
import { touched } from '../activation/due-activations.ts';
import { askedAnew, planContracts } from '../activation/plan-activations.ts';
import { scheduleClause } from '../companies/schedule.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { ContractNotFound } from '../errors.ts';
import { exampleIds } from '../fields.ts';
import { listSchema, readInput } from '../input.ts';
import { anyOfIds, asTimestamptz, db, prepare, uniqueIds } from '../sql/sql.ts';
import type { Contract } from './contract.ts';
import { companyOfContract, findContracts } from './contracts.ts';

const MOST_REFRESHED = 1000;

export const refreshActivationInput = z
  .object({
    ids: listSchema(z.string(), MOST_REFRESHED).meta({
      description: 'Ids of the contracts to ask about, at most 1,000.',
      examples: [[exampleIds.contract]],
    }),
  })
  .describe('The contracts about which to ask the manufacturers again.');

type Refreshed = { company: string; ids: readonly string[]; now: Date };

/** Contracts whose manufacturer has been asked, and that are neither active nor over. */
const askAgain = prepare((p: Refreshed) => {
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

/**
 * Has manufacturers asked again about contracts, later; those that are active, over or not yet begun stay as they are. Gives the
 * contracts in the order of the ids, and the ids of none. Throws PayloadTooLarge.
 */
export async function refreshActivation(ctx: Context, input: unknown) {
  const { ids } = readInput(refreshActivationInput, input);
  const caller = authorizeContracts(ctx, 'contracts:write');
  const own = uniqueIds(ids);
  const company = caller ?? (own[0] ? await companyOfContract(ctx, { id: own[0] }) : '');
  const given = { company, ids: own, now: ctx.now() };
  const rows = await transaction(ctx, async () => {
    await planContracts(ctx, given);
    await askAgain(ctx, given);
    return findContracts(ctx, { company, ids: own });
  });
  ctx.services.changes.announce('due', 'activation');
  const byId = new Map(rows.map(({ json }) => [json.id, json]));
  const contracts: Contract[] = own.flatMap((id) => byId.get(id) ?? []);
  return { contracts, notFound: ids.filter((id) => !byId.has(id.toLowerCase())) };
}

/** Has the manufacturer asked again about one contract, later; throws ContractNotFound. */
export async function refreshOneActivation(ctx: Context, { id }: { id: string }): Promise<Contract> {
  const { contracts } = await refreshActivation(ctx, { ids: [id] });
  const [contract] = contracts;
  if (!contract) throw new ContractNotFound();
  return contract;
}
