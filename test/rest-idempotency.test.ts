import { describe, expect, test, vi } from 'vitest';
import { routes } from '../src/rest/router.ts';
import { Client, type Json } from './support/client.ts';
import { databaseEnv } from './support/database.ts';
import { addVehicle, contractFields, createFleet, fleetFields, newVin } from './support/factories.ts';
import { bearer, spawnGateway, startGateway, testIssuer } from './support/gateway.ts';

const issuer = await testIssuer();
const gateway = await startGateway({ issuer });
const acme = await gateway.as('acme');
const ofProcess = await databaseEnv();

let lastKey = 0;
const newKey = () => ({ 'idempotency-key': `key-${++lastKey}` });
const fleetsNamed = async (name: string, client = acme) =>
  (await client.get('/fleets')).body.filter((fleet: Json) => fleet.name === name);

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

  test('another body, another query or another address with the same key is 422', async () => {
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

  test("another company's key is its own", async () => {
    const globex = await gateway.as('globex');
    const key = newKey();
    const [one, other] = [await acme.post('/fleets', fleetFields, key), await globex.post('/fleets', fleetFields, key)];
    expect([one, other]).toMatchObject([
      { status: 201, body: { company: 'acme' } },
      { status: 201, body: { company: 'globex' } },
    ]);
    expect(other.headers.has('idempotent-replayed')).toBe(false);
  });

  test('a refusal is not remembered: the corrected request may use the key', async () => {
    const key = newKey();
    expect(await acme.post('/fleets', { ...fleetFields, email: 'no' }, key)).toMatchObject({ status: 400 });
    expect(await acme.post('/fleets', fleetFields, key)).toMatchObject({ status: 201 });
  });

  const newHook = async () => (await acme.post('/webhooks', { url: 'https://example.com/hook' })).body.id;
  /** A request for each POST; a new one has to say here what it is like. Uploads are remembered by their import. */
  const posts: Record<string, () => Promise<readonly [path: string, body?: unknown]>> = {
    '/fleets': async () => ['/fleets', fleetFields],
    '/vehicles': async () => ['/vehicles', { fleetId: (await createFleet(acme)).id, vins: [newVin()] }],
    '/vehicles/delete': async () => {
      const { fleetId, id } = await addVehicle(acme);
      return ['/vehicles/delete', { fleetId, ids: [id] }];
    },
    '/vehicles/eligibility/:vin/refresh': async () => [`/vehicles/eligibility/${(await addVehicle(acme)).vin}/refresh`],
    '/contracts': async () => ['/contracts', contractFields(await addVehicle(acme))],
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
  const written = routes.filter(({ method, body }) => method === 'POST' && body !== 'upload');
  test.each(written.map(({ path }) => path))('it holds on POST %s', async (path) => {
    const [address, body] = (await posts[path]?.()) ?? ['', undefined];
    const key = newKey();
    const first = await acme.post(address, body, key);
    const again = await acme.post(address, body, key);
    expect(first.status).toBeLessThan(300);
    expect(again).toMatchObject({ status: first.status, body: first.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('the stored answer is forgotten after 24 hours', async () => {
    const key = newKey();
    const { body } = await acme.post('/fleets', fleetFields, key);
    const age = (hours: number) =>
      gateway.execute(`update idempotency_key set created_at = now() - interval '${hours} hours'`);
    await age(23.9);
    expect((await acme.post('/fleets', fleetFields, key)).body.id).toBe(body.id);
    await age(24.1);
    expect((await acme.post('/fleets', fleetFields, key)).body.id).not.toBe(body.id);
  });

  test.each(['', 'é', 'x'.repeat(256)])('a key that is none is 400: "%s"', async (key) => {
    const headers = { 'idempotency-key': key };
    expect(await acme.post('/fleets', fleetFields, headers)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'Idempotency-Key' }] },
    });
  });

  test('after kill -9 in between, the same key still makes one fleet', { timeout: 120_000 }, async () => {
    // The issuer outlives the process: its tokens go on working.
    const before = await spawnGateway({ ...ofProcess, CONTRACTS_AUTH: 'open' }, { issuer });
    const key = newKey();
    const fields = { ...fleetFields, name: 'Through a crash' };
    const calls = Array.from({ length: 5 }, () =>
      before
        .as('acme')
        .post('/fleets', fields, key)
        .catch(() => null),
    );
    await Promise.race(calls);
    expect(await before.stop('SIGKILL')).toBe(null);
    await Promise.all(calls);
    const after = await spawnGateway({ ...ofProcess, CONTRACTS_AUTH: 'open' }, { issuer });
    const client = new Client(after.url, bearer(issuer.sign({ company: 'acme' })));
    const again = await vi.waitFor(async () => {
      const answer = await client.post('/fleets', fields, key);
      expect(answer.status).toBe(201);
      return answer;
    }, 20_000);
    expect((await fleetsNamed('Through a crash', client)).map(({ id }: Json) => id)).toEqual([again.body.id]);
    expect(await after.stop()).toBe(0);
  });
});
