import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Gateway } from '../../src/commands/gateway.ts';
import { uploadFile } from '../../src/commands/import.ts';

test('an upload whose connection breaks is retried, at any byte', async () => {
  const server = createServer((req) => void req.once('data', () => req.destroy())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const path = join(tmpdir(), `fleet-gateway-upload-${process.pid}.csv`);
  await writeFile(path, 'WBA00000000000001\n'.repeat(2000));
  onTestFinished(() => rm(path));
  const crashes: unknown[] = [];
  const crash = (error: unknown) => crashes.push(error);
  process.on('unhandledRejection', crash);
  onTestFinished(() => void process.off('unhandledRejection', crash));

  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = new Gateway(url, 'any');
  let retries = 0;
  for (let attempt = 0; attempt < 300; attempt++) {
    const stop = new AbortController();
    const retrying = () => {
      retries += 1;
      stop.abort();
    };
    const upload = { fleetId: 'any', importId: 'any', path, signal: stop.signal };
    await expect(uploadFile(gateway, upload, { sent: () => {}, retrying })).rejects.toThrow();
  }
  expect({ retries, crashes }).toEqual({ retries: 300, crashes: [] });
});
