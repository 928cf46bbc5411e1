import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import type { Json } from './support/client.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { scheduleAll } from './support/schedule.ts';
import { stagger, until } from './support/until.ts';
import { hang, type ReceivedWebhook, status, WebhookReceiver } from './support/webhook-receiver.ts';

const receiver = await WebhookReceiver.start();
const gateway = await startGateway({ settings: { WEBHOOK_LOOPBACK: 'on' }, workers: true });
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');

let paths = 0;

/** A webhook of a new company at a new path, and a client of that company. */
async function subscribe(fields: Record<string, unknown> = {}) {
  const path = `/hook-${++paths}`;
  const client = await gateway.as(`company-${paths}`);
  const { status: code, body } = await client.post('/webhooks', { url: receiver.url(path), ...fields });
  if (code !== 201) throw new Error(JSON.stringify(body));
  /** Resolves when another webhook of the company has received `count` events, all events so far. */
  const others = async (count: number) => {
    await until(() => receiver.at(`${path}-other`).length >= count);
  };
  const addOther = () => client.post('/webhooks', { url: receiver.url(`${path}-other`) });
  const read = async (): Promise<Json> => (await client.get(`/webhooks/${body.id}`)).body;
  const deliveries = async (): Promise<Json[]> => (await client.get(`/webhooks/${body.id}/deliveries`)).body;
  /** Waits until the first delivery satisfies `fits`. */
  const delivery = (fits: (delivery: Json) => boolean): Promise<Json> =>
    until(async () => (await deliveries()).find(fits) ?? null);
  return { path, client, webhook: body, read, deliveries, delivery, addOther, others };
}

/** Makes all retries due. */
async function passTime(): Promise<void> {
  await gateway.execute('update delivery set due_at = now() where due_at is not null and not claimed');
  await gateway.execute(scheduleAll);
  gateway.database.notify('due', 'delivery');
}

const verify = (secret: string, { body, headers }: ReceivedWebhook) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

/** Seconds from an attempt to the next one. */
const secondsBetween = ({ attemptedAt, nextAttemptAt }: Json) =>
  (Date.parse(nextAttemptAt) - Date.parse(attemptedAt)) / 1000;

describe('A webhook', () => {
  test('gets an event when it happens, signed by Standard Webhooks', async () => {
    const { path, client, webhook } = await subscribe({ description: 'Dispatch' });
    expect(webhook).toMatchObject({ state: 'ACTIVE', types: [], description: 'Dispatch', reason: null });
    expect(webhook.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const fleet = await createFleet(client);
    const [request] = await receiver.some(path);
    expect(verify(webhook.secret, request as ReceivedWebhook)).toMatchObject({
      type: 'fleet.created',
      fleetId: fleet.id,
      company: fleet.company,
    });
    expect(request?.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': request?.event.id });
    expect((await client.get(`/events/${request?.event.id}`)).body).toEqual(request?.event);
  });

  test('shows its secret once', async () => {
    const { client, read } = await subscribe();
    expect(await read()).not.toHaveProperty('secret');
    expect((await client.get('/webhooks')).body[0]).not.toHaveProperty('secret');
  });

  test('gets the selected types, and no other company’s events', async () => {
    const { path, client } = await subscribe({ types: ['fleet.deleted'] });
    const fleet = await createFleet(client);
    await createFleet(acme);
    await client.delete(`/fleets/${fleet.id}`);
    await receiver.some(path);
    expect(receiver.at(path).map(({ event }) => event.type)).toEqual(['fleet.deleted']);
  });

  test('is signed with the old secret, too, for a day after a rotation', async () => {
    const { path, client, webhook } = await subscribe();
    const { body: rotated } = await client.post(`/webhooks/${webhook.id}/rotate`);
    expect(rotated.secret).not.toBe(webhook.secret);
    expect((Date.parse(rotated.oldSecretUntil) - Date.now()) / 3_600_000).toBeCloseTo(24, 1);
    await createFleet(client);
    const [both] = await receiver.some(path);
    for (const secret of [webhook.secret, rotated.secret]) verify(secret, both as ReceivedWebhook);
    await gateway.execute(`update webhook set old_secret_until = now() where id = '${webhook.id}'`);
    await createFleet(client);
    const [, one] = await receiver.some(path, 2);
    verify(rotated.secret, one as ReceivedWebhook);
    expect(() => verify(webhook.secret, one as ReceivedWebhook)).toThrow('No matching signature');
  });

  test('gets the events of a pause when active again', async () => {
    const { path, client, webhook, addOther, others } = await subscribe();
    await addOther();
    expect((await client.patch(`/webhooks/${webhook.id}`, { state: 'PAUSED' })).body.state).toBe('PAUSED');
    const fleet = await createFleet(client);
    await client.patch(`/fleets/${fleet.id}`, { name: 'Meanwhile' });
    await others(2);
    expect(receiver.at(path)).toEqual([]);
    await client.patch(`/webhooks/${webhook.id}`, { state: 'ACTIVE' });
    const got = await receiver.some(path, 2);
    expect(got.map(({ event }) => event.type).toSorted()).toEqual(['fleet.created', 'fleet.updated']);
  });

  test('gets each selected event once, through repeated pauses under load', async () => {
    const { path, client, webhook } = await subscribe({ types: ['fleet.created'] });
    const company = `company-${paths}`;
    const become = (state: string) => client.patch(`/webhooks/${webhook.id}`, { state });
    const pauses = fc.sample(fc.array(fc.nat(60), { minLength: 6, maxLength: 10 }), 1)[0] ?? [];
    for (const [round, ms] of pauses.entries()) {
      await become('PAUSED');
      await gateway.execute(`
        insert into event (company, type, actor, at, data)
        select '${company}', case when n % 40 = 0 then 'fleet.created' else 'fleet.updated' end, 'test', now(),
          jsonb_build_object('n', ${round} * 700 + n) from generate_series(1, 700) n`);
      gateway.database.notify('due', 'event');
      if (round % 3 === 0) await stagger(ms);
      await become('ACTIVE');
      await stagger(ms);
    }
    const wanted = pauses.length * 17;
    const got = await receiver.some(path, wanted);
    // The last event arrives after all others.
    await createFleet(client);
    await receiver.some(path, wanted + 1);
    await until(async () => {
      const [left] = await gateway.execute(`select from webhook where id = '${webhook.id}' and due_at is not null`);
      return left ? null : true;
    });
    expect(got.map(({ event }) => event.type)).toEqual(Array(wanted).fill('fleet.created'));
    expect(new Set(receiver.at(path).map(({ event }) => event.id)).size).toBe(wanted + 1);
    expect(receiver.at(path)).toHaveLength(wanted + 1);
  });

  test('gets a test event in any state, once and alone', async () => {
    const { path, client, webhook, delivery } = await subscribe({ types: ['fleet.deleted'] });
    await client.patch(`/webhooks/${webhook.id}`, { state: 'PAUSED' });
    receiver.next(path, status(500));
    const { status: code, body } = await client.post(`/webhooks/${webhook.id}/test`);
    expect({ code, body }).toMatchObject({ code: 202, body: { type: 'webhook.test', state: 'PENDING' } });
    expect(await delivery(({ state }) => state !== 'PENDING')).toMatchObject({
      id: body.id,
      state: 'FAILED',
      status: 500,
      nextAttemptAt: null,
    });
    expect(receiver.at(path)).toHaveLength(1);
  });

  test('stays active when a test event fails, and is disabled by 410', async () => {
    const { path, client, webhook, read, delivery } = await subscribe({ types: ['fleet.deleted'] });
    for (const [code, state] of [
      [500, 'ACTIVE'],
      [410, 'DISABLED'],
    ] as const) {
      receiver.next(path, status(code));
      const { body } = await client.post(`/webhooks/${webhook.id}/test`);
      await delivery((one) => one.id === body.id && one.state === 'FAILED');
      expect((await read()).state).toBe(state);
    }
  });

  test('can be changed, and is deleted with its deliveries', async () => {
    const { path, client, webhook } = await subscribe();
    const url = receiver.url(`${path}-moved`);
    const changed = await client.patch(`/webhooks/${webhook.id}`, { url, types: ['fleet.created'], description: 'x' });
    expect(changed).toMatchObject({ status: 200, body: { url, types: ['fleet.created'], description: 'x' } });
    await createFleet(client);
    await receiver.some(`${path}-moved`);
    expect((await client.delete(`/webhooks/${webhook.id}`)).status).toBe(200);
    expect((await client.get(`/webhooks/${webhook.id}`)).body).toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
    expect((await client.patch(`/webhooks/${webhook.id}`, { state: 'ACTIVE' })).status).toBe(404);
  });

  test.each([
    'not a url',
    'ftp://example.com/',
    'http://example.com/',
    'https://user:secret@example.com/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[fd00:ec2::254]/',
    'https://0x0a000001/',
    `https://example.com/${'x'.repeat(2048)}`,
  ])('cannot be at %s', async (url) => {
    const answer = await acme.post('/webhooks', { url });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'url', code: 'INVALID_URL' }] } });
  });

  test('refuses unknown types and empty changes', async () => {
    const { client, webhook } = await subscribe();
    expect((await acme.post('/webhooks', { url: 'https://example.com/', types: ['fleet.painted'] })).status).toBe(400);
    expect((await client.patch(`/webhooks/${webhook.id}`, {})).status).toBe(400);
    expect((await client.patch(`/webhooks/${webhook.id}`, { state: 'DISABLED' })).status).toBe(400);
  });

  test('belongs to its company, in every operation', async () => {
    const { client, webhook, delivery } = await subscribe();
    await createFleet(client);
    const { id } = await delivery(({ state }) => state === 'SUCCEEDED');
    const at = `/webhooks/${webhook.id}`;
    const answers = [
      await globex.get(at),
      await globex.patch(at, { url: receiver.url('/stolen') }),
      await globex.delete(at),
      await globex.post(`${at}/rotate`),
      await globex.post(`${at}/test`),
      await globex.get(`${at}/deliveries`),
      await globex.post(`${at}/deliveries/${id}/redeliver`),
    ];
    expect(answers.map(({ body }) => body.code)).toEqual(Array(7).fill('WEBHOOK_NOT_FOUND'));
    expect((await globex.get('/webhooks')).body).toEqual([]);
    expect((await gateway.anyone.get(at)).status).toBe(401);
    const { oldSecretUntil, url } = (await client.get(at)).body;
    expect({ oldSecretUntil, url }).toEqual({ oldSecretUntil: null, url: webhook.url });
  });
});

describe('A delivery', () => {
  test('that fails is retried by the schedule, with the same id and body', async () => {
    const { path, client, delivery } = await subscribe();
    receiver.next(path, status(500), status(500), status(500));
    await createFleet(client);
    const waits: number[] = [];
    for (const attempts of [1, 2, 3]) {
      waits.push(secondsBetween(await delivery((one) => one.attempts === attempts && one.nextAttemptAt !== null)));
      await passTime();
    }
    for (const [index, seconds] of [5, 300, 1800].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(seconds);
      // The pause begins when the attempt is stored.
      expect(waits[index]).toBeLessThanOrEqual(seconds * 1.1 + 1);
    }
    const done = await delivery(({ state }) => state === 'SUCCEEDED');
    const requests = receiver.at(path);
    expect(requests).toHaveLength(4);
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(done).toMatchObject({
      attempts: 4,
      status: 204,
      error: null,
      errorCode: null,
      nextAttemptAt: null,
      durationMs: expect.any(Number),
      request: { url: receiver.url(path), body: requests[0]?.body, headers: { 'webhook-id': done.eventId } },
    });
  });

  test('that fails with others returns at another time than they', async () => {
    const { path, client, webhook, deliveries } = await subscribe();
    receiver.always(path, status(500));
    for (let event = 0; event < 8; event++) await createFleet(client);
    const waits = async (attempts: number) => {
      const all = await deliveries();
      const failed = all.filter((one) => one.attempts === attempts && one.nextAttemptAt !== null);
      return failed.length === 8 && failed.map(secondsBetween);
    };
    await until(() => waits(1));
    await gateway.execute(`update delivery set attempts = 8 where webhook_id = '${webhook.id}'`);
    await passTime();
    const seconds = await until(() => waits(9));
    // A day or up to a tenth more, where they are stored within seconds.
    expect(Math.max(...seconds) - Math.min(...seconds)).toBeGreaterThan(60);
  });

  test.each([300, 307])('that is redirected by %i has failed, and is not followed', async (code) => {
    const { path, client, delivery } = await subscribe();
    receiver.next(path, status(code, { location: receiver.url('/elsewhere') }));
    await createFleet(client);
    expect(await delivery(({ attempts }) => attempts === 1)).toMatchObject({ state: 'PENDING', status: code });
    expect(receiver.at('/elsewhere')).toEqual([]);
  });

  test('with an answer of 10 MB is not read to its end', async () => {
    const { path, client, delivery } = await subscribe();
    let sent = 0;
    const closed = Promise.withResolvers<void>();
    receiver.next(path, (response) => {
      response.once('close', closed.resolve);
      const piece = Buffer.alloc(64 * 1024, 'x');
      const more = () => {
        while (sent < 10 * 1024 * 1024 && !response.destroyed) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    await createFleet(client);
    const done = await delivery(({ attempts }) => attempts === 1);
    expect(done).toMatchObject({ state: 'SUCCEEDED', status: 200, answer: 'x'.repeat(1000) });
    await closed.promise;
    expect(sent).toBeLessThan(10 * 1024 * 1024);
  });

  test('whose claim has ended meanwhile is not counted: another process sends it', async () => {
    const { path, client, deliveries, delivery } = await subscribe();
    const answered = Promise.withResolvers<void>();
    receiver.next(path, async (response) => {
      await answered.promise;
      status(204)(response);
    });
    await createFleet(client);
    await receiver.some(path);
    const [{ id }] = await deliveries();
    await gateway.execute(`update delivery set due_at = due_at + interval '1 second' where id = '${id}'`);
    answered.resolve();
    // A delivery that was claimed later is also stored later.
    await createFleet(client);
    await delivery((one) => one.id !== id && one.state === 'SUCCEEDED');
    expect(await delivery((one) => one.id === id)).toMatchObject({ state: 'PENDING', attempts: 0 });
  });

  test('without an answer says why, by a text and a code', async () => {
    const { path, client, webhook, delivery } = await subscribe();
    receiver.always(path, (response) => void response.destroy());
    await createFleet(client);
    expect(await delivery(({ attempts }) => attempts === 1)).toMatchObject({
      ...{ status: null, error: 'The connection was closed before an answer.', errorCode: 'CONNECTION_CLOSED' },
    });
    const document = `query Codes($id: ID!) { webhook(id: $id) { deliveries { nodes { error errorCode } } } }`;
    for (const [error, errorCode] of [
      ['The URL must begin with https://.', 'URL_NOT_ALLOWED'],
      ['The host name cannot be resolved.', 'HOST_NOT_FOUND'],
      ['The host is not on the public internet.', 'HOST_NOT_PUBLIC'],
      ['The connection was refused.', 'CONNECTION_REFUSED'],
      ['No answer within 15 s.', 'TIMEOUT'],
      ['The request failed (CERT_HAS_EXPIRED).', 'REQUEST_FAILED'],
      ['Words of another version.', 'REQUEST_FAILED'],
      [null, null],
    ]) {
      const text = error === null ? 'null' : `'${error}'`;
      await gateway.execute(`update delivery set error = ${text} where webhook_id = '${webhook.id}'`);
      expect(await delivery(() => true)).toMatchObject({ error, errorCode });
      const { body } = await client.post('/graphql', { query: document, variables: { id: webhook.id } });
      expect(body.data.webhook.deliveries.nodes).toEqual([{ error, errorCode }]);
    }
  });

  test('waits as long as the receiver asks', async () => {
    const { path, client, delivery } = await subscribe();
    receiver.next(path, status(503, { 'retry-after': '600' }));
    await createFleet(client);
    expect(secondsBetween(await delivery(({ attempts }) => attempts === 1))).toBeGreaterThanOrEqual(600);
  });

  test('answered 410 disables the webhook', async () => {
    const { path, client, webhook, read, delivery, addOther, others } = await subscribe();
    receiver.next(path, status(410));
    await createFleet(client);
    expect(await delivery(({ attempts }) => attempts === 1)).toMatchObject({ state: 'FAILED', status: 410 });
    const disabled = { state: 'DISABLED', reason: expect.stringContaining('410'), reasonCode: 'RECEIVER_GONE' };
    expect(await read()).toMatchObject(disabled);
    await addOther();
    await createFleet(client);
    await others(1);
    expect(receiver.at(path)).toHaveLength(1);
    const { body: active } = await client.patch(`/webhooks/${webhook.id}`, { state: 'ACTIVE' });
    expect(active).toMatchObject({ reason: null, reasonCode: null });
    await receiver.some(path, 2);
  });

  test('that fails for the last time pauses the webhook with a reason, and loses no other event', async () => {
    const { path, client, webhook, read, delivery } = await subscribe();
    receiver.always(path, status(500));
    const fleet = await createFleet(client);
    await delivery(({ attempts }) => attempts === 1);
    await client.patch(`/fleets/${fleet.id}`, { name: 'Second' });
    await delivery(({ attempts, type }) => attempts === 1 && type === 'fleet.updated');
    await gateway.execute(
      `update delivery d set attempts = 9 from event e
       where e.company = d.company and e.id = d.event_id and e.type = 'fleet.created' and d.webhook_id = '${webhook.id}'`,
    );
    await passTime();
    const last = await delivery(({ state }) => state === 'FAILED');
    expect(last).toMatchObject({ type: 'fleet.created', attempts: 10, status: 500 });
    const paused = { state: 'PAUSED', reason: expect.stringContaining(last.eventId), reasonCode: 'ATTEMPTS_EXHAUSTED' };
    expect(await read()).toMatchObject(paused);
    await client.patch(`/fleets/${fleet.id}`, { name: 'Third' });
    await delivery(({ type, nextAttemptAt }) => type === 'fleet.updated' && nextAttemptAt === null);
    receiver.always(path, status(204));
    const before = receiver.at(path).length;
    await client.patch(`/webhooks/${webhook.id}`, { state: 'ACTIVE' });
    const after = (await receiver.some(path, before + 2)).slice(before);
    expect(after.map(({ event }) => event.data.changes.name.to).toSorted()).toEqual(['Second', 'Third']);
    const { status: code } = await client.post(`/webhooks/${webhook.id}/deliveries/${last.id}/redeliver`);
    expect(code).toBe(202);
    const again = await receiver.some(path, before + 3);
    expect(again.at(-1)?.headers['webhook-id']).toBe(last.eventId);
    expect(await delivery(({ id, state }) => id === last.id && state !== 'PENDING')).toMatchObject({
      state: 'SUCCEEDED',
      attempts: 11,
    });
  });

  test('to a hanging receiver delays no other, and takes at most four places', async () => {
    const slow = await subscribe();
    receiver.always(slow.path, hang);
    const { body: quick } = await slow.client.post('/webhooks', { url: receiver.url('/quick') });
    const fleet = await createFleet(slow.client);
    for (let index = 1; index < 10; index++) await slow.client.patch(`/fleets/${fleet.id}`, { name: `Name ${index}` });
    await receiver.some('/quick', 10);
    expect(quick.state).toBe('ACTIVE');
    expect(receiver.at(slow.path)).toHaveLength(4);
    await slow.client.delete(`/webhooks/${slow.webhook.id}`);
  });

  test('does not wait for another company with 20 hanging receivers', async () => {
    const hog = await subscribe();
    for (let index = 1; index < 20; index++) await hog.client.post('/webhooks', { url: receiver.url(hog.path) });
    receiver.always(hog.path, hang);
    const fleet = await createFleet(hog.client);
    for (let index = 1; index < 30; index++) await hog.client.patch(`/fleets/${fleet.id}`, { name: `Name ${index}` });
    await receiver.some(hog.path, 40);
    const other = await subscribe();
    await createFleet(other.client);
    await receiver.some(other.path);
    const { body: webhooks } = await hog.client.get('/webhooks');
    for (const { id } of webhooks) {
      const { body: deliveries } = await hog.client.get(`/webhooks/${id}/deliveries`);
      expect(deliveries.filter(({ attempts }: Json) => attempts > 0)).toEqual([]);
    }
    for (const { id } of webhooks) await hog.client.delete(`/webhooks/${id}`);
  });

  test('does not wait for deliveries to a failed receiver, which are tried one at a time', async () => {
    const failing = await subscribe();
    const { client, path } = failing;
    receiver.always(path, status(500));
    const fleet = await createFleet(client);
    await failing.delivery(({ attempts }) => attempts === 1);
    receiver.always(path, hang);
    for (let index = 0; index < 10; index++) await client.patch(`/fleets/${fleet.id}`, { name: `Name ${index}` });
    await receiver.some(path, 2);
    const { body: quick } = await client.post('/webhooks', { url: receiver.url(`${path}-quick`) });
    await client.delete(`/fleets/${fleet.id}`);
    await receiver.some(`${path}-quick`);
    expect(receiver.at(path)).toHaveLength(2);
    for (const { id } of [quick, failing.webhook]) await client.delete(`/webhooks/${id}`);
  });

  test('of a paused webhook is sent on request, and not retried until it is active', async () => {
    const { path, client, webhook, delivery } = await subscribe();
    receiver.always(path, status(500));
    await createFleet(client);
    const { id } = await delivery(({ attempts }) => attempts === 1);
    const at = `/webhooks/${webhook.id}`;
    await client.patch(at, { state: 'PAUSED' });
    expect(await delivery(() => true)).toMatchObject({ state: 'PENDING', nextAttemptAt: null });
    await passTime();
    expect((await client.post(`${at}/deliveries/${id}/redeliver`)).body.nextAttemptAt).not.toBeNull();
    expect(await delivery(({ attempts }) => attempts === 2)).toMatchObject({ state: 'PENDING', nextAttemptAt: null });
    receiver.always(path, status(204));
    await client.patch(at, { state: 'ACTIVE' });
    expect(await delivery(({ state }) => state === 'SUCCEEDED')).toMatchObject({ attempts: 3 });
  });

  test('of a paused webhook whose process ended is sent on request', async () => {
    const { client, webhook, delivery } = await subscribe();
    const at = `/webhooks/${webhook.id}`;
    await client.patch(at, { state: 'PAUSED' });
    await createFleet(client);
    await client.patch(at, { state: 'ACTIVE' });
    const { id } = await delivery(({ attempts }) => attempts === 1);
    await client.patch(at, { state: 'PAUSED' });
    const leave = (until: string) =>
      gateway.execute(`update delivery set state = 'PENDING', claimed = true, due_at = ${until} where id = '${id}'`);
    await leave(`now() + interval '1 hour'`);
    await client.post(`${at}/deliveries/${id}/redeliver`);
    await gateway.execute(`update delivery set due_at = now() where id = '${id}'`);
    await passTime();
    expect(await delivery(({ attempts }) => attempts === 2)).toMatchObject({ state: 'SUCCEEDED' });
  });

  test('of a large event is truncated, with the address of the whole', async () => {
    const { path, client } = await subscribe({ types: ['vehicle.added'] });
    await addVehicles(client, newVins(1000, 0));
    const [request] = await receiver.some(path);
    expect(Buffer.byteLength(request?.body ?? '')).toBeLessThan(20_000);
    expect(request?.event).toMatchObject({ truncated: true, vehicles: [], vehicleCount: 1000 });
    expect((await client.get(request?.event.url)).body.vehicles).toHaveLength(1000);
  });

  test('can be listed by state, page by page', async () => {
    const { client, webhook, deliveries } = await subscribe();
    const fleet = await createFleet(client);
    for (const name of ['a', 'b']) await client.patch(`/fleets/${fleet.id}`, { name });
    await until(async () => (await deliveries()).filter(({ state }) => state === 'SUCCEEDED').length === 3 || null);
    const at = `/webhooks/${webhook.id}/deliveries`;
    const first = await client.get(`${at}?state=SUCCEEDED&limit=2`);
    const [, next] = /<(.+)>/.exec(first.headers.get('link') ?? '') ?? [];
    expect([...first.body, ...(await client.get(next ?? '')).body]).toEqual((await client.get(at)).body);
    expect((await client.get(`${at}?state=FAILED`)).body).toEqual([]);
    expect((await client.get(`${at}?state=LOST`)).status).toBe(400);
    expect((await client.post(`${at}/01980000-0000-7000-8000-00000000dead/redeliver`)).body.code).toBe('NOT_FOUND');
  });
});
