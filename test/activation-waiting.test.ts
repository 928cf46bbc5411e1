import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { leftLines, reportActivations } from '../src/core/activation/activation-report.ts';
import { DAY, MINUTE, startActivations } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createContract, newVins } from './support/factories.ts';

const { gateway, upstream, clock, work, passTime, time } = await startActivations();
upstream.decide = () => ({ status: 'approved', afterMs: 10 * MINUTE });
upstream.endsAfterMs = MINUTE;
const inForce = { from: time(-MINUTE), to: time(365 * DAY) };
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');

const query = '{ providers { name contracts { toActivate activatingSince toRevoke revokingSince } } }';
/** In both interfaces, after their short cache. */
async function waitingFor(client: Client): Promise<Json> {
  passTime(0.2 * MINUTE);
  const [provider] = (await client.get('/providers')).body;
  const { body } = await client.post('/graphql', { query });
  expect(body.data.providers).toEqual([{ name: 'high-mobility', contracts: provider.contracts }]);
  return provider.contracts;
}
const nothing = { toActivate: 0, activatingSince: null, toRevoke: 0, revokingSince: null };

test('a provider says how many programs wait to begin and to end, and since when', async () => {
  expect(await waitingFor(acme)).toEqual(nothing);
  const vehicles = await addVehicles(acme, newVins(3));
  const [first, second] = [
    await createContract(acme, vehicles[0], inForce),
    await createContract(acme, vehicles[1], inForce),
  ];
  await work();
  const begun = await waitingFor(globex);
  expect(begun).toEqual({ ...nothing, toActivate: 2, activatingSince: expect.any(String) });
  expect(Date.parse(begun.activatingSince)).toBeGreaterThanOrEqual(Date.parse(first.createdAt));
  passTime(5 * MINUTE);
  await createContract(acme, vehicles[2], inForce);
  await work();
  expect(await waitingFor(acme)).toEqual({ ...begun, toActivate: 3 });

  passTime(30 * MINUTE);
  await work();
  expect(await waitingFor(acme)).toEqual(nothing);

  // Their end is confirmed a minute after it was asked for.
  passTime(60 * MINUTE);
  await acme.delete(`/contracts/${first.id}`);
  const deletedAt = gateway.services.clock();
  await acme.delete(`/contracts/${second.id}`);
  await work();
  const ending = await waitingFor(acme);
  expect(ending).toEqual({ ...nothing, toRevoke: 2, revokingSince: expect.any(String) });
  // Since nobody wants them, and not since they are active.
  expect(Date.parse(ending.revokingSince)).toBeGreaterThanOrEqual(deletedAt);
  passTime(10 * MINUTE);
  await work();
  expect(await waitingFor(acme)).toEqual(nothing);
});

test('the statement of docs/operations.md has all active programs looked at', async () => {
  const [, statement = ''] = /```sql\n( *with due as [^`]*)```/.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];
  const [vehicle] = await addVehicles(acme, newVins(1));
  const contract = await createContract(acme, vehicle, inForce);
  await work();
  passTime(11 * MINUTE);
  await work();
  Object.assign(upstream.clearanceOf(vehicle.vin) ?? {}, { status: 'revoked' });
  passTime(MINUTE);
  await gateway.execute(statement);
  await work();
  expect((await acme.get(`/contracts/${contract.id}`)).body.activation.state).toBe('REJECTED');
});

const { manufacturers, database } = gateway.services;
const auditing = { send: database.send, manufacturers, gap: 60 };
const lines = async () => leftLines(await reportActivations(auditing, new Date(clock())));

test('what was deleted while nothing was ended is told before it is ended', async () => {
  const [kept, gone, waiting] = await addVehicles(acme, newVins(3));
  const contracts: Json[] = [];
  for (const vehicle of [kept, gone, waiting]) contracts.push(await createContract(acme, vehicle, inForce));
  await createContract(acme, waiting, { ...inForce, pack: 'next', from: time(30 * MINUTE) });
  await work();
  for (const { id } of contracts.slice(1)) await acme.delete(`/contracts/${id}`);
  expect(await lines()).toEqual(['high-mobility is asked to end 1 program that no contract needs any more.']);
  await work();
  expect(await lines()).toEqual([]);
});

test('what ended while no process ran is told before it is ended', async () => {
  const vehicles = await addVehicles(acme, newVins(3));
  for (const vehicle of vehicles) await createContract(acme, vehicle, { ...inForce, to: time(60 * MINUTE) });
  await createContract(acme, vehicles[0], { ...inForce, pack: 'next', from: time(60 * MINUTE) });
  await work();
  passTime(20 * MINUTE);
  await work();
  expect(await lines()).toEqual([]);
  passTime(60 * MINUTE);
  expect(await lines()).toEqual(['high-mobility is asked to end 2 programs that no contract needs any more.']);
  await work();
  expect(await lines()).toEqual([]);
});
