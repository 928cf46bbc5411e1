import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setPriority } from 'node:os';
import { eligible, slow, UpstreamServer } from '../../test/support/upstream.ts';
import { sendFile } from './send-file.ts';

// A process of its own, run by large-neighbour.ts: the large company's clients, its receivers and its manufacturer. These are
// elsewhere in earnest, so they take what is left of the machine.

setPriority(10);
const upstream = await UpstreamServer.start();
upstream.always('eligibility', slow(25, eligible()));
const silent = createServer(() => {}).listen(0, '127.0.0.1');
await once(silent, 'listening');

/** What it is asked to do, once. */
export interface Busy {
  url: string;
  headers: Record<string, string>;
  webhooks: number;
  fleetId: string;
  /** The path of the file that it uploads, if any. */
  file: string | null;
}

process.on('message', async ({ url, headers, webhooks, fleetId, file }: Busy) => {
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
