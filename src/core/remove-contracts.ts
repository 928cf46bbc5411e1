import { type RawBuilder, sql } from 'kysely';
import type { Context } from './context.ts';
import { contractData, recordEach } from './events/record-events.ts';

/**
 * Steps `c` and `told` of a statement that deletes the contracts `c` that fit the condition and records each that it has
 * deleted itself: one that somebody else is deleting is that one's to tell of, and whoever has it locked tells first.
 */
export const removingContracts = (ctx: Context, where: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`c as (delete from contract c where ${where} returning c.*), told as (${recordEach(
    ctx,
    'contract.deleted',
    sql`select c.company, c.fleet_id, c.id, array[c.vehicle_id], array[v.vin], ${contractData}
        from c join vehicle v on v.id = c.vehicle_id`,
  )})`;
