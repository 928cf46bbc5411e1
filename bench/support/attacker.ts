import { setPriority } from 'node:os';
import autocannon from 'autocannon';
import type { Request } from './load.ts';

// A low-priority process of worst-neighbour.ts: real clients run elsewhere, so these use only idle CPU time.

setPriority(10);

/** Sends one request over and over on `connections` connections. */
export interface Attack {
  url: string;
  request: Request;
  connections: number;
  seconds: number;
}

process.on('message', async ({ url, request, connections, seconds }: Attack) => {
  const { latency, statusCodeStats } = await autocannon({
    ...request,
    url: url + request.path,
    connections,
    duration: seconds,
    timeout: 60,
  });
  const counts = Object.entries(statusCodeStats ?? {}).map(([status, { count }]) => `${count} × ${status}`);
  process.send?.({ p50: latency.p50, counts: counts.join(', ') });
});
process.once('disconnect', () => process.exit());
