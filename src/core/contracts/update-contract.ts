import { Contract as ContractEntity } from '../../entities/fleet.ts';
import { touchActivations } from '../activation/touch-activations.ts';
import { scheduleNow } from '../companies/schedule.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { ContractNotFound, ContractOverlap, type Precondition, ValidationFailed } from '../errors.ts';
import { type EventFact, recordEvents } from '../events/record-events.ts';
import { readInput } from '../input.ts';
import { readOneRow } from '../sql/read.ts';
import { isId } from '../sql/sql.ts';
import { type Contract, updateContractInput } from './contract.ts';
import { companyOfContract, contractResource, lockContract } from './contracts.ts';
import { findOverlaps } from './create-contract.ts';

/**
 * Changes the named fields of a contract. Throws ContractNotFound, PreconditionFailed, ContractOverlap with the ids, and
 * ValidationFailed: for no field, for an end that is past, and for another end of a contract that is over.
 */
export async function updateContract(ctx: Context, input: unknown, expected?: Precondition<Contract>) {
  const caller = authorizeContracts(ctx, 'contracts:write');
  const { id, to: wanted, ...texts } = readInput(updateContractInput, input);
  const company = caller ?? (await companyOfContract(ctx, { id }));
  if (!isId(id)) throw new ContractNotFound();
  return transaction(ctx, async (em) => {
    const now = ctx.now();
    const before = await lockContract(ctx, company, id, expected);
    const to = wanted?.toISOString() === before.to ? wanted : orNow(wanted, now);
    const named = Object.entries({ ...texts, to: to?.toISOString() }).filter(isNamed);
    if (named.length === 0) {
      throw new ValidationFailed([], 'Nothing to change: name at least one of name, description, to.');
    }
    const changed = named.filter(([name, value]) => value !== before[name]);
    if (changed.length === 0) return before;
    const contract = await em.findOneOrFail(ContractEntity, { company, id });
    em.assign(contract, Object.fromEntries(changed.filter(([name]) => name !== 'to')));
    const endMoves = to !== undefined && to.getTime() !== contract.endsAt.getTime();
    if (endMoves) {
      requireEnd(contract, to, now);
      await requireRoom(ctx, before, to);
      // A contract that has not begun stays due at its beginning.
      const hasBegun = contract.dueAt?.getTime() === contract.endsAt.getTime();
      em.assign(contract, { endsAt: to, ...(hasBegun && { dueAt: to }) });
    }
    await em.flush();
    if (endMoves) {
      await scheduleNow(ctx, 'contract', company);
      // Its programs may just be looked at by the old end.
      await touchActivations(ctx, [before]);
    }
    const after = await readOneRow<Contract>(ctx, contractResource, { id }, { company });
    const changes = Object.fromEntries(changed.map(([field, value]) => [field, { from: before[field], to: value }]));
    await recordEvents(ctx, [updateFact(after, changes)]);
    return after;
  });
}

/** The fact that a contract was changed; it is as it is now. */
export function updateFact(contract: Contract, changes: Record<string, { from: string; to: string }>): EventFact {
  const { id: contractId, company, fleetId, vehicleId, vin, name, pack, from, to, manufacturer } = contract;
  const about = { company, fleetId, contractId, vehicles: [{ id: vehicleId, vin }] };
  return { type: 'contract.updated', ...about, data: { name, pack, from, to, manufacturer, changes } };
}

/** The clock of a client may be so far behind, and the request so long on its way. */
const LATE_MS = 5 * 60_000;

/** An end that has just passed is an end now. */
function orNow(to: Date | undefined, now: Date): Date | undefined {
  const isLate = to !== undefined && to <= now && to.getTime() > now.getTime() - LATE_MS;
  // The end is carried out by what is later than it.
  return isLate ? now : to;
}

const isNamed = (one: [string, unknown]): one is ['name' | 'description' | 'to', string] => one[1] !== undefined;

/** A contract that is over stays so, since its end was carried out; until then, it may end at any later time. */
function requireEnd({ startsAt, endsAt, dueAt }: Period, to: Date, now: Date): void {
  const isOver = endsAt <= now || dueAt === null;
  if (isOver)
    throw wrongEnd('INVALID_VALUE', `cannot be changed: the contract ended at ${iso(endsAt)}. Create a new one`);
  if (to <= startsAt) throw wrongEnd('INVALID', `must be later than from, ${iso(startsAt)}`);
  if (to < now) throw wrongEnd('INVALID_VALUE', `must be later than now, ${iso(now)}`);
}

const iso = (time: Date) => time.toISOString();
const wrongEnd = (code: string, message: string) => new ValidationFailed([{ path: 'to', code, message }]);

type Period = Record<'startsAt' | 'endsAt', Date> & { dueAt?: Date | null };

async function requireRoom(ctx: Context, { company, id, vin, pack, from }: Contract, to: Date): Promise<void> {
  const found = await findOverlaps(ctx, { company, vins: [vin], pack, from, to: to.toISOString() });
  const others = found.flatMap((one) => (one.id === id ? [] : one.id));
  if (others.length > 0) throw new ContractOverlap(others);
}
