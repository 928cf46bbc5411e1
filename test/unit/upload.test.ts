import { once } from 'node:events';
import { appendFileSync, rmSync, truncateSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Gateway } from '../../src/commands/gateway.ts';
import { uploadFile } from '../../src/commands/import.ts';

/** A gateway that does this when the file's first bytes arrive, and a file for it. */
async function prepare(receive: (req: IncomingMessage) => void) {
  const server = createServer((req) => void req.once('data', () => receive(req)).resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const path = join(tmpdir(), `fleet-gateway-upload-${process.pid}.csv`);
  await writeFile(path, 'WBA00000000000001\n'.repeat(1_000_000));
  onTestFinished(() => rm(path, { force: true }));
  const gateway = new Gateway(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'any');
  return { gateway, upload: { fleetId: 'any', importId: 'any', path, found: await stat(path) } };
}

test('an upload whose connection breaks is retried, at any byte', async () => {
  const { gateway, upload } = await prepare((req) => req.destroy());
  const crashes: unknown[] = [];
  const crash = (error: unknown) => crashes.push(error);
  process.on('unhandledRejection', crash);
  onTestFinished(() => void process.off('unhandledRejection', crash));

  let retries = 0;
  for (let at = 0; at < 300; at++) {
    const stop = new AbortController();
    const retrying = () => {
      retries += 1;
      stop.abort();
    };
    const attempt = uploadFile(gateway, { ...upload, signal: stop.signal }, { sent: () => {}, retrying });
    await expect(attempt).rejects.toThrow();
  }
  expect({ retries, crashes }).toEqual({ retries: 300, crashes: [] });
});

test.each([
  ['grows', (path: string) => appendFileSync(path, 'WBA00000000000002\n')],
  ['shrinks', (path: string) => truncateSync(path, 100)],
  ['vanishes', (path: string) => rmSync(path)],
])('a file that %s while it is read fails at once, before its end arrives', async (_, change) => {
  let path = '';
  let whole = false;
  const { gateway, upload } = await prepare((req) => {
    change(path);
    req.once('end', () => {
      whole = true;
    });
    req.once('error', () => {});
  });
  path = upload.path;
  const progress = { sent: () => {}, retrying: () => expect.unreachable() };
  const { signal } = new AbortController();
  await expect(uploadFile(gateway, { ...upload, signal }, progress)).rejects.toThrow(
    `${path} changed while it was read, so nothing was stored.`,
  );
  expect(whole).toBe(false);
});
