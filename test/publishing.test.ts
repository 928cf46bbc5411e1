import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { findCompaniesToPublish } from '../src/core/events/event-log.ts';
import type { Client, Json } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import { addVehicle, createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { WebhookReceiver } from './support/webhook-receiver.ts';

const receiver = await WebhookReceiver.start();
const settings = { WEBHOOK_LOOPBACK: 'on' };
const one = await startGateway({ workers: true, settings });
const gateways = [one, await startGateway({ workers: true, settings, on: one })];

// Slows publishing down, so that other statements run in between. The embedded database has a single connection.
const { kind } = inject('database');
if (kind === 'postgresql') {
  await one.execute(`create function dawdle() returns trigger language plpgsql as $$
    begin perform pg_sleep(random() * random() * 0.03); return null; end $$`);
  for (const [index, moment] of ['before insert', 'before update', 'after update'].entries()) {
    await one.execute(`create trigger dawdle_${index} ${moment} on event for each statement execute function dawdle()`);
  }
}

/** Acts of a writer, one after the other. */
const acts = {
  rename: (client, { fleet }) => client.patch(`/fleets/${fleet.id}`, { name: `Name ${Math.random()}` }),
  another: (client) => createFleet(client),
  pause: (client, { webhook }) => client.patch(`/webhooks/${webhook.id}`, { state: 'PAUSED' }),
  activate: (client, { webhook }) => client.patch(`/webhooks/${webhook.id}`, { state: 'ACTIVE' }),
} satisfies Record<string, (client: Client, own: Json) => Promise<unknown>>;
const writer = fc.record({
  company: fc.nat(2),
  gateway: fc.nat(1),
  does: fc.array(fc.constantFrom(...(Object.keys(acts) as (keyof typeof acts)[])), { minLength: 1, maxLength: 8 }),
});

let companies = 0;
interface Logged {
  id: string;
  type: string;
  fleet_id: string;
  position: number;
  deliveries: number;
}

/** Opens a company with a webhook, and a stream of its events at each gateway. */
async function open() {
  const company = `company ${++companies}`;
  const clients = await Promise.all(gateways.map((gateway) => gateway.as(company)));
  const client = clients[0] as Client;
  const { body: webhook } = await client.post('/webhooks', { url: receiver.url(`/${companies}`) });
  const followers = await Promise.all(clients.map((each) => openStream(each, '/events/stream')));
  /** All events of the company in the order of the log, once all are published. */
  const log = () =>
    until(async () => {
      const rows = await one.execute<Logged>(`select e.id, e.type, e.fleet_id, e.position::int as position,
          (select count(*)::int from delivery d where d.company = e.company and d.event_id = e.id) as deliveries
        from event e where company = '${company}' order by seq`);
      return rows.every(({ position, deliveries }) => position !== null && deliveries > 0) ? rows : null;
    });
  return { company, clients, webhook, followers, log };
}
type Company = Awaited<ReturnType<typeof open>>;

async function write({ clients, webhook }: Company, gateway: number, does: readonly (keyof typeof acts)[]) {
  const client = clients[gateway] as Client;
  const fleet = await createFleet(client);
  for (const act of does) await acts[act](client, { fleet, webhook });
}

async function followed({ followers }: Company, count: number): Promise<string[][]> {
  return Promise.all(
    followers.map(async (stream) => {
      const ids: string[] = [];
      while (ids.length < count) ids.push((await stream.next()).id);
      return ids;
    }),
  );
}

describe('two publishers', () => {
  test('give each event of a company one position, without gaps, and followers get each event once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(writer, { minLength: 2, maxLength: 8 }), async (writers) => {
        const opened = await Promise.all(Array.from({ length: 3 }, open));
        await Promise.all(
          writers.map(({ company, gateway, does }) => write(opened[company] as Company, gateway, does)),
        );
        for (const company of opened) {
          await acts.activate(company.clients[0] as Client, company);
          const rows = await company.log();
          const inOrder = rows.toSorted((a, b) => a.position - b.position);
          expect(inOrder.map(({ position }) => position)).toEqual(rows.map((_, at) => at + 1));
          expect(rows.filter(({ deliveries }) => deliveries !== 1)).toEqual([]);
          // Events of one writer keep the order of writing.
          for (const own of Map.groupBy(rows, ({ fleet_id }) => fleet_id).values()) {
            expect(own).toEqual(own.toSorted((a, b) => a.position - b.position));
          }
          const ids = inOrder.map(({ id }) => id);
          for (const seen of await followed(company, ids.length)) expect(seen).toEqual(ids);
          for (const { close } of company.followers) close();
          const { body: listed } = await (company.clients[1] as Client).get('/events?limit=1000');
          expect(listed.map(({ id }: Json) => id)).toEqual(ids);
          const [counted] = await one.execute(`select position::int from company where company = '${company.company}'`);
          expect(counted).toEqual({ position: ids.length });
        }
      }),
      { numRuns: 12 },
    );
  });

  test('keep the order of a single writer', async () => {
    const company = await open();
    for (let written = 0; written < 40; written++) await createFleet(company.clients[written % 2] as Client);
    const rows = await company.log();
    expect(rows.map(({ position }) => position)).toEqual(rows.map((_, at) => at + 1));
    for (const { close } of company.followers) close();
  });
});

test('a company with thousands of events does not delay other companies', async () => {
  const quiet = await startGateway();
  await quiet.execute(`insert into company values ('a giant'), ('beside it')`);
  await quiet.execute(`insert into event (type, company, actor, at)
    select 'fleet.created', 'a giant', 'system', now() from generate_series(1, 1500)
    union all values ('fleet.created', 'beside it', 'system', now())`);
  const ctx = contextOf(quiet.services, 'test', null);
  const first = await findCompaniesToPublish(ctx);
  expect(first).toEqual({ companies: ['a giant'], last: 'a giant' });
  expect(await findCompaniesToPublish(ctx, first.last)).toEqual({ companies: ['beside it'], last: '' });

  await startGateway({ workers: true, on: quiet });
  await until(async () => {
    const [left] = await quiet.execute<{ count: number }>('select count(*)::int from event where position is null');
    return left?.count === 0 ? true : null;
  });
  // Many are published in several steps, in the order of writing.
  const [{ ordered } = {}] = await quiet.execute<{ ordered: number }>(`select count(*)::int as ordered from (
    select position, row_number() over (order by seq) as place from event where company = 'a giant') log
    where position = place`);
  expect(ordered).toBe(1500);
});

describe.runIf(kind === 'postgresql')('a company whose log is locked', () => {
  test('delays no other company', async () => {
    const [held, other] = [await open(), await open()];
    const em = one.database.orm.em.fork();
    await em.begin();
    await em.execute(`select from company where company = '${held.company}' for update`);
    await createFleet(held.clients[0] as Client);
    await createFleet(other.clients[0] as Client);
    // A publisher that finds the log locked does not wait for it.
    for (let written = 1; written < 10; written++) {
      await createFleet(other.clients[written % 2] as Client);
      expect(await other.log()).toHaveLength(written + 1);
      expect(
        await one.execute(
          'select pid from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()',
        ),
      ).toEqual([]);
    }
    const [waiting] = await one.execute<{ count: number }>(
      `select count(*)::int from event where company = '${held.company}' and position is null`,
    );
    expect(waiting).toEqual({ count: 1 });
    await em.commit();
    expect(await held.log()).toHaveLength(1);
    for (const { close } of [...held.followers, ...other.followers]) close();
  });
});

test('a company whose events cannot be published delays no other company, and is counted as a failure', async () => {
  const gateway = await startGateway({ workers: true });
  await gateway.execute(`create function refuse() returns trigger language plpgsql as $$
    begin if new.company = 'broken' then raise 'no history'; end if; return new; end $$;
    create trigger refuse before insert on history for each row execute function refuse()`);
  const clients = await Promise.all(['a before', 'broken', 'zz behind'].map((company) => gateway.as(company)));
  const unpublished = async () =>
    (
      await gateway.execute<{ company: string }>(
        'select distinct company from event where position is null order by company',
      )
    ).map(({ company }) => company);
  for (let round = 0; round < 3; round++) {
    for (const client of clients) await createFleet(client);
    await until(async () => (await unpublished()).join() === 'broken');
  }
  // More than one look at the unpublished events finds.
  await gateway.execute(`insert into event (company, type, actor, at, data) select company, type, actor, at, data
    from event, generate_series(1, 1200) where company = 'broken' and type = 'fleet.created' limit 1200`);
  await createFleet(clients[2] as Client);
  await until(async () => (await unpublished()).join() === 'broken');
  const metrics = async () => String((await gateway.anyone.get('/metrics')).body);
  expect(await metrics()).toMatch(/^fleet_gateway_job_failures_total\{kind="event"\} [1-9]/m);
  await gateway.execute(`update event set at = now() - interval '1 hour' where company = 'broken'`);
  await until(async () => /^fleet_gateway_due_oldest_seconds\{kind="event"\} 36\d\d/m.test(await metrics()));
});

test.each([
  ['deliveries', 'delivery'],
  ['vehicles', 'vehicle'],
])('a company whose %s cannot be claimed delays no other company', async (_name, table) => {
  const gateway = await startGateway({ workers: true, settings });
  await gateway.execute(`create function refuse() returns trigger language plpgsql as $$
    begin if new.company = 'broken' then raise 'no claim'; end if; return new; end $$;
    create trigger refuse before update on ${table} for each row execute function refuse()`);
  const begin = async (company: string) => {
    const client = await gateway.as(company);
    await client.post('/webhooks', { url: receiver.url(`/${company}`) });
    await addVehicle(client);
  };
  await begin('broken');
  const failed = new RegExp(`^fleet_gateway_job_failures_total\\{kind="${table}"\\} [1-9]`, 'm');
  await until(async () => failed.test(String((await gateway.anyone.get('/metrics')).body)));
  for (const company of ['another', 'zz behind']) {
    await begin(company);
    await until(async () => {
      const [row] = await gateway.execute<{
        done: boolean;
      }>(`select exists (select from vehicle where company = '${company}'
        and status <> 'PENDING') and exists (select from delivery where company = '${company}' and state = 'SUCCEEDED') as done`);
      return row?.done;
    });
  }
});

describe.runIf(kind === 'postgresql')('a webhook whose deletion fails', () => {
  test.each(['SUCCEEDED', 'PENDING'])('at a %s delivery gets the events since', async (state) => {
    const opened = await open();
    const client = opened.clients[0] as Client;
    const ofCompany = `from delivery where company = '${opened.company}'`;
    await createFleet(client);
    await until(async () =>
      (await one.execute(`select ${ofCompany} and state = 'SUCCEEDED'`)).length > 0 ? true : null,
    );
    await one.execute(`update delivery set state = '${state}' where company = '${opened.company}'`);
    const em = one.database.orm.em.fork();
    await em.begin();
    await em.execute(`select ${ofCompany} for update`);
    const deleting = client.delete(`/webhooks/${opened.webhook.id}`);
    await until(async () => {
      const waiting = await one.execute(
        'select pid from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()',
      );
      return waiting.length > 0 ? true : null;
    });
    await createFleet(client);
    expect((await deleting).status).toBe(429);
    await em.commit();
    expect(await opened.log()).toHaveLength(2);
    expect((await client.delete(`/webhooks/${opened.webhook.id}`)).status).toBe(200);
    expect(await one.execute(`select ${ofCompany}`)).toEqual([]);
    for (const { close } of opened.followers) close();
  });
});
