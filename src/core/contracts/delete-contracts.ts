import { z } from 'zod';
import { keepActiveClause } from '../activation/plan-activations.ts';
import { touchActivations } from '../activation/touch-activations.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { ContractNotFound, NothingToDelete, type Precondition } from '../errors.ts';
import { contractFactsQuery, vehicleNamesOf } from '../events/contract-facts.ts';
import { announceEvents, callerOrigin, type EventOrigin, eventsClause } from '../events/record-events.ts';
import { fleetExistsExpression } from '../fleets/fleet.ts';
import { readInput } from '../input.ts';
import { anyOfIds, db, isId, prepare, uniqueIds } from '../sql/sql.ts';
import { aboutContractIds, type Contract, contractIds, contractSchema, notFoundIds } from './contract.ts';
import { companyOfContract, companyOfNamed, contractJsonQuery, lockContract, lockContracts } from './contracts.ts';

export const deleteContractsInput = z
  .object({ ids: contractIds.meta(aboutContractIds) })
  .describe('The contracts to delete.');

export const deletedContractsSchema = z
  .object({
    deleted: z.array(contractSchema).describe('The contracts that were deleted, as they were before.'),
    notFound: notFoundIds,
  })
  .meta({ id: 'DeletedContracts', description: 'The result of deleting contracts.' });

/** Deletes a contract and gives it back as it was; throws ContractNotFound and PreconditionFailed. */
export async function deleteContract(ctx: Context, by: { id: string }, expected?: Precondition<Contract>) {
  const company = authorizeContracts(ctx, 'contracts:write') ?? (await companyOfContract(ctx, by));
  if (!isId(by.id)) throw new ContractNotFound();
  const ids = [by.id];
  // A transaction also for one statement: its plan suits a company that the planner has not seen.
  return transaction(ctx, async () => {
    if (expected) await lockContract(ctx, company, by.id, expected);
    const [contract] = await removeContracts(ctx, company, ids);
    if (!contract) throw new ContractNotFound();
    return contract;
  });
}

/** Deletes contracts of a company. Throws NothingToDelete, PayloadTooLarge, and ContractNotFound without a token for an unknown first id. */
export async function deleteContracts(ctx: Context, input: unknown) {
  const caller = authorizeContracts(ctx, 'contracts:write');
  const { ids } = readInput(deleteContractsInput, input);
  if (ids.length === 0) throw new NothingToDelete('Name the contracts to delete: "ids" must hold at least one value.');
  const company = caller ?? (await companyOfNamed(ctx, ids));
  const own = uniqueIds(ids);
  const deletion = async () => {
    // Contracts that are deleted in opposite orders would wait for each other.
    await lockContracts(ctx, { company, ids: own, at: ctx.now() });
    return removeContracts(ctx, company, own);
  };
  const deleted = await transaction(ctx, deletion, { repeats: true });
  const byId = new Map(deleted.map((one) => [one.id, one]));
  return {
    deleted: own.flatMap((id) => byId.get(id) ?? []),
    notFound: ids.filter((id) => !byId.has(id.toLowerCase())),
  };
}

async function removeContracts(ctx: Context, company: string, ids: readonly string[]): Promise<Contract[]> {
  const rows = await remove(ctx, { ...callerOrigin(ctx), company, ids });
  const contracts = rows.map(({ json }) => json);
  await touchActivations(ctx, contracts);
  announceEvents(ctx);
  return contracts;
}

/** A contract that another transaction is deleting is reported by that transaction. */
const remove = prepare((p: EventOrigin & { company: string; ids: readonly string[] }) =>
  contractJsonQuery(
    db
      .with('c', (q) =>
        q
          .deleteFrom('contract as c')
          .where('c.company', '=', p.company)
          .where('c.id', '=', anyOfIds(p.ids))
          .where(fleetExistsExpression('c', p.company))
          .returningAll('c'),
      )
      .with('was_active', (q) => keepActiveClause(q, vehicleNamesOf(p.company)))
      .with('recorded', (q) =>
        eventsClause(q, p, { 'contract.deleted': contractFactsQuery(q, vehicleNamesOf(p.company)) }),
      ),
    p,
  ),
);
