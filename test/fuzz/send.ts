import { Agent, type IncomingMessage, request } from 'node:http';
import type { World } from '../support/worlds.ts';
import type { FuzzRequest } from './request.ts';

/** The response; `status` is 0 and `text` the reason if there was no response. */
export interface FuzzAnswer {
  status: number;
  headers: Headers;
  text: string;
}

export const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** Longer than any response may take. */
const PATIENCE_MS = 10_000;
/** Event streams are read for this time. */
const STREAM_MS = 20;

/** Sends a request after replacing placeholders by ids and VINs of these worlds. */
export function send(url: string, { own, alien }: Worlds, asked: FuzzRequest): Promise<FuzzAnswer> {
  const filled = (text: string) =>
    text.replaceAll(/(OWN|ALIEN)\.(\w+)\./g, (whole, whose, name) => {
      const value = (whose === 'OWN' ? own : alien)[name as keyof World];
      return typeof value === 'string' ? value : whole;
    });
  const body = asked.body === undefined ? undefined : Buffer.from(filled(asked.body), 'latin1');
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const failed = (error: Error) => resolve({ status: 0, headers: new Headers(), text: error.message });
    const sent = request(
      {
        agent,
        hostname,
        port,
        method: asked.method,
        path: filled(asked.path).replaceAll(/[^\x21-\xff]/g, ''),
        headers: {
          ...(asked.who === 'own' && own.client.headers),
          ...(body && { 'content-length': body.length }),
          ...Object.fromEntries(Object.entries(asked.headers).map(([name, value]) => [name, filled(value)])),
        },
        signal: AbortSignal.timeout(PATIENCE_MS),
      },
      (answer) => {
        read(answer).then(resolve, failed);
      },
    );
    sent.on('error', failed);
    sent.end(body);
  });
}

export interface Worlds {
  own: World;
  alien: World;
}

async function read(answer: IncomingMessage): Promise<FuzzAnswer> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct)) headers.set(name, value?.join(', ') ?? '');
  const endless = headers.get('content-type')?.startsWith('text/event-stream');
  if (endless) setTimeout(() => answer.destroy(), STREAM_MS);
  const pieces: Buffer[] = [];
  try {
    for await (const piece of answer) pieces.push(piece);
  } catch (error) {
    if (!endless) throw error;
  }
  return { status: answer.statusCode ?? 0, headers, text: Buffer.concat(pieces).toString() };
}
