import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { BUDGET_MS } from './until.ts';

/** A connection to the gateway on which a test writes what no HTTP client would. */
export async function openRaw(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Writes this, a byte for each character, on a connection of its own and gives everything that comes back until it is closed, or silent for `ms`. */
export async function sendRaw(url: string, text: string, ms = BUDGET_MS): Promise<string> {
  const socket = await openRaw(url);
  let answer = '';
  let heard = performance.now();
  socket.on('data', (chunk) => {
    answer += chunk;
    heard = performance.now();
  });
  socket.write(text.replaceAll(/\r?\n/g, '\r\n'), 'latin1');
  while (!socket.closed && performance.now() - heard < ms) await delay(10);
  socket.destroy();
  return answer;
}

/** The status of each answer on a connection. */
export const statusesOf = (answers: string): number[] =>
  [...answers.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
