import { createClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { inForce, MINUTE, startDecisions } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createContract, createFleet, newVin, unknownId } from './support/factories.ts';

const { gateway, work, passTime } = await startDecisions();
const [acme, globex] = [await gateway.as('acme'), await gateway.as('globex')];
const { followers } = gateway.services;
const before = followers.count;

const CHANGED = `subscription ($fleetId: ID) { contractChanged(fleetId: $fleetId) {
  contract { id activation { state } } activation { state reason { code } } } }`;
const url = `${gateway.url}/graphql`;

const transports = {
  SSE(client: Client) {
    const sse = createClient({ url, headers: client.headers, retryAttempts: 0 });
    onTestFinished(() => sse.dispose());
    return sse;
  },
  WebSocket(client: Client) {
    const socket = createWsClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: client.headers.authorization },
      retryAttempts: 0,
    });
    onTestFinished(() => void socket.dispose());
    return socket;
  },
};

test.each(['SSE', 'WebSocket'] as const)('contractChanged sends each new state by %s', async (transport) => {
  const subscribe = (client: Client, variables: Json = {}) => {
    const events: Json[] = [];
    const next = (event: Json) => void events.push(event);
    const sink = { next, error: (error: unknown) => void events.push({ error }), complete() {} };
    onTestFinished(transports[transport](client).subscribe({ query: CHANGED, variables }, sink));
    return events;
  };
  const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
  const all = subscribe(acme);
  const one = subscribe(acme, { fleetId: fleet.id });
  const theirs = subscribe(globex);
  const refused = subscribe(globex, { fleetId: fleet.id });
  const unknown = subscribe(acme, { fleetId: unknownId });
  await expect.poll(() => followers.count).toBe(before + 3);
  for (const events of [refused, unknown]) await expect.poll(() => JSON.stringify(events)).toContain('FLEET_NOT_FOUND');

  const [approved] = await addVehicles(acme, [newVin(0)], fleet);
  const [rejected] = await addVehicles(acme, [newVin(7)], other);
  const first = await createContract(acme, approved, inForce);
  const second = await createContract(acme, rejected, inForce);
  await work();
  passTime(70 * MINUTE);
  await work();
  const event = ({ id }: Json, state: string, code: string | null = null) => ({
    data: {
      contractChanged: { contract: { id, activation: { state } }, activation: { state, reason: code && { code } } },
    },
  });
  const active = event(first, 'ACTIVE');
  await expect
    .poll(() => all)
    .toEqual(expect.arrayContaining([active, event(second, 'REJECTED', 'ACTIVATION_REJECTED')]));
  await expect.poll(() => one).toContainEqual(active);
  expect(JSON.stringify(one)).not.toContain(second.id);
  expect(theirs).toEqual([]);
});
