import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../../src/core/context.ts';
import type { Answer, Client, Headed, Json } from './client.ts';
import type { Gateway } from './gateway.ts';
import { askGraphql, askRest, type Call, type Twin, textOf } from './operation.ts';
import { paired } from './operations.ts';
import { publishEvents } from './publish.ts';
import { newWorld, type World } from './worlds.ts';

const all = ['fleets:read', 'fleets:write', 'contracts:read', 'contracts:write'];
export const without = (scope: string) => all.filter((other) => other !== scope);
/** Scopes of tokens: none, one, all but one, and all. */
export const tokens: readonly string[][] = [[], ...all.map((scope) => [scope]), ...all.map(without), all];

const writing = paired.filter(([, { writes }]) => writes);

let companies = 0;
/** A company with a contract in its events and deliveries; the deliveries have been attempted. */
export async function worldWithDeliveries(gateway: Gateway): Promise<World> {
  const world = await newWorld(gateway, `company-${++companies}`);
  while (await publishEvents(contextOf(gateway.services, 'test', null)));
  await gateway.execute(
    `update delivery d set state = 'FAILED', due_at = null, attempts = 1, attempted_at = now(), url = 'https://example.com/',
       headers = '{}', status = 500, answer = e.data::text from event e where e.company = d.company and e.id = d.event_id and e.type <> 'webhook.test'`,
  );
  return world;
}

/** A client of the world's company with these scopes alone. */
export const withScopes = (gateway: Gateway, world: World, scopes: readonly string[]): Promise<Client> =>
  gateway.as(world.company, { scope: scopes.join(' ') });

export const isForbidden = (answer: Answer) => /"code":"FORBIDDEN"/.test(textOf(answer));
/** Whether GraphQL rejected the document by its types, before execution. */
export const isRefusedByTypes = ({ body }: Answer) =>
  body?.errors?.length > 0 && body.errors.every(({ path }: Json) => !path);

const ways = {
  REST: (client: Client, operation: string, _twin: Twin, call: Call, headers?: Headed) =>
    askRest(client, operation, call, headers),
  GraphQL: (client: Client, _operation: string, twin: Twin, call: Call, headers?: Headed) =>
    askGraphql(client, twin, call, headers),
};

/** A response without its request id. */
const told = ({ status, body }: Answer) => ({
  status,
  body: JSON.parse(JSON.stringify(body ?? null, (key, value) => (key === 'requestId' ? undefined : value))),
});

/** Tests what a token with fewer scopes gets for another token's Idempotency-Key; `cases` per operation. */
export function describeRepetitions(gateway: Gateway, cases: number): void {
  let shared: Promise<World> | undefined;
  describe.each(Object.entries(ways))('A repetition with an Idempotency-Key, in %s', (way, ask) => {
    // The import, not the key, identifies a repeated upload.
    const keyed = writing.filter(
      ([operation, { field }]) =>
        field !== 'Mutation.importVehicles' && (way === 'GraphQL' || operation.startsWith('POST ')),
    );

    test.each(keyed)('%s: tokens without the scope are FORBIDDEN', async (operation, twin) => {
      const world = await worldWithDeliveries(gateway);
      for (const call of Object.values(twin.cases).slice(0, cases)) {
        const send = (client: Client, headers?: Headed) => ask(client, operation, twin, call(world), headers);
        const key = { 'idempotency-key': randomUUID() };
        const first = await send(world.client, key);
        if (isRefusedByTypes(first)) continue;
        const repetitions = new Map<string[], Answer>();
        for (const scopes of tokens) repetitions.set(scopes, await send(await withScopes(gateway, world, scopes), key));
        for (const [scopes, answer] of repetitions) {
          const forbidden = isForbidden(await send(await withScopes(gateway, world, scopes)));
          const repeated = answer.headers.get('idempotent-replayed') === 'true';
          // A new execution in GraphQL may end before it reaches the fields that the first response has.
          if (way === 'REST' || forbidden || scopes === all) expect([scopes, repeated]).toEqual([scopes, !forbidden]);
          expect(isForbidden(answer)).toBe(!repeated);
          if (repeated) expect(told(answer)).toEqual(told(first));
          else expect(textOf(answer)).not.toMatch(/whsec_|"id":/);
        }
      }
    });

    test.each(cases === 1 ? keyed : [])('%s: a forbidden token learns nothing of the key', async (operation, twin) => {
      const key = { 'idempotency-key': randomUUID() };
      shared ??= newWorld(gateway, `company-${++companies}`);
      const world = await shared;
      await world.client.post('/fleets', {}, key);
      const [call] = Object.values(twin.cases);
      const client = await withScopes(gateway, world, without(twin.scope));
      expect(isForbidden(await ask(client, operation, twin, call?.(world) as Call, key))).toBe(true);
    });
  });
}
