import { getPriority, setPriority } from 'node:os';
import { UpstreamServer } from '../../test/support/upstream.ts';

// A low-priority process of midnight.ts: High Mobility, which in reality runs elsewhere, so it uses only idle CPU time.

setPriority(Math.min(19, getPriority() + 10));
const upstream = await UpstreamServer.start();
const counts = new Map<string, number>();
/** Vehicles of which a clearance was asked for. */
let vehicles = 0;

function count(): void {
  for (const { endpoint, answer } of upstream.received.splice(0)) {
    counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
    if (endpoint === 'clearances')
      vehicles += (answer?.[1] as { vehicles: unknown[] } | undefined)?.vehicles.length ?? 0;
  }
}

process.on('message', () => {
  count();
  process.send?.({ vehicles, requests: Object.fromEntries(counts) });
});
// Requests are not kept: they would be the memory of this process.
setInterval(count, 1000).unref();
process.once('disconnect', () => process.exit());
process.send?.({ url: upstream.url });
