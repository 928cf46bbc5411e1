import { z } from 'zod';
import { askAgain, planContracts } from '../activation/plan-activations.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { ContractNotFound } from '../errors.ts';
import { exampleIds } from '../fields.ts';
import { listSchema, readInput } from '../input.ts';
import { uniqueIds } from '../sql/sql.ts';
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
  const refresh = async () => {
    await planContracts(ctx, given);
    await askAgain(ctx, given);
    return findContracts(ctx, { company, ids: own });
  };
  const rows = await transaction(ctx, refresh, { repeats: true });
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
