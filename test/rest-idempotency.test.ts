import { hash } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { routes } from '../src/rest/router.ts';
import type { Json } from './support/client.ts';
import { addVehicle, contractFields, createContract, createFleet, fleetFields, newVin } from './support/factories.ts';
import { startGateway, testIssuer } from './support/gateway.ts';

const issuer = await testIssuer();
const gateway = await startGateway({ issuer });
const acme = await gateway.as('acme');

let lastKey = 0;
const newKey = () => ({ 'idempotency-key': `key-${++lastKey}` });
const fleetsNamed = async (name: string) =>
  (await acme.get('/fleets')).body.filter((fleet: Json) => fleet.name === name);

describe('Idempotency-Key', () => {
  test('40 parallel retries of one request make one fleet; each gets its answer or 409 with Retry-After', async () => {
    const key = newKey();
    const fields = { ...fleetFields, name: 'Once' };
    const answers = await Promise.all(Array.from({ length: 40 }, () => acme.post('/fleets', fields, key)));
    const made = answers.filter(({ status }) => status === 201);
    const early = answers.filter(({ status }) => status === 409);
    expect(made.length + early.length).toBe(40);
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1);
    for (const { headers, body } of early) {
      expect(body.code).toBe('IDEMPOTENCY_IN_PROGRESS');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(await fleetsNamed('Once')).toHaveLength(1);
  });

  test('a repetition gets the stored answer again: status, Location and body', async () => {
    const key = newKey();
    const first = await acme.post('/fleets', fleetFields, key);
    await acme.delete(`/fleets/${first.body.id}`);
    const again = await acme.post('/fleets', fleetFields, key);
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('location')).toBe(`/fleets/${first.body.id}`);
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
  });

  test('another body, query or address with the same key is 422', async () => {
    const key = newKey();
    const { body: fleet } = await acme.post('/fleets', fleetFields, key);
    const other = { ...fleetFields, name: 'Other' };
    for (const answer of [
      await acme.post('/fleets', other, key),
      await acme.post('/fleets?x=1', fleetFields, key),
      await acme.post('/vehicles', { fleetId: fleet.id, vins: [newVin()] }, key),
    ]) {
      expect(answer).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    }
    expect(await fleetsNamed('Other')).toEqual([]);
  });

  const asJson = { 'content-type': 'application/json' };
  const members = Object.entries({ ...fleetFields, note: 1 }).map(
    ([name, value]) => `"${name}":${JSON.stringify(value)}`,
  );
  const text = (...more: string[]) => `{${[...members, ...more].join()}}`;

  test.each([
    ['members in another order', `{${members.toReversed().join()}}`],
    ['blanks and line breaks', `\n{ ${members.join(' ,\r\n\t')} }\n`],
    ['escapes', text().replace('Field', String.raw`\u0046ield`)],
    ['another text of a number', text().replace(':1}', ':1.0e0}')],
    ['a member twice, the last of which counts', `{"name":"Other",${members.join()}}`],
  ])('equal JSON is the same request: %s', async (_, again) => {
    const key = { ...newKey(), ...asJson };
    const { body } = await acme.post('/fleets', text(), key);
    const repeated = await acme.post('/fleets', again, key);
    expect(repeated).toMatchObject({ status: 201, body });
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
  });

  test.each([
    ['a list in another order', '[1,2]', '[2,1]'],
    ['a list with more in it', '[[1],2]', '[[1,2]]'],
    ['an object for a list', '["a",1]', '{"a":1}'],
    ['a text for a number', '1', '"1"'],
    ['a number beyond all others for null', '1e400', 'null'],
    ['nothing for null', '{}', '{"b":null}'],
    ['a name for its value', '{"a":"b"}', '{"b":"a"}'],
    ['the member __proto__', '{"__proto__":1}', '{"__proto__":2}'],
  ])('other JSON is another request: %s', async (_, first, other) => {
    const key = { ...newKey(), ...asJson };
    expect(await acme.post('/fleets', text(`"x":${first}`), key)).toMatchObject({ status: 201 });
    expect(await acme.post('/fleets', text(`"x":${first}`), key)).toMatchObject({ status: 201 });
    expect(await acme.post('/fleets', text(`"x":${other}`), key)).toMatchObject({ status: 422 });
  });

  test('JSON of any depth may have a key', async () => {
    const key = { ...newKey(), ...asJson };
    const levels = 200_000;
    const deep = `"x":${'['.repeat(levels)}${']'.repeat(levels)}`;
    const { body } = await acme.post('/fleets', text(deep), key);
    expect(await acme.post('/fleets', `{ ${deep},${members.join()}}`, key)).toMatchObject({ status: 201, body });
  });

  test('what the version before has stored is known: it compared the bytes of bodies', async () => {
    const vehicle = await addVehicle(acme);
    const sent = [
      { client: acme, path: '/fleets', body: fleetFields },
      { client: gateway.anyone, path: '/contracts', body: contractFields(vehicle) },
    ];
    for (const { client, path, body } of sent) {
      const key = newKey();
      const first = await client.post(path, body, key);
      const request = hash('sha256', `POST ${path} ${hash('sha256', JSON.stringify(body))}`);
      const { 'idempotency-key': name } = key;
      await gateway.execute(`update idempotency_key set request = '${request}',
        key = case when company = '' then '${name} ${request}' else key end where split_part(key, ' ', 1) = '${name}'`);
      const again = await client.post(path, body, key);
      expect(again).toMatchObject({ status: 201, body: first.body });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      const other = await client.post(path, { ...body, name: 'Other' }, key);
      expect(other).toMatchObject({ status: client === acme ? 422 : 409 });
    }
  });

  test('another company may use the same key', async () => {
    const globex = await gateway.as('globex');
    const key = newKey();
    const [one, other] = [await acme.post('/fleets', fleetFields, key), await globex.post('/fleets', fleetFields, key)];
    expect([one, other]).toMatchObject([
      { status: 201, body: { company: 'acme' } },
      { status: 201, body: { company: 'globex' } },
    ]);
    expect(other.headers.has('idempotent-replayed')).toBe(false);
  });

  test('an error is stored like any answer: the corrected request needs a new key', async () => {
    const key = newKey();
    const wrong = { ...fleetFields, email: 'no' };
    const [first, again] = [await acme.post('/fleets', wrong, key), await acme.post('/fleets', wrong, key)];
    expect(first).toMatchObject({ status: 400, body: { errors: [{ path: 'email' }] } });
    const requestId = again.headers.get('x-request-id');
    expect(again).toMatchObject({ status: 400, body: { ...first.body, requestId } });
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect(await acme.post('/fleets', fleetFields, key)).toMatchObject({ status: 422 });
    expect(await acme.post('/fleets', fleetFields, newKey())).toMatchObject({ status: 201 });
  });

  test('an error is replayed even if the request would succeed by now', async () => {
    const vehicle = await addVehicle(acme);
    const { body: contract } = await acme.post('/contracts', contractFields(vehicle));
    const key = newKey();
    const overlap = { status: 409, body: { code: 'CONTRACT_OVERLAP', conflicts: [contract.id] } };
    expect(await acme.post('/contracts', contractFields(vehicle), key)).toMatchObject(overlap);
    await acme.delete(`/contracts/${contract.id}`);
    expect(await acme.post('/contracts', contractFields(vehicle), key)).toMatchObject(overlap);
    expect(await acme.post('/contracts', contractFields(vehicle), newKey())).toMatchObject({ status: 201 });
    const vins = ['SHORT', 'WBA0000000000000O'];
    const { body } = await acme.post('/vehicles', { fleetId: vehicle.fleetId, vins }, key);
    expect(body.code).toBe('IDEMPOTENCY_KEY_REUSED');
    const other = newKey();
    const refused = await acme.post('/vehicles', { fleetId: vehicle.fleetId, vins }, other);
    const { requestId: _, ...report } = (await acme.post('/vehicles', { fleetId: vehicle.fleetId, vins }, other)).body;
    expect(refused).toMatchObject({ status: 400, body: report });
    expect(report.rejected).toHaveLength(2);
  });

  test('answers unrelated to the request are not stored: 503, and missing permission', async () => {
    const key = newKey();
    const fields = { ...fleetFields, name: 'In the end' };
    expect(await gateway.anyone.post('/fleets', fields, key)).toMatchObject({ status: 401 });
    const scoped = await startGateway({ on: gateway, issuer, settings: { AUTH_SCOPES: 'on' } });
    const reader = await scoped.as('acme', { scope: 'fleets:read' });
    expect(await reader.post('/fleets', fields, key)).toMatchObject({ status: 403 });
    const add = vi.spyOn(gateway.database.orm.em, 'fork').mockImplementationOnce(() => {
      throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
    });
    expect(await acme.post('/fleets', fields, key)).toMatchObject({ status: 503 });
    add.mockRestore();
    expect(await acme.post('/fleets', fields, key)).toMatchObject({ status: 201 });
    expect(await fleetsNamed('In the end')).toHaveLength(1);
  });

  test('a late error undoes earlier changes, and is stored', async () => {
    const [fleet, key, vins] = [await createFleet(acme), newKey(), [newVin(), newVin()]];
    // The vehicles are stored and their event is refused, as if the fleet were deleted in between.
    await gateway.execute(
      `alter table event add constraint import_fleet_id_fkey check (type <> 'vehicle.added') not valid`,
    );
    const add = () => acme.post('/vehicles', { fleetId: fleet.id, vins }, key);
    const refused = { status: 404, body: { code: 'FLEET_NOT_FOUND' } };
    expect(await add()).toMatchObject(refused);
    await gateway.execute('alter table event drop constraint import_fleet_id_fkey');
    expect(await add()).toMatchObject(refused);
    expect((await acme.get(`/fleets/${fleet.id}/vehicles`)).body).toEqual([]);
  });

  test('callers without a token are separated by request: none can use another’s key', async () => {
    const vehicles = [await addVehicle(acme), await addVehicle(await gateway.as('globex'))];
    const key = newKey();
    const made = [];
    for (const vehicle of vehicles) made.push(await gateway.anyone.post('/contracts', contractFields(vehicle), key));
    expect(made).toMatchObject([
      { status: 201, body: { company: 'acme' } },
      { status: 201, body: { company: 'globex' } },
    ]);
    for (const [at, vehicle] of vehicles.entries()) {
      const again = await gateway.anyone.post('/contracts', contractFields(vehicle), key);
      expect(again).toMatchObject({ status: 201, body: made[at]?.body });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    }
    // Callers with a token have separate keys, too.
    expect(await acme.post('/contracts', contractFields(vehicles[0]), key)).toMatchObject({
      status: 409,
      body: { code: 'CONTRACT_OVERLAP' },
    });
  });

  test('a secret is stored only with its webhook, from which a repetition reads it', async () => {
    const url = 'https://example.com/secret';
    const key = newKey();
    const [first, again] = [await acme.post('/webhooks', { url }, key), await acme.post('/webhooks', { url }, key)];
    expect(again).toMatchObject({ status: 201, body: first.body });
    const rotation = newKey();
    const rotate = () => acme.post(`/webhooks/${first.body.id}/rotate`, undefined, rotation);
    const rotated = await rotate();
    expect((await rotate()).body).toEqual(rotated.body);
    const graphql = newKey();
    const query = `mutation ($input: CreateWebhookInput!) {
      createWebhook(input: $input) { mine: secret webhook { id description } also: secret } }`;
    // Placeholder-like text in a stored answer remains text.
    const input = { url, description: String.raw`\u0001 \\u0001` };
    const create = async () => (await acme.post('/graphql', { query, variables: { input } }, graphql)).body.data;
    const { createWebhook } = await create();
    expect(await create()).toEqual({ createWebhook });
    expect(createWebhook.webhook.description).toBe(input.description);
    const secrets = [first.body.secret, rotated.body.secret, createWebhook.mine, createWebhook.also];
    expect(secrets).toEqual(secrets.map(() => expect.stringMatching(/^whsec_/)));
    const tables = await gateway.execute<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = current_schema and table_type = 'BASE TABLE'`,
    );
    const holding: string[] = [];
    for (const { name } of tables) {
      const [row] = await gateway.execute(`select from "${name}" t where t::text like any
        (array[${secrets.map((secret) => `'%${secret.slice(6)}%'`).join()}]) limit 1`);
      if (row) holding.push(name);
    }
    expect(holding).toEqual(['webhook']);
    // After the next rotation, a repetition has the present secret.
    const { secret } = (await acme.post(`/webhooks/${first.body.id}/rotate`)).body;
    expect((await rotate()).body).toEqual({ ...rotated.body, secret });
    await acme.delete(`/webhooks/${first.body.id}`);
    expect(await rotate()).toMatchObject({ status: 404, body: { code: 'WEBHOOK_NOT_FOUND' } });
    expect(await acme.post('/webhooks', { url }, key)).toMatchObject({ status: 404 });
    expect(await create()).toEqual({ createWebhook });
  });

  const newHook = async () => (await acme.post('/webhooks', { url: 'https://example.com/hook' })).body.id;
  /** A request for each POST; a new POST needs one here. The import identifies repeated uploads. */
  const posts: Record<string, () => Promise<readonly [path: string, body?: unknown]>> = {
    '/fleets': async () => ['/fleets', fleetFields],
    '/vehicles': async () => ['/vehicles', { fleetId: (await createFleet(acme)).id, vins: [newVin()] }],
    '/vehicles/delete': async () => {
      const { fleetId, id } = await addVehicle(acme);
      return ['/vehicles/delete', { fleetId, ids: [id] }];
    },
    '/vehicles/move': async () => {
      const { id } = await addVehicle(acme);
      return ['/vehicles/move', { fleetId: (await createFleet(acme)).id, ids: [id] }];
    },
    '/vehicles/eligibility/:vin/refresh': async () => [`/vehicles/eligibility/${(await addVehicle(acme)).vin}/refresh`],
    '/contracts': async () => ['/contracts', contractFields(await addVehicle(acme))],
    '/contracts/bulk': async () => {
      const { vin, ...terms } = contractFields(await addVehicle(acme));
      return ['/contracts/bulk', { ...terms, vins: [vin] }];
    },
    '/contracts/:id/end': async () => {
      const period = { from: new Date(Date.now() - 60_000).toISOString() };
      return [`/contracts/${(await createContract(acme, undefined, period)).id}/end`];
    },
    '/contracts/end': async () => ['/contracts/end', { ids: [(await createContract(acme)).id] }],
    '/contracts/delete': async () => ['/contracts/delete', { ids: [(await createContract(acme)).id] }],
    '/contracts/:id/activation/refresh': async () => [
      `/contracts/${(await createContract(acme)).id}/activation/refresh`,
    ],
    '/webhooks': async () => ['/webhooks', { url: 'https://example.com/hook' }],
    '/webhooks/:id/rotate': async () => [`/webhooks/${await newHook()}/rotate`],
    '/webhooks/:id/test': async () => [`/webhooks/${await newHook()}/test`],
    '/webhooks/:id/deliveries/:deliveryId/redeliver': async () => {
      const hook = await newHook();
      const { body } = await acme.post(`/webhooks/${hook}/test`);
      await gateway.execute(`update delivery set state = 'FAILED', due_at = null where id = '${body.id}'`);
      return [`/webhooks/${hook}/deliveries/${body.id}/redeliver`];
    },
  };
  const written = routes.filter(({ method, files }) => method === 'POST' && !files);
  test.each(written.map(({ path }) => path))('applies to POST %s', async (path) => {
    const [address, body] = (await posts[path]?.()) ?? ['', undefined];
    const key = newKey();
    const first = await acme.post(address, body, key);
    const again = await acme.post(address, body, key);
    expect(first.status).toBeLessThan(300);
    expect(again).toMatchObject({ status: first.status, body: first.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('the stored answer is deleted after 24 hours', async () => {
    const key = newKey();
    const { body } = await acme.post('/fleets', fleetFields, key);
    const age = (hours: number) =>
      gateway.execute(`update idempotency_key set created_at = now() - interval '${hours} hours'`);
    await age(23.9);
    expect((await acme.post('/fleets', fleetFields, key)).body.id).toBe(body.id);
    await age(24.1);
    expect((await acme.post('/fleets', fleetFields, key)).body.id).not.toBe(body.id);
  });

  test.each(['', 'é', 'x'.repeat(256)])('an invalid key is 400: "%s"', async (key) => {
    const headers = { 'idempotency-key': key };
    expect(await acme.post('/fleets', fleetFields, headers)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'Idempotency-Key' }] },
    });
  });
});
