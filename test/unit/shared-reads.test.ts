import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ChangeFeed } from '../../src/core/changes.ts';
import {
  type Context,
  contextOf,
  contextOfNewestRead,
  contextOfSharedRead,
  type Services,
} from '../../src/core/context.ts';
import { read } from '../../src/core/database.ts';
import { Followers } from '../../src/core/followers.ts';
import { followEvents } from '../../src/core/following/follow-events.ts';
import type { SlowReadOptions } from '../../src/database/database.ts';
import { openFairness } from '../../src/fairness/places.ts';

const caller = { company: 'acme', subject: 'someone', scopes: null, expiresAt: Number.POSITIVE_INFINITY };

/** Services whose database answers when it is told to, and ends a read when its signal aborts. */
function openServices() {
  const answered = Promise.withResolvers<unknown[]>();
  const slowRead = vi.fn(
    (_text: string, _values: readonly unknown[], { signal }: SlowReadOptions): Promise<unknown[]> => {
      const ended = Promise.withResolvers<never>();
      signal?.addEventListener('abort', () => ended.reject(new Error('Connection terminated')));
      return Promise.race([answered.promise, ended.promise]);
    },
  );
  const changes = { follow: vi.fn() };
  const services = {
    config: { DATABASE_READ_URLS: ['replica'], LIMIT_STATEMENT_SECONDS: 5 },
    fairness: { ...openFairness(), turns: { isAlone: () => false } },
    followers: new Followers(changes as unknown as ChangeFeed, 100),
    clock: Date.now,
    database: { slowRead },
  };
  return { services: services as unknown as Services & typeof services, answered, changes };
}

function connect(services: Services) {
  const client = new AbortController();
  return { ctx: contextOf(services, 'request', caller, () => client.signal), leave: () => client.abort() };
}

/** Takes all places that the company may have; gives their release. */
async function takePlaces({ fairness: { places } }: Services): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (let at = 0; at < places.capacity; at++) void places.run(caller.company, () => promise);
  await vi.waitFor(() => expect(places.waiting).toBeGreaterThan(0));
  return resolve;
}

describe('a read that followers share goes on when the client of the first leaves', () => {
  const readBy = (ctx: Context, object: object) =>
    ctx.services.followers.readOf(object, ['select'], () => read(contextOfSharedRead(ctx), 'select', []));

  test('while the database reads', async () => {
    const { services, answered } = openServices();
    const event = services.followers.share({});
    const [first, second] = [connect(services), connect(services)];
    const reads = [readBy(first.ctx, event), readBy(second.ctx, event)];
    await vi.waitFor(() => expect(services.database.slowRead).toHaveBeenCalledOnce());
    first.leave();
    answered.resolve([['1']]);
    expect(await Promise.all(reads)).toEqual([[['1']], [['1']]]);
  });

  test("while it waits among the company's connections", async () => {
    const { services, answered } = openServices();
    const event = services.followers.share({});
    const release = await takePlaces(services);
    const [first, second] = [connect(services), connect(services)];
    const reads = [readBy(first.ctx, event), readBy(second.ctx, event)];
    first.leave();
    answered.resolve([['1']]);
    await new Promise(setImmediate);
    expect(services.database.slowRead).not.toHaveBeenCalled();
    release();
    expect(await Promise.all(reads)).toEqual([[['1']], [['1']]]);
  });

  test('of the end of the log', async () => {
    const { services, changes } = openServices();
    services.database.slowRead.mockResolvedValue([['1', null, 'true', null, null]]);
    const [first, second] = [connect(services), connect(services)];
    const over = new AbortController();
    const streams = [
      await followEvents(first.ctx, {}, over.signal),
      await followEvents(second.ctx, {}, over.signal),
    ] as const;
    const release = await takePlaces(services);
    const waiting = services.fairness.places.waiting;
    const nexts = streams.map((stream) => stream.next());
    await vi.waitFor(() => expect(services.fairness.places.waiting).toBe(waiting + 1));
    first.leave();
    release();
    await vi.waitFor(() => expect(services.fairness.places.waiting).toBe(0));
    expect(changes.follow).toHaveBeenCalledOnce();
    over.abort();
    expect(await Promise.all(nexts)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });
});

test('a follower that lags behind gets all events that came meanwhile, not one page of them', async () => {
  // Without it, shared sources look by themselves after some time.
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { services, changes } = openServices();
  let end = 1;
  services.database.slowRead.mockImplementation(async (_text: string, values: readonly unknown[], { asTexts }) => {
    if (!asTexts) return [{ end: String(end) }];
    const after = Number(values.find((value) => /^\d+$/.test(String(value))) ?? end);
    const positions = Array.from({ length: end - after }, (_, at) => String(after + at + 1));
    const eventJson = (id: string) => JSON.stringify({ id, type: 'fleet.created', vehicles: [] });
    const rows = positions.map((position) => [String(end), null, 'true', position, eventJson(position)]);
    return rows.length > 0 ? rows : [[String(end), null, 'true', null, null]];
  });
  const { ctx } = connect(services);
  const over = new AbortController();
  const quick = await followEvents(ctx, {}, over.signal);
  const slow = await followEvents(ctx, {}, over.signal);
  const publish = () => {
    end += 1;
    changes.follow.mock.calls[0]?.[0].event('acme');
  };
  const next = async (events: typeof slow) => (await events.next()).value?.id;
  publish();
  expect([await next(quick), await next(slow)]).toEqual(['2', '2']);
  for (const id of ['3', '4', '5']) {
    publish();
    expect(await next(quick)).toBe(id);
  }
  for (const id of ['3', '4', '5']) expect(await next(slow)).toBe(id);
  over.abort();
});

test('a read of one client ends when the client leaves', async () => {
  const { services } = openServices();
  const { ctx, leave } = connect(services);
  const reading = read(contextOfNewestRead(ctx), 'select', []);
  await vi.waitFor(() => expect(services.database.slowRead).toHaveBeenCalledOnce());
  leave();
  await expect(reading).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'The client has left.' });
});
