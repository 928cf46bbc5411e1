import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Client, Json } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { askGraphql, askRest, textOf, withNames } from './support/operation.ts';
import { describedRoutes, onGraphql, onRest, paired } from './support/operations.ts';
import {
  describeRepetitions,
  isForbidden,
  isRefusedByTypes,
  tokens,
  without,
  withScopes,
  worldWithDeliveries,
} from './support/scopes.ts';
import type { World } from './support/worlds.ts';

const gateway = await startGateway({ settings: { AUTH_SCOPES: 'on', CONTRACTS_AUTH: 'required' } });

let shared: World;
beforeAll(async () => {
  shared = await worldWithDeliveries(gateway);
});

test("openapi.json names each operation's scope, which follows from its address", () => {
  for (const [name, { scope }] of onRest) {
    const [method, path = ''] = name.split(' ');
    const subject = /^\/(contracts|packs)/.test(path) ? 'contracts' : 'fleets';
    expect([name, scope]).toEqual([name, `${subject}:${method === 'GET' ? 'read' : 'write'}`]);
    const described = describedRoutes.find((route) => route.name === name);
    expect(described?.description.description, name).toContain(`Scope: \`${scope}\`.`);
  }
});

const casesOf = (walked: typeof onRest) =>
  walked.flatMap(([name, operation]) =>
    Object.entries(operation.cases).map(([what, call]) => [name, what, operation, call] as const),
  );

describe('Only FORBIDDEN without the scope', () => {
  test.each(casesOf(onRest))('%s, %s', async (name, _what, { scope }, call) => {
    for (const scopes of [without(scope), []]) {
      const answer = await askRest(await withScopes(gateway, shared, scopes), name, call(shared));
      expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
      expect(answer.headers.get('www-authenticate')).toContain(`scope="${scope}"`);
    }
  });

  test.each(casesOf(onGraphql.filter(([, { hides }]) => !hides)))(
    '%s by GraphQL, %s',
    async (_name, _what, operation, call) => {
      for (const scopes of [without(operation.scope), []]) {
        const answer = await askGraphql(await withScopes(gateway, shared, scopes), operation, call(shared));
        if (!isRefusedByTypes(answer)) expect(textOf(answer)).toContain('"code":"FORBIDDEN"');
      }
    },
  );
});

describe('Contracts with a token for fleets alone', () => {
  test.each(paired)('%s: hidden', async (operation, twin) => {
    const world = twin.writes ? await worldWithDeliveries(gateway) : shared;
    const client = await withScopes(gateway, world, ['fleets:read', 'fleets:write']);
    for (const call of Object.values(twin.cases)) {
      for (const answer of [
        await askRest(client, operation, call(world)),
        await askGraphql(client, twin, call(world)),
      ]) {
        expect(textOf(answer)).not.toMatch(/driving-log|Driving log|type\W*contract\./);
      }
    }
  });
});

// test/slow/scopes.test.ts tests the other cases.
describeRepetitions(gateway, 1);

describe('The payload of a mutation', () => {
  test('is replayed only for tokens that may read it', async () => {
    const world = await worldWithDeliveries(gateway);
    const key = { 'idempotency-key': randomUUID() };
    const query = `mutation ($input: UpdateFleetInput!) { updateFleet(input: $input) {
      fleet { name contracts { nodes { pack } } timeline(last: 20) { nodes { type } } } } }`;
    const variables = { input: { id: world.fleetId, name: 'Another' } };
    const first = await world.client.post('/graphql', { query, variables }, key);
    expect(textOf(first)).toMatch(/driving-log.*CONTRACT_CREATED/);
    for (const scopes of tokens) {
      const again = await (await withScopes(gateway, world, scopes)).post('/graphql', { query, variables }, key);
      const may = ['fleets:write', 'fleets:read', 'contracts:read'].every((scope) => scopes.includes(scope));
      expect([scopes, /driving-log|CONTRACT_/.test(textOf(again)), isForbidden(again)]).toEqual([scopes, may, !may]);
    }
  });
});

describe("Changing a webhook's target requires permission to read its events", () => {
  type Change = (
    world: World,
  ) => readonly [method: string, path: string, body?: unknown, mutation?: string, input?: Json];
  const of = (world: World, more = '') => `/webhooks/${world.webhookId}${more}`;
  const patch =
    (fields: Json): Change =>
    (world) => ['PATCH', of(world), fields, 'updateWebhook', { id: world.webhookId, ...fields }];
  const url = 'https://example.org/elsewhere';
  const changes: Record<string, Change> = {
    url: patch({ url }),
    'the same url': patch({ url: 'https://example.com/events' }),
    types: patch({ types: ['fleet.created'] }),
    'all types': patch({ types: [] }),
    'url and types': patch({ url, types: ['fleet.created'] }),
    pause: patch({ state: 'PAUSED' }),
    activation: patch({ state: 'ACTIVE' }),
    rotation: (world) => ['POST', of(world, '/rotate'), undefined, 'rotateWebhookSecret', { id: world.webhookId }],
  };
  const harmless: Record<string, Change> = {
    description: patch({ description: 'Ours' }),
    'a test': (world) => ['POST', of(world, '/test'), undefined, 'testWebhook', { id: world.webhookId }],
    deletion: (world) => ['DELETE', of(world), undefined, 'deleteWebhook', { id: world.webhookId }],
  };
  /** States of a webhook, and whether its events include contracts. */
  const situations: Record<string, [contracts: boolean, sql: string]> = {
    'of all types': [true, `types = '{}'`],
    'of a type of contracts': [true, `types = '{fleet.created,contract.deleted}'`],
    'of other types': [false, `types = '{fleet.created,vehicle.added}'`],
    'paused, of all types': [true, `types = '{}', state = 'PAUSED', held_from = 0`],
    'paused, of other types': [false, `types = '{fleet.created}', state = 'PAUSED', held_from = 0`],
    'of other types by now, with an event of contracts under way': [true, `types = '{fleet.created}'`],
  };
  const isContracts = (body: unknown) => JSON.stringify(body)?.includes('"types":[]') ?? false;

  let world: World;
  beforeAll(async () => {
    world = await worldWithDeliveries(gateway);
    await gateway.execute(`create table webhook_before as select * from webhook where id = '${world.webhookId}'`);
    await gateway.execute(
      `create table delivery_before as select * from delivery where webhook_id = '${world.webhookId}'`,
    );
  });

  /** Restores the webhook, then applies the state. */
  async function bringAbout(situation: string): Promise<void> {
    await gateway.execute(`delete from webhook where id = '${world.webhookId}'`);
    await gateway.execute('insert into webhook select * from webhook_before');
    await gateway.execute('insert into delivery select * from delivery_before');
    await gateway.execute(`update webhook set ${situations[situation]?.[1]} where id = '${world.webhookId}'`);
    if (situation.includes('under way')) {
      await gateway.execute(`update delivery d set state = 'PENDING', due_at = now() + interval '1 day' from event e
        where e.company = d.company and e.id = d.event_id and e.type = 'contract.created'
          and d.company = '${world.company}' and d.webhook_id = '${world.webhookId}'`);
    }
  }
  const everything = (world: World) =>
    gateway.execute(`select w::text, (select array_agg(d::text order by d.id) from delivery d
        where d.company = w.company and d.webhook_id = w.id)
      from webhook w where w.company = '${world.company}' order by id`);
  const graphql = (client: Client, mutation: string, input: Json) =>
    client.post('/graphql', {
      query: `mutation ($input: ${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input!) { ${mutation}(input: $input) { __typename } }`,
      variables: { input: withNames(input) },
    });

  describe.each(Object.entries(situations))('a webhook %s', (situation, [contracts]) => {
    test.each(Object.entries({ ...changes, ...harmless }))('%s', async (name, change) => {
      for (const way of ['REST', 'GraphQL']) {
        await bringAbout(situation);
        const [method, path, body, mutation = '', input] = change(world);
        const narrow = await withScopes(gateway, world, ['fleets:read', 'fleets:write']);
        const send = (client: Client) =>
          way === 'REST' ? client.send(method, path, body) : graphql(client, mutation, input);
        const before = await everything(world);
        const answer = await send(narrow);
        const needs = name in changes && (contracts || isContracts(body));
        expect([way, isForbidden(answer)]).toEqual([way, needs]);
        if (needs) expect(await everything(world)).toEqual(before);
        else expect(answer.body.errors ?? []).toEqual([]);
        const wide = await withScopes(gateway, world, ['fleets:write', 'contracts:read']);
        if (needs) expect((await send(wide)).body.errors ?? []).toEqual([]);
      }
    });
  });

  test('creation', async () => {
    const world = await worldWithDeliveries(gateway);
    const narrow = await withScopes(gateway, world, ['fleets:read', 'fleets:write']);
    for (const types of [undefined, null, [], ['contract.started'], ['fleet.created', 'contract.ended']]) {
      const input = { url, ...(types !== undefined && { types }) };
      expect(await narrow.post('/webhooks', input)).toMatchObject({ status: 403 });
      expect(isForbidden(await graphql(narrow, 'createWebhook', input))).toBe(true);
    }
    expect(await narrow.post('/webhooks', { url, types: ['fleet.created'] })).toMatchObject({ status: 201 });
  });

  test('redelivery', async () => {
    const world = await worldWithDeliveries(gateway);
    const narrow = await withScopes(gateway, world, ['fleets:read', 'fleets:write']);
    const { body: deliveries } = await world.client.get(of(world, '/deliveries'));
    const byType = Map.groupBy(deliveries as Json[], ({ type }) => type.startsWith('contract.'));
    const [ofContract, other] = [byType.get(true)?.[0], byType.get(false)?.[0]];
    const before = await everything(world);
    expect(await narrow.post(of(world, `/deliveries/${ofContract.id}/redeliver`))).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN' },
    });
    const input = { webhookId: world.webhookId, deliveryId: ofContract.id };
    for (const name of ['redeliver', 'redeliverWebhookDelivery']) {
      expect(isForbidden(await graphql(narrow, name, input))).toBe(true);
    }
    expect(await everything(world)).toEqual(before);
    expect(await narrow.post(of(world, `/deliveries/${other.id}/redeliver`))).toMatchObject({ status: 202 });
  });
});

test('deliveries of events that a token may not read are not listed or counted', async () => {
  const { webhookId } = shared;
  const seen = async (scopes: string[]) => {
    const client = await withScopes(gateway, shared, scopes);
    const { body: whole } = await client.get(`/webhooks/${webhookId}/deliveries`);
    const paged: Json[] = [];
    for (let path = `/webhooks/${webhookId}/deliveries?limit=1`; path; ) {
      const { body, headers } = await client.get(path);
      paged.push(...body);
      path = /<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? '';
    }
    const query = `{ webhook(id: "${webhookId}") { deliveries { totalCount nodes { id type } } } }`;
    const { deliveries } = (await client.post('/graphql', { query })).body.data.webhook;
    expect(paged).toEqual(whole);
    expect(deliveries.nodes.map(({ id }: Json) => id)).toEqual(whole.map(({ id }: Json) => id));
    expect(deliveries.totalCount).toBe(whole.length);
    return whole.map(({ type }: Json) => type) as string[];
  };
  const [wide, narrow] = [await seen(['fleets:read', 'contracts:read']), await seen(['fleets:read'])];
  expect(wide).toContain('contract.created');
  expect(narrow).toEqual(wide.filter((type) => !type.startsWith('contract.')));
});
