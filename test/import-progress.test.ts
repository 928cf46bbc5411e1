import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { followImportChanges } from '../src/core/following/follow-import.ts';
import type { Import } from '../src/core/imports/imports.ts';
import type { Json } from './support/client.ts';
import { asAdmin } from './support/database.ts';
import { addVehicles, createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway();
const other = await startGateway({ on: gateway });
const acme = await gateway.as('acme');

/** The states of an import that a process sends: this one, which stores the import, or another one. */
async function statesAt(
  { services }: typeof gateway,
  importId: string,
): Promise<{ states: Import[]; ended: Promise<void> }> {
  const caller = { company: 'acme', subject: '', scopes: null, expiresAt: Number.POSITIVE_INFINITY };
  const states: Import[] = [];
  const following = await followImportChanges(
    contextOf(services, 'test', caller),
    { importId },
    new AbortController().signal,
  );
  const follow = async () => {
    for await (const state of following) states.push(state);
  };
  return { states, ended: follow() };
}

test('an import shows that a large file is being stored, and each vehicle is stored once', async () => {
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
  const storing = states.filter(({ state }) => state === 'STORING');
  // The embedded database sends no states while it stores.
  if (gateway.database.kind !== 'embedded') expect(storing).not.toEqual([]);
  for (const run of storing) {
    expect(run).toMatchObject({ received: 60_002, created: 0, existing: 0, rejected: 1, finishedAt: null });
    expect(Date.parse(run.storingSince ?? '')).toBeGreaterThanOrEqual(Date.parse(run.startedAt));
  }
  const [stored] = await gateway.execute<{ count: number; rising: boolean }>(`
    select count(*)::int as count, bool_and(vin > before) as rising
    from (select vin, lag(vin, 1, '') over (order by id) as before from vehicle where created_at > (
      select started_at from import where id = '${importId}') - interval '1 hour' and vin <> '${known}') as v`);
  expect(stored).toEqual({ count: 59_999, rising: true });
  expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(60_000);
});

test('a running import of another company is not found', async () => {
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

const MEMBERS =
  'id fleetId: fleet { id } state received created existing rejected: rejectedCount startedAt storingSince fileName sheet column finishedAt dryRun failure failureCode';

/** An import in every answer that shows it, by name. */
async function everySight(importId: string): Promise<Record<string, Import>> {
  const query = `query ($id: ID!) {
    import(id: $id) { ${MEMBERS} } node(id: $id) { ... on Import { ${MEMBERS} } }
    fleets { nodes { imports { nodes { ${MEMBERS} } } } }
  }`;
  const { data } = (await acme.post('/graphql', { query, variables: { id: importId } })).body;
  const listed = data.fleets.nodes
    .flatMap((fleet: Json) => fleet.imports.nodes)
    .find(({ id }: Json) => id === importId);
  const graphql = { import: data.import, node: data.node, imports: listed };
  const plain = ([name, { fleetId, ...run }]: [string, Json]) => [name, { ...run, fleetId: fleetId.id }];
  const [, followed = ''] = /^data: (.*)$/m.exec((await acme.get(`/imports/${importId}/events`)).body) ?? [];
  return {
    ...Object.fromEntries(Object.entries(graphql).map(plain)),
    rest: (await acme.get(`/imports/${importId}`)).body,
    events: JSON.parse(followed),
  };
}

async function expectOneSight(importId: string): Promise<void> {
  const { rest, ...others } = await everySight(importId);
  for (const [name, seen] of Object.entries(others)) expect(seen, name).toEqual(rest);
}

/** An upload whose file is sent in parts and ended by the test. */
async function beginUpload(fleetId: string) {
  const importId = randomUUID();
  const sending = request(`${gateway.url}/vehicles/file?fleetId=${fleetId}&importId=${importId}`, {
    method: 'POST',
    headers: { ...acme.headers, 'content-type': 'text/csv' },
    agent: false,
  });
  const answered = once(sending, 'response').then(([response]) => response.resume().statusCode as number);
  answered.catch(() => {});
  sending.on('error', () => {});
  onTestFinished(() => void sending.destroy());
  sending.write('vin\n');
  await until(async () => (await acme.get(`/imports/${importId}`)).status === 200);
  return { importId, sending, answered };
}

test('both interfaces show the same state of an import while its file arrives', async () => {
  const fleet = await createFleet(acme);
  const { importId, sending, answered } = await beginUpload(fleet.id);
  let sent = 'vin\n';
  // Sends parts of every size, with rejected rows.
  for (const [at, rows] of [6_000, 7_000, 5_001, 12_000, 800, 9_000].entries()) {
    const piece = `${newVins(rows).join('\n')}\n${'WBA\n'.repeat(at)}`;
    sending.write(piece);
    sent += piece;
    // The reader takes only full chunks of 64 kB before the end.
    const read = sent.slice(0, sent.length - 1 - ((sent.length - 1) % 65_536));
    const received = read.split('\n').length - 2;
    await until(async () => (await acme.get(`/imports/${importId}`)).body.received === received);
    await expectOneSight(importId);
  }
  sending.end();
  expect(await answered).toBe(201);
  await expectOneSight(importId);
});

test.skipIf(gateway.database.kind === 'embedded')('both interfaces agree while it is stored', async () => {
  const fleet = await createFleet(acme);
  await addVehicles(acme, newVins(1), fleet);
  const { importId, sending, answered } = await beginUpload(fleet.id);
  const vins = newVins(30_000);
  const holder = new pg.Client(asAdmin(gateway.env));
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  await holder.query(`select from fleet where company = '${fleet.company}' and id = '${fleet.id}' for update`);
  sending.end(`${vins.join('\n')}\n${vins[0]}\nWBA\n`);
  // The last batch waits for the lock of the fleet.
  const { body } = await until(async () => {
    const answer = await acme.get(`/imports/${importId}`);
    return answer.body.state === 'STORING' ? answer : null;
  });
  expect(body).toMatchObject({ received: 30_002, created: 0, existing: 0, rejected: 1 });
  await expectOneSight(importId);
  await holder.query('commit');
  expect(await answered).toBe(201);
  await expectOneSight(importId);
});

test('the counts of an import never decrease', async () => {
  const fleet = await createFleet(acme);
  await addVehicles(acme, newVins(1), fleet);
  const { importId, sending, answered } = await beginUpload(fleet.id);
  sending.end(`${newVins(60_000).join('\n')}\n`);
  const seen: Import[] = [];
  const ended = answered.then(() => true);
  for (let over: unknown = false; !over; over = await Promise.race([ended, false])) {
    const { body } = await acme.get(`/imports/${importId}`);
    if (body.state) seen.push(body);
  }
  for (const member of ['received', 'created', 'existing', 'rejected'] as const) {
    const numbers = seen.map((run) => run[member]);
    expect(numbers, member).toEqual(numbers.toSorted((a, b) => a - b));
  }
  const ending = seen.findIndex(({ state }) => state === 'COMPLETED');
  if (ending >= 0) expect(new Set(seen.slice(ending).map(({ state }) => state))).toEqual(new Set(['COMPLETED']));
});
