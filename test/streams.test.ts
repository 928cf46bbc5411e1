import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Headed } from './support/client.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const fleet = await createFleet(acme);
await addVehicles(acme, newVins(300), fleet);
const csv = `vin\n${Array.from({ length: 2_000 }, (_, at) => `WBA${at}`).join('\n')}\n`;
const sent = await acme.post(`/vehicles/file?fleetId=${fleet.id}`, csv, { 'content-type': 'text/csv' });

const vehicles = `/fleets/${fleet.id}/vehicles`;
const events = 'subscription { events { id } }';
const inAddress = `/graphql?query=${encodeURIComponent(events)}`;

/** Path, headers and, for a POST, the document; by the name of the stream. */
const streams: Record<string, [path: string, headers: Headed, query?: string]> = {
  'events by REST': ['/events/stream', {}],
  'an import by REST': [`/imports/${randomUUID()}/events`, {}],
  'a whole list': [vehicles, {}],
  'a whole list as CSV': [vehicles, { accept: 'text/csv' }],
  'a whole list as NDJSON': [vehicles, { accept: 'application/x-ndjson' }],
  'a page as CSV': [`${vehicles}?limit=10`, { accept: 'text/csv' }],
  'rejected rows': [`/imports/${sent.body.importId}/rejected.csv`, {}],
  'a subscription as SSE': ['/graphql', { accept: 'text/event-stream' }, events],
  'a subscription as SSE by GET': [inAddress, { accept: 'text/event-stream' }],
  'a subscription for a client that takes any form': ['/graphql', { accept: '*/*' }, events],
  'a query as SSE': ['/graphql', { accept: 'text/event-stream' }, '{ __typename }'],
  'a query as multipart': ['/graphql', { accept: 'multipart/mixed' }, '{ __typename }'],
};

/** The headers of an answer whose body is not read. */
async function headersOf(path: string, headers: Headed, query?: string): Promise<Headers> {
  const gone = new AbortController();
  const body = query && { method: 'POST', body: JSON.stringify({ query }) };
  const all = { ...acme.headers, 'content-type': 'application/json', ...headers };
  const answer = await fetch(new URL(path, gateway.url), { headers: all, signal: gone.signal, ...body });
  expect(answer.status).toBe(200);
  gone.abort();
  return answer.headers;
}

test.each(Object.entries(streams))('%s: nginx passes on each piece at once', async (_, stream) => {
  const headers = await headersOf(...stream);
  expect(headers.get('x-accel-buffering')).toBe('no');
  expect(headers.has('content-length')).toBe(false);
});

test('nginx may keep what is sent as a whole', async () => {
  for (const [path, query] of [[`${vehicles}?limit=10`], ['/docs'], ['/graphql', '{ __typename }']] as const) {
    expect((await headersOf(path, {}, query)).has('x-accel-buffering')).toBe(false);
  }
});
