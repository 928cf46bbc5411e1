import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type BrandId, brandIds } from './brands.ts';

/** Sent with `retry-after: 0`, so that other vehicles do not wait. */
const failures = [429, 503];

const LARGEST_BODY = 16 * 1024;

const credentials = z.object({ client_id: z.literal('sandbox'), client_secret: z.literal('sandbox') });
const question = z.object({ vin: z.string(), brand: z.string() });

/** Two are missing, so that an unsupported manufacturer can be seen in development. */
export const sandboxBrands: readonly BrandId[] = brandIds.filter((id) => id !== 'ferrari' && id !== 'porsche');

export type Sandbox = Awaited<ReturnType<typeof openSandbox>>;

const SLOW_MS = 10_000;

/** A local server with High Mobility's protocol. By the VIN's end, a vehicle is ineligible (7), slow (8) or fails twice (9). */
export async function openSandbox(wait = (signal: AbortSignal): Promise<unknown> => sleep(SLOW_MS, null, { signal })) {
  const stop = new AbortController();
  const token = randomUUID();
  const failed = new Map<string, number>();

  async function answer(request: IncomingMessage): Promise<Answer> {
    const body = await readJson(request).catch(() => null);
    if (request.method === 'POST' && request.url === '/v1/access_tokens') {
      if (!credentials.safeParse(body).success) return [400, { error: 'invalid_request' }];
      return [200, { access_token: token, token_type: 'bearer', expires_in: 300 }];
    }
    if (request.method !== 'POST' || request.url !== '/v1/eligibility') return [404, rejection('Not found')];
    if (request.headers.authorization !== `Bearer ${token}`) return [401, rejection('Not authorized', 'Authorization')];
    const { data } = question.safeParse(body);
    if (!data) return [422, rejection('Invalid request')];
    if (!sandboxBrands.some((id) => id === data.brand)) return [422, rejection('The brand is invalid', 'brand')];
    return eligibility(data.vin);
  }

  async function eligibility(vin: string): Promise<Answer> {
    if (vin.endsWith('8')) await wait(stop.signal);
    const times = failed.get(vin) ?? 0;
    const status = vin.endsWith('9') ? failures[times] : undefined;
    if (status) {
      failed.set(vin, times + 1);
      return [status, rejection('Try again'), { 'retry-after': '0' }];
    }
    failed.delete(vin);
    if (vin.endsWith('7')) return [200, { vin, eligible: false, data_delivery: [] }];
    const connected = { connectivity_status: 'activated', primary_user_assigned: true };
    return [200, { vin, eligible: true, data_delivery: ['pull', 'push'], ...connected }];
  }

  const server = createServer((request, response) => {
    answer(request).then(
      ([status, body, headers]) =>
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body)),
      () => response.destroy(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    clientId: 'sandbox',
    clientSecret: 'sandbox',
    async close() {
      stop.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Answer = [status: number, body: unknown, headers?: Record<string, string>];

const rejection = (title: string, source?: string) => ({ errors: [{ title, source }] });

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > LARGEST_BODY) throw new Error('The body is too large.');
  }
  return JSON.parse(text);
}
