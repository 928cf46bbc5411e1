// Kills the gateway with -9 between commit and answer: the retry gets the same answer.
import pg from 'pg';
import { describe, expect, inject, test } from 'vitest';
import { Client } from '../support/client.ts';
import { asAdmin, databaseEnv } from '../support/database.ts';
import { fleetFields } from '../support/factories.ts';
import { type SpawnedGateway, spawnGateway, testIssuer } from '../support/gateway.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const { kind } = inject('database');
const env = await databaseEnv();
const issuer = await testIssuer();
const company = kind === 'postgresql' ? 'acme' : 'demo';
const start = (settings: NodeJS.ProcessEnv = {}) =>
  spawnGateway({ ...env, ...settings }, kind === 'postgresql' ? { issuer } : {});

const create = 'mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id name } } }';
type Ask = (client: Client, name: string) => ReturnType<Client['post']>;
const interfaces: Record<string, Ask> = {
  REST: (client, name) => client.post('/fleets', { ...fleetFields, name }, { 'idempotency-key': name }),
  GraphQL: (client, name) =>
    client.post(
      '/graphql',
      { query: create, variables: { input: { ...fleetFields, name } } },
      { 'idempotency-key': name },
    ),
};
const fleetOf = ({ body }: Awaited<ReturnType<Ask>>) =>
  body.data?.createFleet?.fleet ?? { id: body.id, name: body.name };

/** Checks that the retry after the crash gets the first response, and that there is one fleet. */
async function expectOneFleet(ask: Ask, name: string, gateway: SpawnedGateway, id: string | undefined) {
  const client = gateway.as(company);
  const retry = await ask(client, name);
  expect(retry.status).toBe(ask === interfaces.REST ? 201 : 200);
  const again = await ask(client, name);
  expect(again.body).toEqual(retry.body);
  const { body } = await client.get('/fleets');
  const same = body.filter((fleet: { name: string }) => fleet.name === name);
  expect(same.map((fleet: { id: string }) => fleet.id)).toEqual([id]);
  expect(fleetOf(retry).id).toBe(id);
}

describe.each(Object.entries(interfaces))(
  '%s: Idempotency-Key, and kill -9',
  { timeout: 60_000 },
  (interfaceName, ask) => {
    test('between the answer and its arrival: the retry gets the same answer', async () => {
      const name = `${interfaceName} answer`;
      const before = await start();
      const network = await TcpProxy.start(before.url);
      const answered = Promise.withResolvers<Buffer>();
      network.swallowAnswer = answered.resolve;
      const client = new Client(network.through(before.url), before.as(company).headers);
      const lost = ask(client, name).catch(() => 'lost');
      const answer = String(await answered.promise);
      await before.stop('SIGKILL');
      await network.close();
      expect(await lost).toBe('lost');
      const [, id] = /"id":"([\w-]+)"/.exec(answer) ?? [];
      const after = await start();
      await expectOneFleet(ask, name, after, id);
      expect(await after.stop()).toBe(0);
    });

    test('at one of five moments: the retry makes the fleet, or gets it', async () => {
      const name = `${interfaceName} any`;
      const before = await start();
      const client = before.as(company);
      const calls = Array.from({ length: 5 }, () => ask(client, name).catch(() => null));
      await Promise.race(calls);
      expect(await before.stop('SIGKILL')).toBe(null);
      await Promise.all(calls);
      const after = await start();
      // The retry is answered with 409 until the first claim ends.
      const id = await until(async () => fleetOf(await ask(after.as(company), name)).id);
      await expectOneFleet(ask, name, after, id);
      expect(await after.stop()).toBe(0);
    });

    test.runIf(kind === 'postgresql')(
      'between the commit and the gateway’s knowledge of it: the retry finds the result',
      async () => {
        const name = `${interfaceName} commit`;
        const url = env.DATABASE_URL ?? '';
        const network = await TcpProxy.start(url);
        const before = await start({ DATABASE_URL: network.through(url), WORKERS: 'off' });
        network.swallowAnswersAfter = (sent) => /^Q.{4}commit\0$/s.test(sent.toString('latin1'));
        const lost = ask(before.as(company), name).catch(() => 'lost');
        const database = new pg.Client(url);
        await database.connect();
        const stored = async () => (await database.query('select id from fleet where name = $1', [name])).rows;
        await expect.poll(stored).toHaveLength(1);
        const [{ id }] = await stored();
        await database.end();
        await before.stop('SIGKILL');
        await network.close();
        expect(await lost).toBe('lost');
        const after = await start();
        await expectOneFleet(ask, name, after, id);
        expect(await after.stop()).toBe(0);
      },
    );

    test.runIf(kind === 'postgresql')(
      'while the first still runs: 409 with Retry-After; afterwards the retry succeeds',
      async () => {
        const name = `${interfaceName} running`;
        // Jobs would wait for the lock, too.
        const gateway = await start({ WORKERS: 'off' });
        const client = gateway.as(company);
        const blocker = new pg.Client(asAdmin(env));
        await blocker.connect();
        await blocker.query('begin; lock table fleet in exclusive mode');
        // Inside its transaction the blocker would always see the same activity.
        const watcher = new pg.Client(asAdmin(env));
        await watcher.connect();
        const first = ask(client, name);
        first.catch(() => {});
        await expect
          .poll(
            async () =>
              (
                await watcher.query(
                  `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
                )
              ).rowCount,
            { timeout: 4_000 },
          )
          .toBe(1);
        await watcher.end();
        const early = await ask(client, name);
        expect([early.status, early.body.code ?? early.body.errors?.[0].extensions.code]).toEqual([
          409,
          'IDEMPOTENCY_IN_PROGRESS',
        ]);
        expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(0);
        await blocker.query('rollback');
        await blocker.end();
        await expectOneFleet(ask, name, gateway, fleetOf(await first).id);
        expect(await gateway.stop()).toBe(0);
      },
    );
  },
);
