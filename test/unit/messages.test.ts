import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, test } from 'vitest';
import { messagesOf } from '../../src/http/connections/messages.ts';

test('requests and answers are made as those of the application', async () => {
  const app = express().get('/', (req, res) => void res.json({ path: req.path, sent: res.headersSent }));
  const server = createServer(messagesOf(app), app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const made: object[] = [];
  // Hears of them before Express does.
  server.prependListener('request', (req, res) => made.push(Object.getPrototypeOf(req), Object.getPrototypeOf(res)));
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  expect(await answer.json()).toEqual({ path: '/', sent: false });
  expect(made).toEqual([app.request, app.response]);
  expect(made[0]).toBeInstanceOf(IncomingMessage);
  expect(made[1]).toBeInstanceOf(ServerResponse);
  server.close();
});
