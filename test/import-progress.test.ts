import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { importChanges } from '../src/core/following/subscriptions.ts';
import type { Import } from '../src/core/imports/import.ts';
import { addVehicles, createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const other = await startGateway({ on: gateway });
const acme = await gateway.as('acme');

/** The states of an import as a process tells them that is not, or is, the one that stores it. */
async function statesAt(
  { services }: typeof gateway,
  importId: string,
): Promise<{ states: Import[]; ended: Promise<void> }> {
  const caller = { company: 'acme', subject: '', scopes: null, expiresAt: Number.POSITIVE_INFINITY };
  const states: Import[] = [];
  const following = await importChanges(
    contextOf(services, 'test', caller),
    { importId },
    new AbortController().signal,
  );
  const follow = async () => {
    for await (const state of following) states.push(state);
  };
  return { states, ended: follow() };
}

test('an import tells how much of a large file is stored, while it is stored, and each vehicle is stored once', async () => {
  const fleet = await createFleet(acme);
  const vins = newVins(60_000);
  const [known = '', twice = ''] = vins;
  await addVehicles(acme, [known], fleet);
  const importId = randomUUID();
  const { states, ended } = await statesAt(gateway, importId);
  const form = uploadForm(fleet.id, `vin\n${vins.toReversed().join('\n')}\nWBA\n${twice}\n`);
  const answer = await acme.post(`/vehicles/file?importId=${importId}`, form);
  expect(answer.body.summary).toEqual({ received: 60_002, created: 59_999, existing: 2, rejected: 1 });
  await ended;
  expect(states.at(-1)).toMatchObject({
    state: 'COMPLETED',
    received: 60_002,
    created: 59_999,
    existing: 2,
    rejected: 1,
  });
  const storing = states.slice(0, -1).filter(({ created }) => created > 0);
  expect(storing).not.toEqual([]);
  for (const { state, received, created, existing, rejected } of storing) {
    expect({ state, received, rejected }).toEqual({ state: 'RUNNING', received: 60_002, rejected: 1 });
    // By parts; what was there, or comes twice, is known before the first.
    expect([25_000, 50_000, 59_999]).toContain(created);
    expect(existing).toBe(2);
  }
  const [stored] = await gateway.execute<{ count: number; rising: boolean }>(`
    select count(*)::int as count, bool_and(vin > before) as rising
    from (select vin, lag(vin, 1, '') over (order by id) as before from vehicle where created_at > (
      select started_at from import where id = '${importId}') - interval '1 hour' and vin <> '${known}') as v`);
  expect(stored).toEqual({ count: 59_999, rising: true });
  expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(60_000);
});

test('a running import of another company is none', async () => {
  const fleet = await createFleet(acme);
  const importId = randomUUID();
  const upload = acme.post(`/vehicles/file?importId=${importId}`, uploadForm(fleet.id, newVins(30_000).join('\n')));
  const globex = await gateway.as('globex');
  const seen: number[] = [];
  let done = false;
  void upload.then(() => {
    done = true;
  });
  while (!done) seen.push((await globex.get(`/imports/${importId}`)).status);
  expect(new Set(seen)).toEqual(new Set([404]));
  expect((await other.anyone.get(`/imports/${importId}`)).status).toBe(401);
  expect((await acme.get(`/imports/${importId}`)).body.state).toBe('COMPLETED');
});
