import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { World } from './support/world.ts';
import { requestOf, type Workload } from './workloads.ts';

interface Answering {
  name: string;
  url: string;
}

/** Members that differ in every response to a write. */
const NEW = /"(id|fleetId|vin|vat|createdAt|updatedAt|changedAt|pack)":\s*"[^"]*"/g;

/** Throws if the contenders' responses differ: a comparison would measure nothing. */
export async function checkSame(world: World, workload: Workload, contenders: readonly Answering[]): Promise<void> {
  await workload.supply?.(contenders.length);
  const marks = workload.question === 'writes' ? await lastEvents(world) : null;
  const answers: unknown[] = [];
  for (const { name, url } of contenders) {
    const { path, ...request } = requestOf(workload);
    const answer = await fetch(url + path, request);
    // Aliases of unique documents differ by their number.
    const whole = (await answer.text()).replaceAll(/"own\d+"/g, '"own"');
    const text = marks ? whole.replaceAll(NEW, '"$1":""') : whole;
    if (!answer.ok) throw new Error(`${workload.name}: ${name} answers ${answer.status} ${text.slice(0, 300)}`);
    const type = answer.headers.get('content-type') ?? '';
    answers.push(type.includes('json') ? { ...JSON.parse(text), extensions: undefined } : text);
  }
  for (const other of answers.slice(1)) deepStrictEqual(other, answers[0], workload.name);
  if (!marks) return;
  const [told, byFloor] = [await events(world, 'event', marks.event), await events(world, 'floor_event', marks.floor)];
  deepStrictEqual(told, byFloor, workload.name);
}

/** How long a server may continue with requests of closed connections, as those of the last row. */
const SETTLE_MS = 500;

/** The last event of each server, once both have stopped writing events. */
async function lastEvents(world: World): Promise<{ event: string; floor: string }> {
  const look = async () =>
    (
      await world.sql(
        `select (select coalesce(max(seq), 0) from event) as event, (select coalesce(max(seq), 0) from floor_event) as floor`,
      )
    )[0];
  for (let before = await look(); ; ) {
    await delay(SETTLE_MS);
    const now = await look();
    if (isDeepStrictEqual(now, before)) return now;
    before = now;
  }
}

/** Shapes of the events after `after`. */
function events(world: World, table: string, after: string) {
  return world.sql(
    `select type, actor, fleet_id is null as fleetless, contract_id is null as contractless, cardinality(vehicle_ids) as vehicles,
       cardinality(vins) as vins, array(select jsonb_object_keys(data) order by 1) as data
     from ${table} where seq > $1 order by type`,
    [after],
  );
}
