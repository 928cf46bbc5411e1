import { sql } from 'kysely';
import { SANDBOX } from '../../manufacturers/provider.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { announceEvents, systemOrigin } from '../events/record-events.ts';
import { anyOfTexts, asTimestamptz, db, prepare } from '../sql/sql.ts';
import { initialActivation } from './create-contract.ts';
import { planContracts } from './plan-activations.ts';
import { lockContracts, settle } from './store-activations.ts';

const AT_ONCE = 1000;

const findInvented = prepare((_: object) =>
  db
    .selectFrom('activation')
    .select(['company', 'vin'])
    .where('provider', '=', sql.lit(SANDBOX))
    .orderBy('company')
    .limit(sql.lit(AT_ONCE)),
);

type Vehicles = { company: string; vins: readonly string[] };

const forget = prepare((p: Vehicles) =>
  db
    .deleteFrom('activation')
    .where('company', '=', p.company)
    .where('provider', '=', sql.lit(SANDBOX))
    .where('vin', '=', anyOfTexts(p.vins)),
);

/** Contracts that are not over are as if no manufacturer had heard of them. */
const begin = prepare((p: Vehicles & { now: Date; activation: ReturnType<typeof initialActivation> }) =>
  db
    .updateTable('contract as c')
    .from('vehicle as v')
    .set({
      provider: null,
      programs: sql<string[]>`'{}'`,
      activation: sql<'OFF'>`${p.activation}::text`,
      activation_reason: null,
      activation_changed_at: asTimestamptz(p.now),
    })
    .whereRef('v.id', '=', 'c.vehicle_id')
    .where('v.company', '=', p.company)
    .where('c.company', '=', p.company)
    .where('v.vin', '=', anyOfTexts(p.vins))
    .where('c.provider', '=', sql.lit(SANDBOX))
    .where('c.activation', '<>', sql.lit('ENDED'))
    .returning('c.id'),
);

/**
 * Has contracts that the sandbox carried out carried out by the providers that are set now; gives whether more may be left.
 * There is nothing to revoke.
 */
export async function forgetSandbox(ctx: Context): Promise<boolean> {
  const { manufacturers, changes } = ctx.services;
  if (manufacturers.activatorOf(SANDBOX)) return false;
  const rows = await findInvented(ctx, {});
  for (const [company, own] of Map.groupBy(rows, (row) => row.company)) {
    const given = { company, vins: own.map(({ vin }) => vin) };
    await transaction(ctx, async () => {
      await lockContracts(ctx, given);
      await forget(ctx, given);
      const settled = await settle(ctx, { ...systemOrigin(ctx), ...given });
      const begun = await begin(ctx, { ...given, now: ctx.now(), activation: initialActivation(ctx) });
      const ids = begun.map(({ id }) => id);
      await planContracts(ctx, { company, ids });
      if (settled.length > 0) announceEvents(ctx);
      changes.announceActivations(company, [...settled.map(({ id }) => id), ...ids]);
    });
  }
  changes.announce('due', 'activation');
  return rows.length === AT_ONCE;
}
