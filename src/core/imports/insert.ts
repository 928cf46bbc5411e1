import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { isDeleting } from '../fleets/fleet.ts';
import { prepare } from '../sql/prepare.ts';
import { countWritten, onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';
import { makeWay } from '../vehicles/delete-vehicles.ts';
import { newVehiclesOf } from '../vehicles/insert-vehicles.ts';
import type { ImportRow } from './imports.ts';
import { type Ids, insertStaged, vinsOfDeleted } from './staged.ts';

const anyVehicle = prepare((p: { company: string }) =>
  db.selectFrom('vehicle').select('id').where('company', '=', p.company).limit(sql.lit(1)),
);

/** Stores the good rows of an import as vehicles; gives how many it has written. */
export async function insertVehicles(ctx: Context, run: ImportRow, ids: Ids, beside: boolean): Promise<number> {
  const { id: importId, company } = run;
  const [any] = await anyVehicle(onPrimary(ctx), { company });
  const known = any ? true : null;
  if (known && (await isDeleting(ctx, company))) {
    // Some at a time: a fleet that is uploaded again as soon as it was deleted may have millions.
    for (;;) {
      const deleted = await vinsOfDeleted(onPrimary(ctx), { importId, company });
      const vins = deleted.map(({ vin }) => vin);
      if (vins.length === 0) break;
      await makeWay(ctx, company, vins);
    }
  }
  const all = { ...newVehiclesOf(ctx, company, run.fleet_id), beside: beside || null };
  return countWritten(ctx, insertStaged, { ...all, ...ids, importId, known });
}
