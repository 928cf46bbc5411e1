import { hash, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { graphqlSchema } from '../src/graphql/schema/schema.ts';
import type { Client } from './support/client.ts';
import { addVehicle, contractFields, createContract, createFleet, newVin } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();

const mutation = `mutation Create($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id name } } }`;
const fields = (name: string) => ({ name, companyAddress: 'Main Street 1', email: 'fleet@example.com', vat: 'DE1' });

const hook = { url: 'https://example.com/hook' };
const newHook = async (client: Client): Promise<string> => (await client.post('/webhooks', hook)).body.id;

describe('GraphQL: Idempotency-Key', () => {
  const create = async (key: string, name: string, query = mutation) => {
    const client = await gateway.as('keys');
    const answer = await client.post(
      '/graphql',
      { query, variables: { input: fields(name) } },
      { 'idempotency-key': key },
    );
    return { status: answer.status, body: answer.body };
  };

  test('parallel repetitions of a mutation make one fleet, and get one answer', async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(key, 'Once')));
    const again = await create(key, 'Once');
    const ids = [...answers, again].flatMap(({ body }) => body.data?.createFleet?.fleet?.id ?? []);
    expect(new Set(ids).size).toBe(1);
    const refused = answers.filter(({ body }) => body.errors).map(({ body }) => body.errors[0].extensions.code);
    expect(new Set(refused).isSubsetOf(new Set(['IDEMPOTENCY_IN_PROGRESS']))).toBe(true);
  });

  test('the same key with other variables is IDEMPOTENCY_KEY_REUSED', async () => {
    const key = randomUUID();
    await create(key, 'First');
    const { status, body } = await create(key, 'Second');
    expect([status, body.errors[0].extensions.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  test('variables of equal values are the same request, whatever the order of their members', async () => {
    const client = await gateway.as('keys');
    const key = { 'idempotency-key': randomUUID() };
    const input = fields('In order');
    const first = await client.post('/graphql', { query: mutation, variables: { input } }, key);
    const reversed = Object.fromEntries(Object.entries(input).toReversed());
    const again = await client.post('/graphql', { variables: { input: reversed }, query: mutation }, key);
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('what the version before has stored is known: it compared the order of members, too', async () => {
    const key = randomUUID();
    const { body } = await create(key, 'Before');
    const request = hash('sha256', JSON.stringify([mutation, { input: fields('Before') }, null]));
    await gateway.execute(`update idempotency_key set request = '${request}' where key = '${key}'`);
    expect(await create(key, 'Before')).toEqual({ status: 200, body });
    expect(await create(key, 'After')).toMatchObject({ status: 422 });
  });

  test('an error is replayed like any answer, with the same message', async () => {
    const key = randomUUID();
    const refusals = [(await create(key, '')).body, (await create(key, '')).body];
    const told = refusals.map(({ data, errors }) => {
      const [{ extensions, ...error }] = errors;
      return { data, error, extensions: { ...extensions, requestId: '' } };
    });
    expect(told[0]).toMatchObject({
      data: { createFleet: null },
      error: { path: ['createFleet'] },
      extensions: { code: 'VALIDATION_FAILED' },
    });
    expect(told[1]).toEqual(told[0]);
    const other = await create(key, 'Mended');
    expect([other.status, other.body.errors[0].extensions.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  test('an error below the mutation undoes it, and is not stored', async () => {
    const key = randomUUID();
    const query = `mutation Create($input: CreateFleetInput!) {
      createFleet(input: $input) { fleet { id timeline(after: "nonsense") { totalCount } } } }`;
    for (let time = 0; time < 2; time++) {
      const { body } = await create(key, 'Torn', query);
      expect(body.errors[0]).toMatchObject({ path: ['createFleet', 'fleet', 'timeline'] });
    }
    const { body: fleets } = await (await gateway.as('keys')).get('/fleets');
    expect(fleets.filter((fleet: { name: string }) => fleet.name === 'Torn')).toEqual([]);
    expect((await create(key, 'Whole')).body.data.createFleet.fleet.name).toBe('Whole');
  });

  test('a mutation of two fields cannot have a key', async () => {
    const query = `mutation Two($input: CreateFleetInput!) {
      a: createFleet(input: $input) { fleet { id } } b: createFleet(input: $input) { fleet { id } } }`;
    const { body } = await create(randomUUID(), 'Two', query);
    expect(body.errors[0].extensions.code).toBe('VALIDATION_FAILED');
  });

  const newDelivery = async (client: Client) => {
    const webhookId = await newHook(client);
    return { webhookId, deliveryId: (await client.post(`/webhooks/${webhookId}/test`)).body.id };
  };
  /** An input for each mutation; a new mutation needs one here. The import identifies repeated uploads. */
  const inputs: Record<string, (client: Client) => Promise<unknown>> = {
    createFleet: async () => fields('Every'),
    updateFleet: async (client) => ({ id: (await createFleet(client)).id, name: 'Changed' }),
    deleteFleet: async (client) => ({ id: (await createFleet(client)).id }),
    addVehicles: async (client) => ({ fleetId: (await createFleet(client)).id, vins: [newVin()] }),
    deleteVehicle: async (client) => ({ id: (await addVehicle(client)).id }),
    deleteVehicles: async (client) => {
      const { fleetId, vin } = await addVehicle(client);
      return { fleetId, vins: [vin] };
    },
    moveVehicles: async (client) => {
      const { vin } = await addVehicle(client);
      return { fleetId: (await createFleet(client)).id, vins: [vin] };
    },
    verifyEligibility: async (client) => ({ vins: [(await addVehicle(client)).vin] }),
    createContract: async (client) => contractFields(await addVehicle(client)),
    createContracts: async (client) => {
      const { vin, ...terms } = contractFields(await addVehicle(client));
      return { ...terms, vins: [vin] };
    },
    refreshActivation: async (client) => ({ ids: [(await createContract(client)).id] }),
    updateContract: async (client) => ({ id: (await createContract(client)).id, name: 'Changed' }),
    deleteContract: async (client) => ({ id: (await createContract(client, await addVehicle(client))).id }),
    deleteContracts: async (client) => ({ ids: [(await createContract(client)).id] }),
    endContract: async (client) => {
      const from = new Date(Date.now() - 60_000).toISOString();
      return { id: (await createContract(client, undefined, { from })).id };
    },
    endContracts: async (client) => ({ ids: [(await createContract(client)).id] }),
    createWebhook: async () => hook,
    updateWebhook: async (client) => ({ id: await newHook(client), description: 'Changed' }),
    deleteWebhook: async (client) => ({ id: await newHook(client) }),
    rotateWebhookSecret: async (client) => ({ id: await newHook(client) }),
    testWebhook: async (client) => ({ id: await newHook(client) }),
    redeliver: newDelivery,
    redeliverWebhookDelivery: newDelivery,
  };
  const mutations = Object.values(graphqlSchema.getMutationType()?.getFields() ?? {});
  test.each(mutations.map(({ name }) => name).filter((name) => name !== 'importVehicles'))(
    'applies to %s',
    async (name) => {
      const client = await gateway.as('every');
      const input = await inputs[name]?.(client);
      const type = mutations.find((one) => one.name === name)?.args[0]?.type;
      const send = async (key: string, alias: string) =>
        (
          await client.post(
            '/graphql',
            {
              query: `mutation ($input: ${type}) { ${alias}: ${name}(input: $input) { __typename } }`,
              variables: { input },
            },
            { 'idempotency-key': key },
          )
        ).body;
      const key = randomUUID();
      const first = await send(key, 'a');
      expect(first.errors).toBeUndefined();
      // Most mutations could not run twice: a deleted object, for example, is missing the second time.
      expect(await send(key, 'a')).toMatchObject({ data: first.data });
      expect((await send(key, 'b')).errors[0].extensions.code).toBe('IDEMPOTENCY_KEY_REUSED');
    },
  );
});
