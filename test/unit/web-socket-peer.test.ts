import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket, { WebSocketServer } from 'ws';
import { WebSocketPeer } from '../../src/graphql/transport/peer.ts';

test('a socket that closes while its token is verified leaves no timer', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => server.close());
  await once(server, 'listening');
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [socket] = (await once(server, 'connection')) as [WebSocket];
  const peer = new WebSocketPeer(socket, new AbortController().signal);
  await once(client, 'open');
  client.terminate();
  await once(socket, 'close');
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  peer.begin(async () => '{}', Date.now() + 3_600_000);
  expect(timers()).toBe(before);
});
