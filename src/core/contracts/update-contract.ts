import { Contract as ContractEntity } from '../../entities/fleet.ts';
import { scheduleNow } from '../companies/schedule.ts';
import { authorizeContracts, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import {
  ContractNotFound,
  ContractOverlap,
  type Precondition,
  requirePrecondition,
  ValidationFailed,
} from '../errors.ts';
import { recordEvents } from '../events/record-events.ts';
import { readInput } from '../input.ts';
import { readOneRow } from '../sql/read.ts';
import { isId } from '../sql/sql.ts';
import { type Contract, updateContractInput } from './contract.ts';
import { companyOfContract, contractResource, lockContract } from './contracts.ts';
import { findOverlaps } from './create-contract.ts';
import { touchActivations } from './due-activations.ts';

/**
 * Changes the named fields of a contract. Throws ContractNotFound, PreconditionFailed, ContractOverlap with the ids, and
 * ValidationFailed: for no field, for an end that is past, and for another end of a contract that is over.
 */
export async function updateContract(ctx: Context, input: unknown, expected?: Precondition<Contract>) {
  const caller = authorizeContracts(ctx, 'contracts:write');
  const { id, to, ...texts } = readInput(updateContractInput, input);
  const company = caller ?? (await companyOfContract(ctx, { id }));
  if (!isId(id)) throw new ContractNotFound();
  return transaction(ctx, async (em) => {
    await lockContract(ctx, { company, id });
    const read = () => readOneRow<Contract>(ctx, contractResource, { id }, { company, newest: true });
    const before = await read();
    requirePrecondition(before, expected);
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
      requireEnd(contract, to, ctx.now());
      await requireRoom(ctx, before, to);
      // Its start comes due as before.
      const hasBegun = contract.dueAt?.getTime() === contract.endsAt.getTime();
      em.assign(contract, { endsAt: to, ...(hasBegun && { dueAt: to }) });
    }
    await em.flush();
    if (endMoves) {
      await scheduleNow(ctx, 'contract', company);
      // Its programs may just be looked at by the old end.
      await touchActivations(ctx, [before]);
    }
    const after = await read();
    const { fleetId, vehicleId, vin, name, pack, from, manufacturer } = after;
    const changes = Object.fromEntries(changed.map(([field, value]) => [field, { from: before[field], to: value }]));
    const about = { company, fleetId, contractId: id, vehicles: [{ id: vehicleId, vin }] };
    const data = { name, pack, from, to: after.to, manufacturer, changes };
    await recordEvents(ctx, [{ type: 'contract.updated', ...about, data }]);
    return after;
  });
}

const isNamed = (one: [string, unknown]): one is ['name' | 'description' | 'to', string] => one[1] !== undefined;

/** A contract that is over stays so, since its end was carried out; until then, it may end at any later time. */
function requireEnd({ startsAt, endsAt, dueAt }: Period, to: Date, now: Date): void {
  const isOver = endsAt <= now || dueAt === null;
  if (isOver)
    throw wrongEnd('INVALID_VALUE', `cannot be changed: the contract ended at ${iso(endsAt)}. Create a new one`);
  if (to <= startsAt) throw wrongEnd('INVALID', `must be later than from, ${iso(startsAt)}`);
  if (to <= now) throw wrongEnd('INVALID_VALUE', `must be later than now, ${iso(now)}`);
}

const iso = (time: Date) => time.toISOString();
const wrongEnd = (code: string, message: string) => new ValidationFailed([{ path: 'to', code, message }]);

type Period = Record<'startsAt' | 'endsAt', Date> & { dueAt?: Date | null };

async function requireRoom(ctx: Context, { company, id, vin, pack, from }: Contract, to: Date): Promise<void> {
  const found = await findOverlaps(ctx, { company, vins: [vin], pack, from, to: to.toISOString() });
  const others = found.flatMap((one) => (one.id === id ? [] : one.id));
  if (others.length > 0) throw new ContractOverlap(others);
}
