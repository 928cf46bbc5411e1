import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { BUDGET_MS } from './until.ts';

/** Opens a connection on which a test can write bytes that no HTTP client would send. */
export async function openRaw(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Writes `text`, one byte per character, and returns the response until the connection closes or is silent `ms`. */
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

/** The status of each response on a connection. */
export const statusesOf = (answers: string): number[] =>
  [...answers.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
