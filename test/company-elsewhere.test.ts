import { createHmac, randomUUID } from 'node:crypto';
import { createClient } from 'graphql-ws';
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import { Client } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import {
  addVehicle,
  addVehicles,
  createContract,
  createFleet,
  fleetFields,
  newVin,
  uploadForm,
} from './support/factories.ts';
import { type GatewayOptions, startGateway, testIssuer } from './support/gateway.ts';
import { until } from './support/until.ts';
import { status, WebhookReceiver } from './support/webhook-receiver.ts';

const there = 'https://b.example.com';

/** What one installation among several does; the embedded database has one. */
describe.skipIf(inject('database').kind === 'embedded')('a company', async () => {
  const issuer = await testIssuer();
  const settings: NodeJS.ProcessEnv = {
    INSTALLATION: 'a',
    INSTALLATIONS: `a=https://a.example.com,b=${there}`,
    DATABASE_URL: 'postgresql://ignored',
    CONTRACTS_AUTH: 'open',
    WEBHOOK_LOOPBACK: 'on',
    SANDBOX: 'on',
  };
  const options: GatewayOptions = { issuer, settings };
  const gateway = await startGateway({ ...options, workers: true });
  const second = await startGateway({ ...options, on: gateway });
  const { execute } = gateway;

  /** Records where a company is, as a move does; gives the fence that processes acknowledge. */
  async function place(company: string, state: string): Promise<string> {
    const fence = randomUUID();
    await execute(`insert into placement (company, state, installation, fence) values ('${company}', '${state}', 'b', '${fence}')
      on conflict (company) do update set state = excluded.state, fence = excluded.fence, changed_at = clock_timestamp()`);
    await execute(`select pg_notify('placement', '')`);
    return fence;
  }
  const acknowledged = async (fence: string) => {
    const rows = await execute(`select fences @> '{${fence}}' as done from process where alive_until > now()`);
    return rows.length > 0 && rows.every(({ done }) => done);
  };
  const placed = async (company: string, state: string) => {
    const fence = await place(company, state);
    await until(() => acknowledged(fence));
  };
  const refusedBy = async (client: Client) => {
    const rest = await client.get('/fleets');
    const graphql = await client.post('/graphql', { query: '{ fleets { totalCount } }' });
    const [{ extensions }] = graphql.body.errors;
    return [rest.status, rest.body.code, graphql.status, extensions.code];
  };
  const closedBy = ({ headers, url }: Client) =>
    new Promise<{ code: number; reason: string }>((resolve) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, ['graphql-transport-ws']);
      onTestFinished(() => socket.terminate());
      socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: headers })));
      socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });

  test('that is elsewhere is refused by every process and interface, which name the address; others are served', async () => {
    const acme = await gateway.as('acme');
    const fleet = await createFleet(acme);
    await placed('acme', 'ELSEWHERE');
    for (const url of [gateway.url, second.url]) {
      const client = new Client(url, acme.headers);
      expect(await refusedBy(client)).toEqual([421, 'COMPANY_ELSEWHERE', 421, 'COMPANY_ELSEWHERE']);
      expect((await client.get('/fleets')).body).toMatchObject({ installation: 'b', address: there });
      expect((await client.post('/fleets', fleetFields)).status).toBe(421);
      expect((await client.post('/vehicles/file', uploadForm(fleet.id, `vin\n${newVin()}\n`))).status).toBe(421);
      expect(await closedBy(client)).toEqual({ code: 4421, reason: there });
    }
    const rows = await execute(`select count(*)::int as count from fleet where company = 'acme'`);
    expect(rows).toEqual([{ count: 1 }]);
    expect((await (await gateway.as('other')).get('/fleets')).status).toBe(200);
    const later = await startGateway({ ...options, on: gateway });
    expect((await new Client(later.url, acme.headers).get('/fleets')).status).toBe(421);
    await later.close();
  });

  test('that is elsewhere is refused to callers without a token, too', async () => {
    const open = await gateway.as('open');
    const contract = await createContract(open);
    const list = `/contracts?conditions=${encodeURIComponent('{"company":"open"}')}`;
    expect((await gateway.anyone.get(list)).body).toHaveLength(1);
    await placed('open', 'ELSEWHERE');
    const { anyone } = gateway;
    const again = { fleetId: contract.fleetId, vin: contract.vin, name: 'x', description: 'x', pack: 'other' };
    const answers = [
      anyone.get(list),
      anyone.get(`/contracts/${contract.id}`),
      anyone.patch(`/contracts/${contract.id}`, { name: 'x' }),
      anyone.delete(`/contracts/${contract.id}`),
      anyone.post('/contracts', { ...again, from: contract.from, to: contract.to }),
      anyone.post(`/contracts/${contract.id}/activation/refresh`),
    ];
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 421));
  });

  test('that moves is refused for a second, and served again when it stays', async () => {
    const client = await gateway.as('mover');
    await createFleet(client);
    await placed('mover', 'HELD');
    expect(await refusedBy(client)).toEqual([503, 'UNAVAILABLE', 503, 'UNAVAILABLE']);
    const refused = await client.get('/fleets');
    expect(refused.headers.get('retry-after')).toBe('1');
    await placed('mover', 'COPYING');
    expect((await client.get('/fleets')).body).toHaveLength(1);
    expect((await client.post('/fleets', fleetFields)).status).toBe(201);
  });

  test('that leaves has its streams and WebSockets closed', async () => {
    const client = await gateway.as('follower');
    await createFleet(client);
    const stream = await openStream(client, '/events/stream');
    const closed = closedBy(client);
    const socket = createClient({
      url: `${client.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: client.headers,
      retryAttempts: 0,
    });
    onTestFinished(() => void socket.dispose());
    await socket.iterate({ query: '{ __typename }' }).next();
    await placed('follower', 'HELD');
    expect((await closed).code).toBe(1013);
    const rest = async () => {
      for (;;) await stream.next();
    };
    await expect(rest()).rejects.toThrow('the stream has ended');
  });

  test('that drains is served, while nothing of it goes on by itself', async () => {
    const receiver = await WebhookReceiver.start();
    const client = await gateway.as('draining');
    const fleet = await createFleet(client);
    await placed('draining', 'DRAINING');
    await client.post('/webhooks', { url: receiver.url('/drain') });
    const vehicles = await addVehicles(client, [newVin()], fleet);
    const upload = await client.post('/vehicles/file', uploadForm(fleet.id, `vin\n${newVin()}\n`));
    expect([upload.status, upload.body.code]).toEqual([503, 'UNAVAILABLE']);
    const other = await gateway.as('beside');
    const beside = await addVehicle(other);
    await until(async () => (await other.get(`/vehicles/${beside.id}`)).body.eligibility.status === 'ELIGIBLE');
    expect((await client.get(`/vehicles/${vehicles[0].id}`)).body.eligibility.status).toBe('PENDING');
    expect(receiver.received).toEqual([]);
    await placed('draining', 'COPYING');
    await until(async () => (await client.get(`/vehicles/${vehicles[0].id}`)).body.eligibility.status === 'ELIGIBLE');
    await until(() => receiver.received.length > 0);
  });

  test('is not left while a change of it is under way', async () => {
    const client = await gateway.as('slow');
    const fleet = await createFleet(client);
    const database = gateway.database.orm.em.fork();
    await database.begin();
    await database.execute(`select from fleet where id = '${fleet.id}' for update`);
    const change = client.patch(`/fleets/${fleet.id}`, { name: 'Later' });
    await until(async () => {
      const [row] = await execute(`select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock'`);
      return row?.count === 1;
    });
    const fence = await place('slow', 'HELD');
    await until(async () => (await client.get('/fleets')).status === 503);
    const others = await place('bystander', 'HELD');
    await until(() => acknowledged(others));
    expect(await acknowledged(fence)).toBe(false);
    await database.commit();
    expect((await change).status).toBe(200);
    await until(() => acknowledged(fence));
  });

  test('is served by no process that has not said for 20 seconds that it lives, until it does', async () => {
    const client = await gateway.as('blind');
    await execute('alter table process rename to process_elsewhere');
    const { now } = performance;
    vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 20_000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await refusedBy(client)).toEqual([503, 'UNAVAILABLE', 503, 'UNAVAILABLE']);
    expect((await client.post('/fleets', fleetFields)).status).toBe(503);
    await execute('alter table process_elsewhere rename to process');
    await until(async () => (await client.post('/fleets', fleetFields)).status === 201);
  });

  test('is served by no gateway that does not know which installation it is', async () => {
    await placed('acme', 'ELSEWHERE');
    const { INSTALLATION: _, INSTALLATIONS: __, ...others } = settings;
    await expect(startGateway({ issuer, settings: others, on: gateway })).rejects.toThrow('set INSTALLATION');
    const wrong = { ...settings, INSTALLATION: 'b' };
    await expect(startGateway({ issuer, settings: wrong, on: gateway })).rejects.toThrow('not that of installation b');
    const unknown = { ...settings, INSTALLATION: 'c' };
    await expect(startGateway({ issuer, settings: unknown, on: gateway })).rejects.toThrow('one of INSTALLATIONS');
  });

  test('gets what a provider sends to one installation, with its signature, once', async () => {
    const other = await WebhookReceiver.start();
    const secret = 'a secret of the provider';
    const installations = { INSTALLATIONS: `a=https://a.example.com,b=${other.url('')}` };
    const fronted = await startGateway({
      issuer,
      settings: { ...settings, ...installations, HIGH_MOBILITY_WEBHOOK_SECRET: secret },
      on: gateway,
    });
    const body = JSON.stringify({ vehicles: [{ vin: newVin() }] });
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const send = (headers: Record<string, string>) =>
      fetch(`${fronted.url}/providers/high-mobility/events`, { method: 'POST', body, headers });
    expect((await send({ 'x-hm-signature-256': signature })).status).toBe(204);
    const [first, ...rest] = other.received;
    expect([first?.path, first?.body, rest]).toEqual(['/providers/high-mobility/events', body, []]);
    expect(first?.headers['x-hm-signature-256']).toBe(signature);
    const forwarded = Object.fromEntries(
      Object.entries(first?.headers ?? {}).filter(([name]) => /^(x-|forwarded)/.test(name)),
    );
    expect((await send(forwarded as Record<string, string>)).status).toBe(204);
    expect((await send({ 'x-hm-signature-256': 'sha256=wrong' })).status).toBe(401);
    expect(other.received).toHaveLength(1);
    other.always('/providers/high-mobility/events', status(503));
    expect((await send({ 'x-hm-signature-256': signature })).status).toBe(204);
    await fronted.close();
  });
});
