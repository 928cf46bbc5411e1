import { z } from 'zod';
import { touchActivations } from '../activation/touch-activations.ts';
import { scheduleNow } from '../companies/schedule.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { ContractNotBegun, ContractNotFound, type Precondition, ValidationFailed } from '../errors.ts';
import { recordEvents } from '../events/record-events.ts';
import { field } from '../fields.ts';
import { readInput } from '../input.ts';
import { readPageArguments } from '../sql/page.ts';
import { readItemsPage } from '../sql/read.ts';
import { anyOfIds, asTimestamptz, db, isId, prepare, uniqueIds } from '../sql/sql.ts';
import {
  aboutContractIds,
  type Contract,
  contractFilterSchema,
  contractIds,
  contractSchema,
  MOST_CONTRACTS_AT_ONCE,
  notFoundIds,
} from './contract.ts';
import {
  companyOfContract,
  companyOfNamed,
  contractResource,
  findContracts,
  lockContract,
  lockContracts,
} from './contracts.ts';
import { updateFact } from './update-contract.ts';

const conditions = contractFilterSchema.shape;
/** A condition that is left out by mistake, or has a wrong name, would otherwise end every contract in force. */
const endingFilterSchema = z
  .strictObject(conditions, {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? `is unknown: use ${Object.keys(conditions).join(', ')}` : undefined,
  })
  .refine((filter) => Object.values(filter).some((condition) => (condition?.length ?? 0) > 0), {
    message: 'must hold a condition: statuses ACTIVE means all contracts in force',
    when: ({ issues }) => issues.length === 0,
  });

export const endContractsInput = z
  .object({
    ids: contractIds.nullish().meta(aboutContractIds),
    filter: endingFilterSchema.nullish().meta({
      description:
        'Conditions on the contracts in force to end, at least one, if `ids` is left out: the first 1,000 that were created and meet all. Repeat the request until it ends no contract.',
      examples: [{ name: 'Fuel data, 2027' }],
    }),
  })
  .refine(({ ids, filter }) => Boolean(ids?.length) !== Boolean(filter), {
    path: ['ids'],
    message: 'must name contracts, or filter must be given: one of the two, and not both',
  })
  .describe('The contracts to end now.');

const idList = (description: string) => field(z.array(z.string()), description, []);

export const endedContractsSchema = z
  .object({
    contracts: z.array(contractSchema).describe('The contracts that were ended, with their end.'),
    alreadyEnded: idList('The ids of contracts that were over before, as they were sent.'),
    notBegun: idList('The ids of contracts that have not begun, as they were sent: delete them instead.'),
    notFound: notFoundIds,
  })
  .meta({ id: 'EndedContracts', description: 'The result of ending contracts.' });

/** A contract whose beginning is not recorded yet stays due at its beginning. */
const moveEnds = prepare((p: { company: string; ids: readonly string[]; at: Date }) =>
  db
    .updateTable('contract')
    .set(({ ref, eb }) => ({
      ends_at: asTimestamptz(p.at),
      due_at: eb.case().when(ref('due_at'), '=', ref('ends_at')).then(asTimestamptz(p.at)).else(ref('due_at')).end(),
    }))
    .where('company', '=', p.company)
    .where('id', '=', anyOfIds(p.ids)),
);

/** Ends these contracts of a company, in the transaction that locks them. */
async function endNow(ctx: Context, company: string, ids: readonly string[]) {
  const now = ctx.now();
  const phases = Map.groupBy(await lockContracts(ctx, { company, ids, at: now }), ({ phase }) => phase);
  const inForce = phases.get('inForce') ?? [];
  const own = inForce.map(({ id }) => id);
  const rows = async () => (await findContracts(ctx, { company, ids: own })).map(({ json }) => json);
  const ends = new Map((await rows()).map(({ id, to }) => [id, to]));
  await moveEnds(ctx, { company, ids: own, at: now });
  const byId = new Map((await rows()).map((one) => [one.id, one]));
  const contracts = ids.flatMap((id) => byId.get(id) ?? []);
  if (contracts.length > 0) {
    await scheduleNow(ctx, 'contract', company);
    await touchActivations(ctx, inForce);
    const facts = contracts.map((one) => updateFact(one, { to: { from: ends.get(one.id) ?? '', to: one.to } }));
    await recordEvents(ctx, facts);
  }
  const idsIn = (phase: 'over' | 'notBegun') => new Set(phases.get(phase)?.map(({ id }) => id));
  return { contracts, over: idsIn('over'), notBegun: idsIn('notBegun') };
}

/**
 * Ends contracts in force, now. Gives those that were ended, in the order of `ids`, and the ids of the others by reason. Throws
 * ValidationFailed for a filter on another status, and PayloadTooLarge.
 */
export async function endContracts(ctx: Context, input: unknown) {
  const caller = authorizeContracts(ctx, 'contracts:write');
  const { ids, filter } = readInput(endContractsInput, input);
  if (filter && caller === null) {
    const message = 'needs a token, which names the company; without one, send ids';
    throw new ValidationFailed([{ path: 'filter', code: 'INVALID_VALUE', message }]);
  }
  const company = caller ?? (await companyOfNamed(ctx, ids ?? []));
  const end = async () => {
    const own = filter ? await idsInForce(ctx, company, filter) : uniqueIds(ids ?? []);
    const { contracts, over, notBegun } = await endNow(ctx, company, own);
    const done = new Set(contracts.map(({ id }) => id));
    const sent = (isOne: (id: string) => boolean) => [...new Set(ids?.filter((id) => isOne(id.toLowerCase())))];
    return {
      contracts,
      alreadyEnded: sent((id) => over.has(id)),
      notBegun: sent((id) => notBegun.has(id)),
      notFound: sent((id) => !done.has(id) && !over.has(id) && !notBegun.has(id)),
    };
  };
  return transaction(ctx, end, { repeats: true });
}

async function idsInForce(ctx: Context, company: string, filter: z.output<typeof contractFilterSchema>) {
  const { status, statuses } = filter;
  const wrong = [status ?? [], statuses ?? []].flat().some((one) => one !== 'ACTIVE');
  if (wrong) {
    const message = 'must be ACTIVE or left out: only contracts in force can be ended';
    throw new ValidationFailed([
      { path: `filter.${statuses ? 'statuses' : 'status'}`, code: 'INVALID_VALUE', message },
    ]);
  }
  const page = readPageArguments({ first: MOST_CONTRACTS_AT_ONCE });
  const request = { company, page, filter: { ...filter, statuses: statuses ?? ['ACTIVE'] } };
  const { items } = await readItemsPage<Contract>(ctx, contractResource, request);
  return items.map(({ id }) => id);
}

/** Ends a contract now; one that is over stays as it is. Throws ContractNotFound, ContractNotBegun and PreconditionFailed. */
export async function endContract(ctx: Context, { id }: { id: string }, expected?: Precondition<Contract>) {
  const caller = authorizeContracts(ctx, 'contracts:write');
  const company = caller ?? (await companyOfContract(ctx, { id }));
  if (!isId(id)) throw new ContractNotFound();
  const own = id.toLowerCase();
  return transaction(ctx, async () => {
    if (expected) await lockContract(ctx, company, own, expected);
    const { contracts, over, notBegun } = await endNow(ctx, company, [own]);
    if (notBegun.size > 0) throw new ContractNotBegun();
    const [contract] =
      over.size > 0 ? (await findContracts(ctx, { company, ids: [own] })).map(({ json }) => json) : contracts;
    if (!contract) throw new ContractNotFound();
    return contract;
  });
}
