import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { DAY, HOUR, MINUTE, startDecisions, stateOf } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { asAdmin } from './support/database.ts';
import { addVehicle, contractFields, createContract, newVin } from './support/factories.ts';
import { until } from './support/until.ts';

const { gateway, upstream, work, passTime, time, contract: begun } = await startDecisions();
const acme = await gateway.as('acme');

const of = ({ id }: Json) => `/contracts/${id}`;
const typesOf = async ({ vin }: Json, client = acme): Promise<string[]> =>
  (await client.get(`/events?vin=${vin}&limit=100`)).body
    .map(({ type }: Json) => type)
    .filter((type: string) => type.startsWith('contract.'));
const patch = async (one: Json, fields: Json, client = acme) => client.patch(of(one), fields);
/** The fault of a refused change, and that nothing was changed by it. */
async function refusal(one: Json, fields: Json): Promise<Json> {
  const { body: before } = await acme.get(of(one));
  const { status, body } = await patch(one, fields);
  expect((await acme.get(of(one))).body).toEqual(before);
  return [status, body.code, body.errors?.[0] ?? body.conflicts];
}

test('name, description and end are changed, by both interfaces, with an event that names the changes', async () => {
  const made = await createContract(acme);
  const { status, body } = await patch(made, {
    name: ' Fuel ',
    to: '2032-01-01T01:00:00+01:00',
    pack: 'other',
    vin: 'X',
  });
  expect({ status, body }).toEqual({ status: 200, body: { ...made, name: 'Fuel', to: '2032-01-01T00:00:00.000Z' } });
  expect((await acme.get(of(made))).body).toEqual(body);
  const query = `mutation ($input: UpdateContractInput!) { updateContract(input: $input) { contract { name description to } } }`;
  const answer = await acme.post('/graphql', { query, variables: { input: { id: made.id, description: 'Ours' } } });
  expect(answer.body.data.updateContract.contract).toEqual({ name: 'Fuel', description: 'Ours', to: body.to });
  await work();
  const { body: events } = await acme.get(`/events?vin=${made.vin}&type=contract.updated`);
  const { from, pack, manufacturer, vin, description } = made;
  const data = { name: 'Fuel', pack, from, to: body.to, manufacturer };
  expect(events).toMatchObject([
    {
      ...{ company: 'acme', fleetId: made.fleetId, contractId: made.id, vehicles: [{ vin }] },
      data: { ...data, changes: { name: { from: made.name, to: 'Fuel' }, to: { from: made.to, to: body.to } } },
    },
    { data: { ...data, changes: { description: { from: description, to: 'Ours' } } } },
  ]);
  const { body: told } = await acme.post('/graphql', {
    query: `{ event(id: "${events[0].id}") { type contract { id } data { ... on ContractUpdatedData { name to contractChanges { field from to } } } } }`,
  });
  expect(told.data.event).toEqual({
    type: 'CONTRACT_UPDATED',
    contract: { id: made.id },
    data: {
      name: 'Fuel',
      to: body.to,
      contractChanges: expect.arrayContaining([
        { field: 'NAME', from: made.name, to: 'Fuel' },
        { field: 'TO', from: made.to, to: body.to },
      ]),
    },
  });
  expect((await acme.get('/history')).body).toContainEqual(expect.objectContaining({ type: 'contract.updated' }));
});

test('the end is later than the beginning and than now, and that of a contract that is over stays', async () => {
  const scheduled = await createContract(acme);
  const mustBe = (message: unknown, code = 'INVALID_VALUE') => [
    400,
    'VALIDATION_FAILED',
    { path: 'to', code, message },
  ];
  expect(await refusal(scheduled, { to: scheduled.from })).toEqual(
    mustBe(`must be later than from, ${scheduled.from}`, 'INVALID'),
  );
  expect(await refusal(scheduled, {})).toEqual([400, 'VALIDATION_FAILED', undefined]);
  const one = await begun(acme, await addVehicle(acme), { from: time(-HOUR), to: time(10 * MINUTE) });
  expect(await refusal(one, { name: 'Ours', to: time(-6 * MINUTE) })).toEqual(
    mustBe(expect.stringMatching(/^must be later than now, /)),
  );
  passTime(10 * MINUTE);
  const over = mustBe(`cannot be changed: the contract ended at ${one.to}. Create a new one`);
  expect(await refusal(one, { to: time(DAY) })).toEqual(over);
  await work();
  expect(await refusal(one, { to: time(DAY) })).toEqual(over);
  expect((await patch(one, { name: 'Past', to: one.to })).body).toMatchObject({ name: 'Past', to: one.to });
});

test('an end does not move into another contract, which the error names', async () => {
  const vehicle = await addVehicle(acme);
  const [first, second] = [
    await createContract(acme, vehicle),
    await createContract(acme, vehicle, { from: '2032-01-01T00:00:00Z', to: '2033-01-01T00:00:00Z' }),
  ];
  await createContract(acme, vehicle, { pack: 'fuel', to: '2040-01-01T00:00:00Z' });
  expect((await patch(first, { to: second.from })).status).toBe(200);
  expect(await refusal(first, { to: '2032-01-01T00:00:00.001Z' })).toEqual([409, 'CONTRACT_OVERLAP', [second.id]]);
});

test('of an end and new contracts that take the same time, one does, and the others name it', async () => {
  for (let round = 0; round < 15; round++) {
    const vehicle = await addVehicle(acme);
    const first = await createContract(acme, vehicle);
    const period = { from: '2031-06-01T00:00:00Z', to: '2031-07-01T00:00:00Z' };
    const racing = [
      acme.post('/contracts', contractFields(vehicle, period)),
      patch(first, { to: '2031-08-01T00:00:00Z' }),
      acme.post('/contracts', contractFields(vehicle, { ...period, to: '2031-08-01T00:00:00Z' })),
    ];
    const answers = await Promise.all(racing);
    const [winner, ...others] = answers.filter(({ status }) => status < 300);
    expect([winner?.status, others]).toEqual([expect.any(Number), []]);
    for (const { body } of answers.filter(({ status }) => status > 300))
      expect([body.code, body.conflicts]).toEqual(['CONTRACT_OVERLAP', [winner?.body.id]]);
  }
});

test.skipIf(gateway.database.kind === 'embedded')(
  'an end waits for a new contract of the vehicle, and names it',
  async () => {
    const first = await createContract(acme);
    const creation = new pg.Client(asAdmin(gateway.env));
    await creation.connect();
    onTestFinished(() => creation.end());
    await creation.query('begin');
    await creation.query(`select from vehicle where vin = '${first.vin}' for no key update`);
    const { rows } = await creation.query(`insert into contract
      (company, id, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
    select company, gen_random_uuid(), fleet_id, vehicle_id, name, description, pack, ends_at, ends_at + interval '1 day', created_at
    from contract where id = '${first.id}' returning id`);
    const change = patch(first, { to: '2031-01-01T00:00:01Z' });
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await until(async () => (await gateway.execute(waiting)).length > 0);
    await creation.query('commit');
    expect(await change).toMatchObject({ status: 409, body: { code: 'CONTRACT_OVERLAP', conflicts: [rows[0].id] } });
  },
);

const isCleared = ({ vin }: Json) => upstream.clearanceOf(vin)?.status === 'approved';
async function activated(client: Client, to: number): Promise<Json> {
  const vehicle = await addVehicle(client, `${newVin(0, 'WBA').slice(0, 16)}0`);
  const one = await begun(client, vehicle, { from: time(-1000), to: time(to) });
  await work();
  passTime(20 * MINUTE);
  await work();
  expect([await stateOf(client, one), isCleared(one)]).toEqual([['ACTIVE'], true]);
  return one;
}

test('the manufacturer ends a contract at its new end, later or sooner', async () => {
  // Nothing else of this company comes due.
  const alone = await gateway.as('alone');
  const [later, sooner] = [await activated(acme, HOUR), await activated(alone, 30 * DAY)];
  const both = [[later, acme] as const, [sooner, alone] as const];
  for (const [one, client] of both) await patch(one, { to: time(2 * HOUR) }, client);
  passTime(HOUR + 30 * MINUTE);
  await work();
  for (const [one, client] of both) expect([await stateOf(client, one), isCleared(one)]).toEqual([['ACTIVE'], true]);
  passTime(30 * MINUTE);
  for (let n = 0; n < 3; n++) {
    await work();
    passTime(10 * MINUTE);
  }
  for (const [one, client] of both) {
    expect([await stateOf(client, one), isCleared(one)]).toEqual([['ENDED'], false]);
    const ended = ['contract.updated', 'contract.ended', 'contract.deactivated'];
    const before = ['contract.created', 'contract.started', 'contract.activated'];
    expect(await typesOf(one, client)).toEqual([...before, ...ended]);
  }
});

test('the manufacturer is asked about a contract whose end has moved, since its old end may just be carried out', async () => {
  const one = await activated(acme, DAY);
  upstream.received.length = 0;
  await patch(one, { name: 'Another', description: 'Another' });
  await work();
  expect(upstream.received).toEqual([]);
  passTime(MINUTE);
  await patch(one, { to: time(2 * DAY) });
  await work();
  expect(upstream.received.map(({ endpoint }) => endpoint)).not.toEqual([]);
  expect([await stateOf(acme, one), isCleared(one)]).toEqual([['ACTIVE'], true]);
});

test('a contract that has not begun starts as before, and ends at its new end', async () => {
  const one = await begun(acme, await addVehicle(acme), { from: time(HOUR), to: time(2 * DAY) });
  await patch(one, { to: time(2 * HOUR) });
  passTime(HOUR);
  await work();
  expect(await typesOf(one)).toEqual(['contract.created', 'contract.updated', 'contract.started']);
  passTime(HOUR);
  await work();
  expect((await typesOf(one)).at(-1)).toBe('contract.ended');
});
