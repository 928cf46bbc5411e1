import { createClient } from 'graphql-ws';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import type { Client, Json } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import { createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });

/** Functions that read events from the last cursor on, by API. */
const readers: Record<string, (company: string) => Promise<() => Promise<Json[]>>> = {
  async 'GET /events?after='(company) {
    const client = await gateway.as(company);
    let after = '';
    return async () => {
      const { body } = await client.get(`/events?limit=7${after && `&after=${after}`}`);
      after = body.at(-1)?.id ?? after;
      return body;
    };
  },
  async 'events(after:)'(company) {
    const client = await gateway.as(company);
    let after: string | null = null;
    const query = `query ($after: String) { events(first: 7, after: $after) {
      pageInfo { endCursor } nodes { id type vehicles { vin } } } }`;
    return async () => {
      const { body } = await client.post('/graphql', { query, variables: { after } });
      after = body.data.events.pageInfo.endCursor ?? after;
      return body.data.events.nodes;
    };
  },
};

test.each(Object.entries(readers))(
  '%s from the last cursor during uploads and additions misses nothing',
  async (name, open) => {
    const company = `follows ${name}`;
    const client = await gateway.as(company);
    const next = await open(company);
    const fleet = await createFleet(client);
    const vins = newVins(3_000);
    let ended = false;
    const followed: Json[] = [];
    const added = () => followed.flatMap(({ type, vehicles }) => (/added$/i.test(type) ? vehicles : []));
    const following = (async () => {
      while (!ended) followed.push(...(await next()));
    })();
    const files = [vins.slice(0, 1_200), vins.slice(1_200, 2_400).toReversed()];
    const uploads = files.map((file) => client.post('/vehicles/file', uploadForm(fleet.id, file.join('\n'))));
    const single = (async () => {
      for (let at = 2_400; at < vins.length; at += 50) {
        await client.post('/vehicles', { fleetId: fleet.id, vins: vins.slice(at, at + 50) });
      }
    })();
    const statuses = (await Promise.all(uploads)).map(({ status }) => status);
    await single;
    expect(statuses).toEqual([201, 201]);
    await until(() => added().length >= vins.length);
    ended = true;
    await following;
    expect(new Set(followed.map(({ id }) => id)).size).toBe(followed.length);
    expect(
      added()
        .map(({ vin }: Json) => vin)
        .sort(),
    ).toEqual(vins.toSorted());
  },
);

/** Has the log end earlier, as on a standby that takes over and lacks the last events. */
const setBack = (company: string, by: number) =>
  gateway.execute(`
    with moved as (update company set position = position - ${by} where company = '${company}' returning position),
      without as (delete from history where company = '${company}' and position > (select position from moved))
    delete from event where company = '${company}' and position > (select position from moved)`);

const followers: Record<string, (client: Client, filter: string) => Promise<() => Json[]>> = {
  async 'A stream'(client, filter) {
    const stream = await openStream(client, `/events/stream${filter && `?type=${filter}`}`);
    onTestFinished(() => stream.close());
    const heard: Json[] = [];
    const listen = async () => {
      for (;;) heard.push((await stream.next()).data);
    };
    listen().catch(() => {});
    return () => heard;
  },
  async 'A subscription'(client, filter) {
    const socket = createClient({
      url: `${gateway.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: client.headers.authorization },
    });
    onTestFinished(() => void socket.dispose());
    const heard: Json[] = [];
    const types = filter && `(filter: { types: [${filter.toUpperCase().replace('.', '_')}] })`;
    const before = gateway.services.followers.count;
    socket.subscribe(
      { query: `subscription { events${types} { id fleetId } }` },
      { next: ({ data }: Json) => heard.push(data.events), error: () => {}, complete: () => {} },
    );
    await until(() => gateway.services.followers.count > before);
    return () => heard;
  },
};

test.each(Object.keys(followers).flatMap((name) => [[name, ''] as const, [name, 'fleet.created'] as const]))(
  '%s (%s) goes back where positions of the log are given again',
  async (name, filter) => {
    const company = `set back ${name} ${filter || 'all'}`;
    const client = await gateway.as(company);
    await createFleet(client);
    await until(async () => (await client.get('/events')).body.length === 1);
    const heard = await (followers[name] as (typeof followers)[string])(client, filter);
    const hearing = async (count: number) => {
      const { id } = await createFleet(client);
      await until(() => heard().length >= count && heard().at(-1)?.fleetId === id);
    };
    for (const count of [1, 2, 3, 4]) await hearing(count);
    await setBack(company, 2);
    // A single event, whose position is that of one that was heard; and then more than were lost.
    for (const count of [5, 6, 7, 8]) await hearing(count);
    const ids = heard().map(({ id }) => id);
    expect(ids).toHaveLength(8);
    expect(new Set(ids).size).toBe(8);
  },
);

test('an event that is kept no longer has a follower go on', async () => {
  const client = await gateway.as('trimmed');
  const heard = await (followers['A stream'] as (typeof followers)[string])(client, '');
  for (const count of [1, 2]) {
    await createFleet(client);
    await until(() => heard().length === count);
  }
  await gateway.execute(`delete from event where company = 'trimmed'`);
  await createFleet(client);
  await until(() => heard().length === 3);
});
