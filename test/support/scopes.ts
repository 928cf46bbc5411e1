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
/** What tokens may have: nothing, one scope, all but one, or all. */
export const tokens: readonly string[][] = [[], ...all.map((scope) => [scope]), ...all.map(without), all];

const writing = paired.filter(([, { writes }]) => writes);

let companies = 0;
/** A company whose contract has come up in events and deliveries, these with everything that an attempt leaves. */
export async function worldWithDeliveries(gateway: Gateway): Promise<World> {
  const world = await newWorld(gateway, `company-${++companies}`);
  while (await publishEvents(contextOf(gateway.services, 'test', null)));
  await gateway.execute(
    `update delivery d set state = 'FAILED', due_at = null, attempts = 1, attempted_at = now(), url = 'https://example.com/',
       headers = '{}', status = 500, answer = e.data::text from event e where e.company = d.company and e.id = d.event_id and e.type <> 'webhook.test'`,
  );
  return world;
}

/** Somebody of that company with these scopes alone. */
export const withScopes = (gateway: Gateway, world: World, scopes: readonly string[]): Promise<Client> =>
  gateway.as(world.company, { scope: scopes.join(' ') });

export const isForbidden = (answer: Answer) => /"code":"FORBIDDEN"/.test(textOf(answer));
/** Of values that GraphQL's types do not allow: nothing was executed. */
export const isRefusedByTypes = ({ body }: Answer) =>
  body?.errors?.length > 0 && body.errors.every(({ path }: Json) => !path);

const ways = {
  REST: (client: Client, operation: string, _twin: Twin, call: Call, headers?: Headed) =>
    askRest(client, operation, call, headers),
  GraphQL: (client: Client, _operation: string, twin: Twin, call: Call, headers?: Headed) =>
    askGraphql(client, twin, call, headers),
};

/** What an answer says, without what names the request. */
const told = ({ status, body }: Answer) => ({
  status,
  body: JSON.parse(JSON.stringify(body ?? null, (key, value) => (key === 'requestId' ? undefined : value))),
});

/** Trials of what a token with fewer scopes gets for another one's Idempotency-Key, by so many cases of each operation. */
export function describeRepetitions(gateway: Gateway, cases: number): void {
  let shared: Promise<World> | undefined;
  describe.each(Object.entries(ways))('A repetition with an Idempotency-Key, in %s', (way, ask) => {
    // Uploads are remembered by their import.
    const keyed = writing.filter(
      ([operation, { field }]) =>
        field !== 'Mutation.importVehicles' && (way === 'GraphQL' || operation.startsWith('POST ')),
    );

    test.each(keyed)('%s: it gets the first outcome if it might ask anew, else nothing', async (operation, twin) => {
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
          // Asked anew, GraphQL may not come as far as to fields that the first answer has.
          if (way === 'REST' || forbidden || scopes === all) expect([scopes, repeated]).toEqual([scopes, !forbidden]);
          expect(isForbidden(answer)).toBe(!repeated);
          if (repeated) expect(told(answer)).toEqual(told(first));
          else expect(textOf(answer)).not.toMatch(/whsec_|"id":/);
        }
      }
    });

    test.each(cases === 1 ? keyed : [])('%s: nor does it learn that the key is used', async (operation, twin) => {
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
