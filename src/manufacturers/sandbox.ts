import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type BrandId, brandIds } from './brands.ts';
import { clearanceServer } from './clearance-server.ts';
import { type Answer, empty, findOperation, operation, type ReceivedRequest } from './operations.ts';

/** Sent with `retry-after: 0`, so that other vehicles do not wait. */
const failures = [429, 503];

const LARGEST_BODY = 256 * 1024;

const credentials = z.strictObject({
  grant_type: z.literal('client_credentials'),
  client_id: z.literal('sandbox'),
  client_secret: z.literal('sandbox'),
});

/** Two are missing, so that an unsupported manufacturer can be seen in development. */
export const sandboxBrands: readonly BrandId[] = brandIds.filter((id) => id !== 'ferrari' && id !== 'porsche');

const question = z.strictObject({ vin: z.string().length(17), brand: z.enum(sandboxBrands) });

export type Sandbox = Awaited<ReturnType<typeof openSandbox>>;

const SLOW_MS = 10_000;
const DECIDED_MS = 1000;

/** A local server with High Mobility's protocol. By the VIN's end, a vehicle is ineligible (7), slow (8) or fails twice (9). */
export async function openSandbox(wait = (signal: AbortSignal): Promise<unknown> => sleep(SLOW_MS, null, { signal })) {
  const stop = new AbortController();
  const token = randomUUID();
  const failed = new Map<string, number>();

  const allows = ({ headers }: ReceivedRequest): boolean => headers.authorization === `Bearer ${token}`;

  const clearance = clearanceServer({
    allows,
    decide: (vin) =>
      vin.endsWith('7')
        ? { status: 'rejected', afterMs: DECIDED_MS, reason: 'The vehicle is not in the fleet’s contract.' }
        : { status: 'approved', afterMs: vin.endsWith('8') ? SLOW_MS : DECIDED_MS },
    endsAfterMs: () => DECIDED_MS,
    fails: (vins) => vins.map((vin) => failure(`clearance ${vin}`, vin)).find((one) => one !== null) ?? null,
    clock: Date.now,
  });

  const operations = [
    operation({
      name: 'token',
      document: 'hm-oauth-rest-v1.yml',
      method: 'POST',
      path: '/v1/access_tokens',
      takes: z.strictObject({ ...empty, body: credentials }),
      refuses: () => [400, { error: 'invalid_request' }],
      answers: () => [200, { access_token: token, token_type: 'bearer', expires_in: 300 }],
    }),
    operation({
      name: 'eligibility',
      // Its brands are fewer.
      document: 'hm-eligibility-v1.yml',
      method: 'POST',
      path: '/v1/eligibility',
      takes: z.strictObject({ ...empty, body: question }),
      bars: (request) => (allows(request) ? null : [401, rejection('Not authorized', 'Authorization')]),
      refuses: ([issue]) => [422, rejection(`${issue?.message}`, issue?.path[1]?.toString())],
      answers: ({ body }) => eligibility(body.vin),
    }),
    ...clearance.operations,
  ];

  /** A VIN that ends with 9 fails twice. */
  function failure(name: string, vin: string): Answer | null {
    const times = failed.get(name) ?? 0;
    const status = vin.endsWith('9') ? failures[times] : undefined;
    if (status) failed.set(name, times + 1);
    else failed.delete(name);
    return status ? [status, rejection('Try again'), { 'retry-after': '0' }] : null;
  }

  async function eligibility(vin: string): Promise<Answer> {
    if (vin.endsWith('8')) await wait(stop.signal);
    const fault = failure(`eligibility ${vin}`, vin);
    if (fault) return fault;
    if (vin.endsWith('7')) return [200, { vin, eligible: false, data_delivery: [] }];
    const connected = { connectivity_status: 'activated', primary_user_assigned: true };
    return [200, { vin, eligible: true, data_delivery: ['pull', 'push'], ...connected }];
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const { method = '', url = '', headers } = request;
    return findOperation(operations, { method, url, headers, text: await readText(request) }).answer();
  }

  const server = createServer((request, response) => {
    answer(request).then(
      ([status, body, headers]) => {
        response.writeHead(status, { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers });
        response.end(JSON.stringify(body));
      },
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

const rejection = (title: string, source?: string) => ({ errors: [{ title, source }] });

async function readText(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > LARGEST_BODY) throw new Error('The body is too large.');
  }
  return text;
}
