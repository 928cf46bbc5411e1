import { afterEach, expect, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { lowestIdAtTime } from '../src/core/sql/sql.ts';
import { upkeep } from '../src/jobs/upkeep.ts';
import type { Json } from './support/client.ts';
import { unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const DAY_MS = 86_400_000;
const gateway = await startGateway({ settings: { EVENTS_KEEP_DAYS: '60' } });
const acme = await gateway.as('acme');
const now = Date.now();

afterEach(() => void vi.useRealTimers());

/** Runs the upkeep with a stopped clock. */
async function runUpkeep(): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now });
  await upkeep({
    open: () => contextOf(gateway.services, 'job', null),
    withBackoff: (step) => step(),
    onError: (error) => expect.fail(String(error)),
  }).run(new AbortController().signal);
}

const namesOf = async (select: string): Promise<string[]> =>
  (await gateway.execute<{ name: string }>(select)).map(({ name }) => name);

test('published events are deleted after EVENTS_KEEP_DAYS, finished deliveries after 30 days', async () => {
  const { body: webhook } = await acme.post('/webhooks', { url: 'https://example.com/hook' });
  const event = (name: string, time: number, position: number | null) =>
    gateway.execute(`insert into event (id, company, type, actor, at, position, data)
      values ('${lowestIdAtTime(time)}', 'acme', 'fleet.created', '${name}', now(), ${position}, '{}')`);
  await event('past its time', now - 60 * DAY_MS - 1, 1);
  await event('not published', now - 60 * DAY_MS - 2, null);
  await event('at its time', now - 60 * DAY_MS, 2);
  const delivery = async (name: string, days: number, ms: number, state: string) => {
    const time = now - days * DAY_MS - ms;
    await event(`of a delivery ${name}`, now - 40 * DAY_MS + ms * 10 + days, null);
    await gateway.execute(`insert into delivery (id, company, webhook_id, event_id, state, created_at, answer)
      select '${lowestIdAtTime(time)}', 'acme', '${webhook.id}', id, '${state}', now(), '${name}' from event
      where actor = 'of a delivery ${name}'`);
  };
  await delivery('past its time', 30, 1, 'SUCCEEDED');
  await delivery('failed past its time', 30, 2, 'FAILED');
  await delivery('under way', 30, 3, 'PENDING');
  await delivery('at its time', 30, 0, 'SUCCEEDED');
  await runUpkeep();
  expect(await namesOf(`select actor as name from event where actor not like 'of a%' order by actor`)).toEqual([
    'at its time',
    'not published',
  ]);
  expect(await namesOf('select answer as name from delivery order by answer')).toEqual(['at its time', 'under way']);
});

test('stored answers are deleted after 24 hours, any number of them', async () => {
  const answers = (name: string, ago: number, count: number) =>
    gateway.execute(`insert into idempotency_key (company, key, request, body, created_at)
      select 'acme', '${name} ' || n, '', '', '${new Date(now - ago).toISOString()}' from generate_series(1, ${count}) n`);
  await answers('past their time', DAY_MS, 5001);
  await answers('in their time', DAY_MS - 1, 1);
  await runUpkeep();
  expect(await namesOf('select key as name from idempotency_key')).toEqual(['in their time 1']);
});

test('since is inclusive, until is exclusive', async () => {
  const globex = await gateway.as('globex');
  await gateway.execute(`insert into company (company, position) values ('globex', 1) on conflict do nothing`);
  await gateway.execute(`insert into event (company, type, actor, at, position, data)
    values ('globex', 'fleet.created', 'ada', '2026-03-01T12:00:00.500Z', 1, '{}')`);
  const query = `query ($from: DateTime, $to: DateTime, $since: DateTime, $until: DateTime) {
    events(filter: { from: $from, to: $to, since: $since, until: $until }) { totalCount } }`;
  const found = async (filter: Record<string, string>) => {
    const { body } = await globex.get(`/events?${new URLSearchParams(filter)}`);
    const { data } = (await globex.post('/graphql', { query, variables: filter })).body as Json;
    expect(data.events.totalCount).toBe(body.length);
    return body.length;
  };
  const [before, at, after] = [499, 500, 501].map((ms) => `2026-03-01T12:00:00.${ms}Z`) as [string, string, string];
  for (const name of ['from', 'since']) {
    expect(await Promise.all([before, at, after].map((time) => found({ [name]: time })))).toEqual([1, 1, 0]);
  }
  for (const name of ['to', 'until']) {
    expect(await Promise.all([before, at, after].map((time) => found({ [name]: time })))).toEqual([0, 0, 1]);
  }
  expect(await Promise.all([at, after].map((to) => found({ from: at, to })))).toEqual([0, 1]);
});

test('a step of the upkeep with much to do delays no other', async () => {
  const past = new Date(now - 90 * DAY_MS);
  await gateway.execute(`
    insert into idempotency_key (company, key, request, created_at)
      select 'acme', 'key ' || n, '', '${past.toISOString()}' from generate_series(1, 12000) n;
    insert into event (id, company, type, actor, at, position, data)
      values ('${lowestIdAtTime(past.getTime())}', 'acme', 'fleet.created', 'old', now(), 1000, '{}');
    create table seen (answers int);
    create function see() returns trigger language plpgsql as $$
      begin insert into seen select count(*) from idempotency_key; return old; end $$;
    create trigger see before delete on event for each row execute function see()`);
  await runUpkeep();
  const [seen] = await gateway.execute<{ answers: number }>('select answers from seen');
  expect(seen?.answers).toBeGreaterThan(1000);
  expect(await gateway.execute(`select from idempotency_key where key like 'key %'`)).toEqual([]);
});

test('activity of hours without events is deleted, also of a company that is silent from then on', async () => {
  const old = now - 60 * DAY_MS - 10;
  const hour = (time: number) => `date_trunc('hour', '${new Date(time).toISOString()}'::timestamptz, 'UTC')`;
  const counted = (company: string, time: number) =>
    gateway.execute(`insert into activity (company, hour, fleet_id, type, events, vehicles)
      values ('${company}', ${hour(time)}, '${unknownId}', 'fleet.created', 1, 0)`);
  for (const [index, company] of ['silent', 'busy'].entries()) {
    await gateway.execute(`insert into event (id, company, type, actor, at, position, data)
      values ('${lowestIdAtTime(old + index)}', '${company}', 'fleet.created', 'a', now(), 1, '{}')`);
    await counted(company, old);
  }
  await gateway.execute(`insert into event (id, company, type, actor, at, position, data)
    values ('${lowestIdAtTime(old + 15)}', 'busy', 'fleet.created', 'a', now(), 2, '{}')`);
  await runUpkeep();
  expect(await namesOf(`select company as name from activity where company in ('silent', 'busy')`)).toEqual(['busy']);
});
