import { expect, test } from 'vitest';
import type { Json } from './support/client.ts';
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
