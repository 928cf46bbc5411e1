import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setPriority } from 'node:os';
import { eligible, slow, UpstreamServer } from '../../test/support/upstream.ts';
import { sendFile } from './send-file.ts';

// A low-priority process of large-neighbour.ts: the large company's clients, receivers and manufacturer. In reality
// these run elsewhere, so they use only idle CPU time.

setPriority(10);
const upstream = await UpstreamServer.start();
upstream.always('eligibility', slow(25, eligible()));
const silent = createServer(() => {}).listen(0, '127.0.0.1');
await once(silent, 'listening');

/** The load to create, sent once. */
export interface LargeCompanyLoad {
  url: string;
  headers: Record<string, string>;
  webhooks: number;
  fleetId: string;
  /** The path of the file to upload, if any. */
  file: string | null;
}

process.on('message', async ({ url, headers, webhooks, fleetId, file }: LargeCompanyLoad) => {
  const { port } = silent.address() as AddressInfo;
  for (let at = 0; at < webhooks; at++) {
    const body = JSON.stringify({ url: `http://127.0.0.1:${port}/${at}` });
    await (await fetch(`${url}/webhooks`, { method: 'POST', headers, body })).arrayBuffer();
  }
  process.send?.({ ready: true });
  if (file !== null) process.send?.({ created: await sendFile(url, headers, fleetId, file) });
});
process.once('disconnect', () => process.exit());
process.send?.({ upstream: upstream.url });
