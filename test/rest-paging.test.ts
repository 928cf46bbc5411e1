import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Client, type Json, nextOf } from './support/client.ts';
import { addVehicle, addVehicles, createContract, createFleet, newVins, recount } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();

interface List {
  path: string;
  client: Client;
}

/** Lists with pages, each with `count` rows in a separate company. */
const lists = {
  async fleets(company: string, count: number): Promise<List> {
    const client = await gateway.as(company);
    for (let made = 0; made < count; made++) await createFleet(client);
    return { client, path: '/fleets' };
  },
  async vehicles(company: string, count: number): Promise<List> {
    const client = await gateway.as(company);
    const fleet = await createFleet(client);
    await addVehicle(client);
    if (count > 0) await addVehicles(client, newVins(count), fleet);
    return { client, path: `/fleets/${fleet.id}/vehicles` };
  },
  async contracts(company: string, count: number): Promise<List> {
    const client = await gateway.as(company);
    for (let made = 0; made < count; made++) await createContract(client);
    return { client, path: `/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}` };
  },
};

const withQuery = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`;

/** All pages from here to the end; `between` runs after each. */
async function followLinks({ client, path }: List, limit: number, between = async () => {}): Promise<Json[][]> {
  const pages: Json[][] = [];
  for (let next: string | undefined = withQuery(path, `limit=${limit}`); next; ) {
    const { status, headers, body }: Awaited<ReturnType<Client['get']>> = await client.get(next);
    expect(status).toBe(200);
    pages.push(body);
    next = nextOf(headers);
    await between();
  }
  return pages;
}

describe.each(Object.entries(lists))('GET %s', (name, listWith) => {
  test('Link followed to the end gives every row once, in the order of the whole list', async () => {
    const list = await listWith(`${name} in pages`, 7);
    const whole = (await list.client.get(list.path)).body;
    expect(whole).toHaveLength(7);
    for (const [limit, sizes] of [
      [1, [1, 1, 1, 1, 1, 1, 1]],
      [3, [3, 3, 1]],
      [7, [7]],
      [1000, [7]],
    ] as const) {
      const pages = await followLinks(list, limit);
      expect(pages.map((page) => page.length)).toEqual(sizes);
      expect(pages.flat()).toEqual(whole);
    }
  });

  test('without limit and after it is the whole list, without Link', async () => {
    const list = await listWith(`${name} as a whole`, 3);
    const { headers, body } = await list.client.get(list.path);
    expect(body).toHaveLength(3);
    expect(headers.has('link')).toBe(false);
  });

  test('an empty list is one empty page', async () => {
    const list = await listWith(`${name}, none`, 0);
    expect(await followLinks(list, 5)).toEqual([[]]);
  });

  test.each(['1001', '9999', '10000', '9'.repeat(15), '9'.repeat(16), '9'.repeat(400)])(
    'limit=%s is refused with the largest limit',
    async (limit) => {
      const list = await listWith('wrong limits', 0);
      const { status, body } = await list.client.get(withQuery(list.path, `limit=${limit}`));
      expect([status, body.errors]).toEqual([
        400,
        [{ path: 'limit', code: expect.any(String), message: 'must be at most 1000' }],
      ]);
    },
  );

  test.each(['0', '1001', '-1', '1.5', 'x', '', '1e2', ' 1'])('limit=%s is 400', async (limit) => {
    const list = await listWith('wrong limits', 0);
    const { status, body } = await list.client.get(withQuery(list.path, `limit=${encodeURIComponent(limit)}`));
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'VALIDATION_FAILED' });
    expect(body.errors[0].path).toBe('limit');
  });

  test.each([
    ...['', 'x', 'AAAA', '!!!', 'x'.repeat(22), 'A'.repeat(5000)],
    // This text has the length of an id, but is not one.
    'AAAAAAAAAAAAAAAAAAAAAQ',
  ])('after=%s is no cursor: 400', async (after) => {
    const list = await listWith('wrong cursors', 0);
    const { status, body } = await list.client.get(withQuery(list.path, `after=${after}`));
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'after', code: 'INVALID_CURSOR' }] },
    });
  });

  test('a cursor of a year that PostgreSQL has not is no cursor: 400', async () => {
    const list = await listWith('wrong cursors', 0);
    const id = Buffer.alloc(16).toString('latin1');
    const after = Buffer.from(`${id}VERIFIED_AT=0000-01-01T00:00:00.000000Z`).toString('base64url');
    const { status, body } = await list.client.get(`/vehicles?sort=verifiedAt&after=${after}`);
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'after', code: 'INVALID_CURSOR' }] },
    });
  });

  test('a parameter given twice is 400', async () => {
    const list = await listWith('twice', 0);
    expect(await list.client.get(withQuery(list.path, 'limit=1&limit=2'))).toMatchObject({ status: 400 });
  });
});

test('vehicles: cursors stay correct during insertions and deletions between pages', async () => {
  let run = 0;
  const change = fc.record({ add: fc.nat({ max: 3 }), remove: fc.array(fc.nat({ max: 30 }), { maxLength: 3 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 12 }),
      fc.array(change, { maxLength: 6 }),
      async (limit, count, changes) => {
        const { client, path } = await lists.vehicles(`property ${run++}`, count);
        const fleetId = path.split('/')[2];
        const before: Json[] = (await client.get(path)).body;
        const [everThere, removed] = [before.map(({ id }) => id), new Set<string>()];
        const pages = await followLinks({ client, path }, limit, async () => {
          const next = changes.shift();
          if (!next) return;
          for (const at of next.remove) {
            const id = everThere[at % everThere.length];
            removed.add(id);
            await client.delete(`/vehicles/${id}`);
          }
          if (next.add > 0) {
            const { body } = await client.post('/vehicles', { fleetId, vins: newVins(next.add) });
            everThere.push(...body.vehicles.map(({ id }: Json) => id));
          }
        });
        const seen = pages.flat().map(({ id }) => id);
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toEqual(everThere.filter((id) => seen.includes(id)));
        // Rows that existed all the time are on a page.
        for (const { id } of before) if (!removed.has(id)) expect(seen).toContain(id);
        for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit);
      },
    ),
    { numRuns: 15 },
  );
});

test('vehicles: a list of several thousand is complete, in order, and valid JSON', async () => {
  const client = await gateway.as('large');
  const fleet = await createFleet(client);
  await gateway.execute(`insert into vehicle (id, company, fleet_id, vin, created_at)
    select ('01980000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'large', '${fleet.id}',
      'WBA' || lpad(n::text, 14, '0'), now() from generate_series(1, 2500) n`);
  await gateway.execute(recount);
  const { status, body } = await client.get(`/fleets/${fleet.id}/vehicles`);
  expect(status).toBe(200);
  expect(body.map(({ vin }: Json) => Number(vin.slice(3)))).toEqual(Array.from({ length: 2500 }, (_, at) => at + 1));
  expect((await client.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(2500);
});

test('a page without a limit has 50 rows', async () => {
  const { client, path } = await lists.vehicles('default', 53);
  const first = await client.get(`${path}?limit=1`);
  const { headers, body } = await client.get(nextOf(first.headers)?.replace('limit=1&', '') ?? '');
  expect(body).toHaveLength(50);
  expect(nextOf(headers)).toContain('limit=50');
});

test('a cursor is opaque, and valid for its company only', async () => {
  const { client, path } = await lists.fleets('mine', 2);
  const { headers, body } = await client.get(`${path}?limit=1`);
  const next = nextOf(headers) ?? '';
  expect(next).not.toContain(body[0].id);
  await createFleet(await gateway.as('theirs'));
  const theirs = (await (await gateway.as('theirs')).get(next)).body;
  expect(theirs.every((fleet: Json) => fleet.company === 'theirs')).toBe(true);
});

test('HEAD of a long list reads one page of it', async () => {
  const client = await gateway.as('head of a long list');
  const fleet = await createFleet(client);
  await addVehicles(client, newVins(600), fleet);
  const path = `/fleets/${fleet.id}/vehicles`;
  const { read } = gateway.database;
  let reads = 0;
  gateway.database.read = (...statement) => {
    reads += 1;
    return read(...statement);
  };
  onTestFinished(() => void Object.assign(gateway.database, { read }));
  const { status, headers } = await client.send('HEAD', path);
  expect([status, headers.get('content-type'), reads]).toEqual([200, expect.stringContaining('application/json'), 1]);
  expect((await client.get(path)).body).toHaveLength(600);
  expect(reads).toBe(4);
});
