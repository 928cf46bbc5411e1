import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { type ClaimedProgram, claimDueActivations } from '../src/core/activation/due-activations.ts';
import { storeActivations } from '../src/core/activation/store-activations.ts';
import { touchActivations } from '../src/core/activation/touch-activations.ts';
import { contextOf } from '../src/core/context.ts';
import { publish } from '../src/jobs/publish-events.ts';
import { DAY, inForce, MINUTE, startDecisions, toolsOf } from './support/activations.ts';
import type { Answer, Json } from './support/client.ts';
import { asAdmin } from './support/database.ts';
import { addVehicles, contractFields, createFleet, newVins } from './support/factories.ts';
import { until } from './support/until.ts';

const { gateway, upstream, work, passTime } = await startDecisions();
const acme = await gateway.as('acme');
const job = () => contextOf(gateway.services, 'job', null);
const conditions = encodeURIComponent(JSON.stringify({ company: 'acme' }));
const contracts = async (): Promise<Json[]> => (await acme.get(`/contracts?conditions=${conditions}&limit=250`)).body;

/** Carries out whatever is left, and compares what the manufacturer has with the contracts. */
async function expectAgreement(vins: readonly string[]) {
  for (let n = 0; n < 8; n++) {
    await work();
    passTime(7 * 60 * MINUTE);
  }
  await work();
  const left = await contracts();
  const wanted = new Set(left.map(({ vin }) => vin));
  const cleared = vins.filter((vin) => ['approved', 'pending'].includes(upstream.clearanceOf(vin)?.status ?? ''));
  expect(cleared.toSorted()).toEqual([...wanted].toSorted());
  expect(new Set(left.map(({ activation }) => activation.state))).toEqual(new Set(left.length > 0 ? ['ACTIVE'] : []));
}

test('refreshes, bulk creations and deletions race each other, and nothing is lost or refused by a fault', async () => {
  const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
  const vins = newVins(12);
  const vehicles = await addVehicles(acme, vins, fleet);
  const { vin: _, ...terms } = contractFields({ fleetId: fleet.id, vin: '' }, inForce);
  const bulk = (pack: string, some: string[]) => acme.post('/contracts/bulk', { ...terms, pack, vins: some });
  const answers: Answer[] = [];
  for (let round = 0; round < 5; round++) {
    const own = await contracts();
    const ids = own.map(({ id }) => id);
    const refresh = (some: string[]) =>
      acme.post('/graphql', {
        query: 'mutation ($input: RefreshActivationInput!) { refreshActivation(input: $input) { notFound } }',
        variables: { input: { ids: some } },
      });
    const gone = own.slice(0, 4);
    const racing = [
      bulk('a', vins),
      bulk('a', vins.toReversed()),
      bulk('b', vins.slice(4)),
      ...(ids.length > 0 ? [refresh(ids), refresh(ids.toReversed())] : []),
      ...gone.map(({ id }) => acme.delete(`/contracts/${id}`)),
      ...own.slice(2, 6).map(({ id }) => acme.post(`/contracts/${id}/activation/refresh`)),
      acme.post('/vehicles/move', { fleetId: other.id, vins: vins.slice(10) }),
      acme.delete(`/vehicles/${vehicles[round].id}`),
      work(),
    ];
    for (const answer of await Promise.all(racing)) if (answer) answers.push(answer);
    passTime(20 * MINUTE);
  }
  const statuses = [...new Set(answers.map(({ status }) => status))].toSorted();
  expect(statuses.filter((status) => ![200, 201, 202, 204, 400, 404].includes(status))).toEqual([]);
  for (const { body } of answers) expect(JSON.stringify(body ?? '')).not.toMatch(/INTERNAL|UNAVAILABLE/);

  // Of two creations of the same contracts, one has each vehicle, and the other names it as the conflict.
  const all = await contracts();
  const keys = all.map(({ vin, pack }) => `${vin} ${pack}`);
  expect(new Set(keys).size).toBe(keys.length);
  await expectAgreement(vins);
  for (const { id } of await contracts()) await acme.delete(`/contracts/${id}`);
  await expectAgreement(vins);
});

test('of two bulk creations at once, each vehicle is created once and named once', async () => {
  const fleet = await createFleet(acme);
  const vins = newVins(50);
  await addVehicles(acme, vins, fleet);
  const { vin: _, ...terms } = contractFields({ fleetId: fleet.id, vin: '' }, inForce);
  const both = await Promise.all(
    [vins, vins.toReversed()].map((some) => acme.post('/contracts/bulk', { ...terms, vins: some })),
  );
  const made = both.flatMap(({ status, body }) => (status === 201 ? body.contracts : []));
  const refused = both.flatMap(({ status, body }) => (status === 201 ? body.rejected : body.rejectedContracts));
  expect(made.map(({ vin }: Json) => vin).toSorted()).toEqual(vins.toSorted());
  expect(refused.map(({ vin }: Json) => vin).toSorted()).toEqual(vins.toSorted());
  const ids = new Map(made.map(({ vin, id }: Json) => [vin, id]));
  for (const { vin, code, conflicts } of refused)
    expect([code, conflicts]).toEqual(['CONTRACT_OVERLAP', [ids.get(vin)]]);
  await acme.delete('/contracts', { ids: [...ids.values()] });
  await expectAgreement(vins);
});

test('what changes while its program is asked about is looked at as soon as the answer is stored', async () => {
  const [vin = ''] = newVins(1);
  const [vehicle] = await addVehicles(acme, [vin]);
  const { body: contract } = await acme.post('/contracts', contractFields(vehicle as Json, inForce));
  await publish(toolsOf(gateway)).run(new AbortController().signal);
  // Programs of other tests may be due, too.
  const program = (await claimDueActivations(job(), 'acme', 100)).find((one) => one.vin === vin);
  expect(program).toMatchObject({ vin, wanted: true });
  expect(await acme.delete(`/contracts/${contract.id}`)).toMatchObject({ status: 204 });
  const now = job().now().toISOString();
  const due = `select claimed_by is null and due_at <= '${now}'::timestamptz + interval '1 s' as due from activation where vin = '${vin}'`;
  expect(await gateway.execute(due)).toEqual([{ due: false }]);
  const answer = { outcome: 'STANDS', state: 'ACTIVE', reason: null, raw: null, looked: true } as const;
  await storeActivations(job(), 'acme', [{ program: program as ClaimedProgram, answer }]);
  expect(await gateway.execute(due)).toEqual([{ due: true }]);
  await expectAgreement([vin]);
});

test.skipIf(gateway.database.kind === 'embedded')(
  'answers are stored while the same programs are made due, and neither waits for the other in vain',
  async () => {
    const vins = newVins(40).toSorted();
    const [{ fleetId }] = (await addVehicles(acme, vins)) as [Json];
    const { vin: _, ...terms } = contractFields({ fleetId, vin: '' }, inForce);
    await acme.post('/contracts/bulk', { ...terms, vins });
    await publish(toolsOf(gateway)).run(new AbortController().signal);
    // Among many rows, each is found by an index.
    await gateway.execute(`insert into activation (company, id, vin, provider, program, brand, changed_at)
      select 'globex', new_uuid(), 'VIN ' || n, 'high-mobility', '', 'bmw', now() from generate_series(1, 20000) n`);
    await gateway.execute('analyze activation');
    const claimed = await claimDueActivations(job(), 'acme', 1000);
    const answer = { outcome: 'STANDS', state: 'ACTIVE', reason: null, raw: null, looked: true } as const;
    const asked = claimed.toSorted((a, b) => (a.vin < b.vin ? 1 : -1)).map((program) => ({ program, answer }));
    const long = new pg.Client(asAdmin(gateway.env));
    await long.connect();
    onTestFinished(() => long.end());
    await long.query('begin');
    await long.query('select from activation where vin = $1 for update', [vins[20]]);
    const both = Promise.all([
      storeActivations(job(), 'acme', asked),
      touchActivations(
        job(),
        vins.map((vin) => ({ company: 'acme', vin })),
      ),
    ]);
    await until(async () => (await gateway.execute('select from pg_locks where not granted')).length > 1);
    await long.query('rollback');
    await both;
  },
);

test.skipIf(gateway.database.kind === 'embedded')(
  'a program that is wanted anew while its last answer is stored is due at once',
  async () => {
    const [vin = ''] = newVins(1);
    const [vehicle] = await addVehicles(acme, [vin]);
    const { body: contract } = await acme.post('/contracts', contractFields(vehicle as Json, inForce));
    await publish(toolsOf(gateway)).run(new AbortController().signal);
    await acme.delete(`/contracts/${contract.id}`);
    const program = (await claimDueActivations(job(), 'acme', 1000)).find((one) => one.vin === vin) as ClaimedProgram;
    expect(program).toMatchObject({ wanted: false, asked: false });
    const other = new pg.Client(asAdmin(gateway.env));
    await other.connect();
    onTestFinished(() => other.end());
    await other.query('begin');
    await other.query('update activation set touched = true where vin = $1', [vin]);
    // Nobody was asked for it: without that, its row would go.
    const answer = { outcome: 'STANDS', state: 'ENDED', reason: null, raw: null } as const;
    const stored = storeActivations(job(), 'acme', [{ program, answer }]);
    await until(async () => (await gateway.execute('select from pg_locks where not granted')).length > 0);
    await other.query('commit');
    await stored;
    const now = job().now().toISOString();
    const due = `select claimed_by is null and due_at <= '${now}'::timestamptz + interval '1 s' as due from activation where vin = '${vin}'`;
    expect(await gateway.execute(due)).toEqual([{ due: true }]);
  },
);

test.skipIf(gateway.database.kind === 'embedded')(
  'what a deletion changes while a batch is being claimed is seen by that claim or the next',
  async () => {
    const vins = newVins(2);
    const made = [];
    for (const vehicle of await addVehicles(acme, vins))
      made.push((await acme.post('/contracts', contractFields(vehicle, inForce))).body);
    await work();
    passTime(20 * MINUTE);
    await work();
    const [first, second] = made as [Json, Json];
    const statusOf = ({ vin }: Json) => upstream.clearanceOf(vin)?.status;
    expect([statusOf(first), statusOf(second)]).toEqual(['approved', 'approved']);
    // Programs of other tests may be due, too.
    await gateway.execute('update activation set due_at = null');
    for (const { id } of [first, second]) {
      passTime(MINUTE);
      await acme.patch(`/contracts/${id}`, { to: new Date(job().now().getTime() + 60 * DAY).toISOString() });
    }
    // The deletion waits before it commits, and the claim at the first of its programs.
    const gates = new pg.Client(asAdmin(gateway.env));
    await gates.connect();
    await gates.query(`create function wait_at() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint); return new; end $$;
      create constraint trigger deletion after update on activation deferrable initially deferred for each row
        when (new.vin = '${second.vin}' and new.claimed_by is null) execute function wait_at(1);
      create trigger claim before update on activation for each row
        when (new.vin = '${first.vin}' and new.claimed_by is not null) execute function wait_at(2)`);
    onTestFinished(async () => {
      await gates.query('drop function wait_at cascade');
      await gates.end();
    });
    await gates.query('select pg_advisory_lock(1), pg_advisory_lock(2)');
    const waiting = async (count: number) =>
      (await gateway.execute('select from pg_locks where not granted')).length === count;
    const deleted = acme.delete(`/contracts/${second.id}`);
    await until(() => waiting(1));
    const claimed = claimDueActivations(job(), 'acme', 1000);
    await until(() => waiting(2));
    await gates.query('select pg_advisory_unlock(1)');
    expect((await deleted).status).toBe(204);
    await gates.query('select pg_advisory_unlock(2)');
    const programs = await claimed;
    expect(programs[0]?.vin).toBe(first.vin);
    const answer = { outcome: 'STANDS', state: 'ACTIVE', reason: null, raw: null, looked: true } as const;
    await storeActivations(
      job(),
      'acme',
      programs.map((program) => ({ program, answer })),
    );
    passTime(MINUTE);
    await work();
    expect([statusOf(first), statusOf(second)]).toEqual(['approved', 'revoking']);
  },
);
