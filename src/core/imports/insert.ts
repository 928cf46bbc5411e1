import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { isDeleting } from '../fleets/fleet.ts';
import { prepare } from '../sql/prepare.ts';
import { countWritten, onPrimary } from '../sql/send.ts';
import { newId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { makeWay } from '../vehicles/delete-vehicles.ts';
import { newVehiclesOf } from '../vehicles/insert-vehicles.ts';
import type { ImportRow } from './import-row.ts';
import { forgetBatches } from './run.ts';
import { tellOfStored } from './running.ts';
import { type Ids, insertStaged, orderStaged, vinsOfDeleted } from './staged.ts';

/** So many are stored in a few seconds by one statement, which costs up to a quarter less than parts that tell how far they are. */
const SOON_ROWS = 200_000;

const anyVehicle = prepare((p: { company: string }) =>
  db.selectFrom('vehicle').select('id').where('company', '=', p.company).limit(sql.lit(1)),
);

/** For fewer rows, looking up each while they are stored costs less than setting them aside once more. */
const FEW_ROWS = 1_000;

/** Stores the good rows of an import as vehicles, part by part where they are many; gives how many it has written. */
export async function insertVehicles(
  ctx: Context,
  run: ImportRow,
  ids: Ids,
  good: number,
  beside: boolean,
): Promise<number> {
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
  if (good <= (known ? FEW_ROWS : SOON_ROWS)) {
    return countWritten(ctx, insertStaged, { ...all, ...ids, importId, known, part: null });
  }
  const orderedId = newId();
  const parts = await orderStaged(onPrimary(ctx), { company, importId, orderedId, known });
  const existing = good - parts.reduce((sum, { rows }) => sum + rows, 0);
  let [created, passed] = [0, 0];
  for (const { part, rows } of parts.sort((one, other) => one.part - other.part)) {
    const next = { ...ids, start: ids.start + passed, importId: orderedId, known: null, part };
    created += await countWritten(ctx, insertStaged, { ...all, ...next });
    passed += rows;
    tellOfStored(ctx, run.id, { created, existing: existing + passed - created });
  }
  await forgetBatches(onPrimary(ctx), { company, id: orderedId });
  return created;
}
