import fc from 'fast-check';
import { beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { openApiDocument } from '../src/rest/openapi/openapi-document.ts';
import type { Answer, Client, Json } from './support/client.ts';
import {
  addVehicle,
  addVehicles,
  contractFields,
  createContract,
  createFleet,
  fleetFields,
  newVin,
  newVins,
} from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const { kind } = inject('database');
const gateway = await startGateway();
/** A gateway that verifies vehicles in the background. */
const working = await startGateway({ workers: true });
const acme = await gateway.as('acme');

const tagOf = ({ headers }: Answer): string => headers.get('etag') ?? '';
const times = <T>(count: number, act: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).toSorted();

/** Kinds of resources: how to make one, and a change that If-Match may prevent. */
const kinds: Record<string, { make(client: Client): Promise<string>; change?: Json }> = {
  fleet: { make: async (client) => `/fleets/${(await createFleet(client)).id}`, change: { name: 'Renamed' } },
  vehicle: { make: async (client) => `/vehicles/${(await addVehicle(client)).id}` },
  contract: {
    make: async (client) => `/contracts/${(await createContract(client)).id}`,
    change: { name: 'Renamed' },
  },
  webhook: {
    make: async (client) => `/webhooks/${(await client.post('/webhooks', { url: 'https://example.com/' })).body.id}`,
    change: { description: 'Renamed' },
  },
};

test('`kinds` has every operation on one fleet, vehicle, contract or webhook, as documented', () => {
  const { paths } = openApiDocument() as Json;
  const documented = Object.entries<Json>(paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods)
      .filter(([, { parameters = [] }]) => parameters.some(({ $ref = '' }) => /If-(None-)?Match$/.test($ref)))
      .map(([method]) => `${method} ${path}`),
  );
  expect(documented.toSorted()).toEqual([
    'delete /contracts/{id}',
    'delete /fleets/{fleetId}',
    'delete /vehicles/{vehicleId}',
    'delete /webhooks/{id}',
    'get /contracts/{id}',
    'get /fleets/{fleetId}',
    'get /vehicles/{vehicleId}',
    'get /webhooks/{id}',
    'patch /contracts/{id}',
    'patch /fleets/{fleetId}',
    'patch /webhooks/{id}',
    'post /contracts/{id}/end',
  ]);
});

describe.each(Object.entries(kinds))('a %s', (_, { make, change }) => {
  test('has a weak tag, for which GET answers 304 until the next change', async () => {
    const path = await make(acme);
    const first = await acme.get(path);
    expect(tagOf(first)).toMatch(/^W\/"[\w-]{22}"$/);
    expect(tagOf(await acme.get(path))).toBe(tagOf(first));
    const opaque = tagOf(first).slice(2);
    for (const header of [tagOf(first), opaque, '*', ` "other" , ${opaque}`]) {
      const { status, headers, body } = await acme.get(path, { 'if-none-match': header });
      expect([status, headers.get('etag'), body]).toEqual([304, tagOf(first), null]);
    }
    for (const header of ['"other"', 'W/"other"', opaque.slice(1, -1), 'nonsense', '']) {
      expect((await acme.get(path, { 'if-none-match': header })).status).toBe(200);
    }
    const head = await acme.send('HEAD', path, undefined, { 'if-none-match': opaque });
    expect([head.status, tagOf(head)]).toEqual([304, tagOf(first)]);
  });

  test("another company's is 404 with any tag", async () => {
    const path = await make(acme);
    const tag = tagOf(await acme.get(path));
    const globex = await gateway.as('globex');
    for (const value of [tag, '*', '"other"']) {
      expect((await globex.get(path, { 'if-none-match': value })).status).toBe(404);
      expect((await globex.delete(path, undefined, { 'if-match': value })).status).toBe(404);
      if (change) expect((await globex.patch(path, change, { 'if-match': value })).status).toBe(404);
    }
    expect(tagOf(await acme.get(path))).toBe(tag);
  });

  test('is changed with the present tag only', async () => {
    const path = await make(acme);
    const tag = tagOf(await acme.get(path));
    const refused = { status: 412, body: { code: 'PRECONDITION_FAILED' } };
    for (const stale of ['"other"', 'W/"x", "y"', '']) {
      expect(await acme.delete(path, undefined, { 'if-match': stale })).toMatchObject(refused);
      if (change) expect(await acme.patch(path, change, { 'if-match': stale })).toMatchObject(refused);
    }
    expect(tagOf(await acme.get(path))).toBe(tag);
    if (change) {
      const changed = await acme.patch(path, change, { 'if-match': tag });
      expect(changed.status).toBe(200);
      expect(tagOf(changed)).not.toBe(tag);
      expect(tagOf(await acme.get(path))).toBe(tagOf(changed));
      expect(await acme.patch(path, { ...change }, { 'if-match': tag })).toMatchObject(refused);
      expect((await acme.patch(path, change, { 'if-match': '*' })).status).toBe(200);
    }
    const now = tagOf(await acme.get(path));
    expect((await acme.delete(path, undefined, { 'if-match': `"other", ${now}` })).status).toBeLessThan(300);
    expect((await acme.delete(path, undefined, { 'if-match': now })).status).toBe(404);
  });

  test('is changed by one of twenty requests with the same tag', async () => {
    const path = await make(acme);
    const header = { 'if-match': tagOf(await acme.get(path)) };
    if (change) {
      const [name] = Object.keys(change) as [string];
      const answers = await times(20, (index) => acme.patch(path, { [name]: `By ${index}` }, header));
      expect(statuses(answers)).toEqual([200, ...Array(19).fill(412)]);
      const [winner] = answers.filter(({ status }) => status === 200);
      expect((await acme.get(path)).body).toEqual(winner?.body);
    }
    const last = { 'if-match': tagOf(await acme.get(path)) };
    const deleted = await times(20, () => acme.delete(path, undefined, last));
    expect(deleted.filter(({ status }) => status < 300)).toHaveLength(1);
    expect(new Set(deleted.map(({ status }) => status)).isSubsetOf(new Set([200, 204, 404]))).toBe(true);
  });

  test.runIf(change)('is not deleted with the tag before a concurrent change', async () => {
    for (let round = 0; round < (kind === 'postgresql' ? 10 : 3); round++) {
      const path = await make(acme);
      const header = { 'if-match': tagOf(await acme.get(path)) };
      const both = await Promise.all([acme.patch(path, change, header), acme.delete(path, undefined, header)]);
      expect([
        [200, 412],
        [404, 200],
        [404, 204],
      ]).toContainEqual(both.map(({ status }) => status));
    }
  });
});

test('a creation has the tag of a later read', async () => {
  const made: [Answer, string][] = [];
  const fleet = await acme.post('/fleets', fleetFields);
  made.push([fleet, `/fleets/${fleet.body.id}`]);
  const contract = await acme.post('/contracts', contractFields(await addVehicle(acme)));
  made.push([contract, `/contracts/${contract.body.id}`]);
  for (const [answer, path] of made) expect([path, tagOf(await acme.get(path))]).toEqual([path, tagOf(answer)]);
});

/** Ways to change resources; some change nothing. */
const ways = {
  rename: ({ client, fleet }: World, n: number) => client.patch(`/fleets/${fleet}`, { name: `Name ${n % 3}` }),
  'rename by GraphQL': ({ client, fleet }: World, n: number) =>
    client.post('/graphql', {
      query: 'mutation ($input: UpdateFleetInput!) { updateFleet(input: $input) { fleet { id } } }',
      variables: { input: { id: fleet, vat: `V${n % 3}` } },
    }),
  add: ({ client, fleet }: World, n: number) => client.post('/vehicles', { fleetId: fleet, vins: newVins(n % 2) }),
  upload: ({ client, fleet }: World) =>
    client.post(`/vehicles/file?fleetId=${fleet}`, newVin(), { 'content-type': 'text/csv' }),
  remove: ({ client, fleet, others }: World) =>
    client.post('/vehicles/delete', { fleetId: fleet, ids: others.splice(0, 1).concat('none') }),
  move: ({ client, fleet, elsewhere, vehicle }: World, n: number) =>
    client.post('/vehicles/move', { fleetId: n % 2 ? fleet : elsewhere, ids: [vehicle] }),
  verify: async ({ client, vin }: World) => {
    const before = (await client.get(`/vehicles/eligibility/${vin}`)).body;
    await client.post(`/vehicles/eligibility/${vin}/refresh`);
    await until(async () => {
      const { status, body } = await client.get(`/vehicles/eligibility/${vin}`);
      return status === 200 && body.verifiedAt !== before.verifiedAt;
    });
  },
  contract: ({ client, fleet, vin }: World, n: number) =>
    client.post('/contracts', contractFields({ fleetId: fleet, vin }, { pack: `pack-${n}` })),
  'webhook paused': ({ client, webhook }: World, n: number) =>
    client.patch(`/webhooks/${webhook}`, { state: n % 2 ? 'PAUSED' : 'ACTIVE' }),
  'secret rotated': ({ client, webhook }: World) => client.post(`/webhooks/${webhook}/rotate`),
  nothing: async () => {},
};
type World = Awaited<ReturnType<typeof newWorld>>;

async function newWorld(client: Client) {
  const [fleet, elsewhere] = [await createFleet(client), await createFleet(client)];
  const [vehicle, ...others] = await addVehicles(client, newVins(4), fleet);
  const contract = await createContract(client, vehicle);
  const { body: webhook } = await client.post('/webhooks', { url: 'https://example.com/', types: ['fleet.created'] });
  const ids = {
    fleet: fleet.id,
    elsewhere: elsewhere.id,
    vehicle: vehicle.id,
    contract: contract.id,
    webhook: webhook.id,
  };
  const paths = [`/fleets/${fleet.id}`, `/fleets/${elsewhere.id}`, `/vehicles/${vehicle.id}`];
  paths.push(`/contracts/${contract.id}`, `/webhooks/${webhook.id}`);
  return { client, ...ids, vin: vehicle.vin, others: others.map(({ id }) => id), paths };
}

describe('a tag changes exactly if the answer changes', () => {
  let client: Client;
  beforeAll(async () => {
    client = await working.as('tagged');
  });

  test('by any act', async () => {
    // Each run does every act twice, in random order.
    const twice = Object.keys(ways).flatMap((way) => [way, way]) as (keyof typeof ways)[];
    const whole = { minLength: twice.length, maxLength: twice.length };
    const steps = fc.tuple(fc.shuffledSubarray(twice, whole), fc.array(fc.nat(50), whole));
    await fc.assert(
      fc.asyncProperty(steps, async ([order, numbers]) => {
        const world = await newWorld(client);
        let before = new Map<string, Answer>();
        for (const [step, way] of (['nothing', ...order] as const).entries()) {
          await ways[way](world, numbers[step] ?? 0);
          const after = new Map<string, Answer>();
          for (const path of world.paths) {
            const now = await client.get(path);
            const then = before.get(path);
            after.set(path, now);
            if (!then) continue;
            const same = JSON.stringify(now.body) === JSON.stringify(then.body);
            expect([way, path, tagOf(now) === tagOf(then)]).toEqual([way, path, same]);
          }
          before = after;
        }
      }),
      { numRuns: kind === 'postgresql' ? 4 : 2 },
    );
  });

  test('when a contract starts or ends', async () => {
    const vehicle = await addVehicle(acme);
    const { id } = await createContract(acme, vehicle);
    const tags: string[] = [];
    for (const now of ['2029-06-01', '2029-07-01', '2030-06-01', '2031-06-01']) {
      vi.spyOn(gateway.services, 'clock').mockReturnValue(Date.parse(now));
      tags.push(tagOf(await acme.get(`/contracts/${id}`)));
      vi.restoreAllMocks();
    }
    const [scheduled, same, active, ended] = tags;
    expect(same).toBe(scheduled);
    expect(new Set([scheduled, active, ended]).size).toBe(3);
    // The old tag does not permit the deletion of a contract in force.
    vi.spyOn(gateway.services, 'clock').mockReturnValue(Date.parse('2030-06-01'));
    expect((await acme.delete(`/contracts/${id}`, undefined, { 'if-match': scheduled ?? '' })).status).toBe(412);
    expect((await acme.delete(`/contracts/${id}`, undefined, { 'if-match': active ?? '' })).status).toBe(204);
    vi.restoreAllMocks();
  });
});
