// The three examples in Chromium.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { browserPages, inBrowser } from '../support/browser.ts';
import { addVehicles, createFleet, newVin, newVins } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';

/** Builds and serves an example as its README says, in front of this gateway; returns the page's URL. */
async function serve(name: string, gateway: string, token: string): Promise<string> {
  const root = resolve('examples', name);
  if (existsSync(join(root, 'relay.config.json'))) {
    await promisify(execFile)(process.execPath, [resolve('node_modules/.bin/relay-compiler'), '--noWatchman'], {
      cwd: root,
    });
  }
  Object.assign(process.env, { GATEWAY: gateway, VITE_TOKEN: token });
  const { build, preview } = await import('vite');
  const outDir = await mkdtemp(join(tmpdir(), 'fleet-gateway-example-'));
  onTestFinished(() => rm(outDir, { recursive: true }));
  const common = { root, configFile: resolve('examples/vite.config.js'), logLevel: 'error' as const };
  await build({ ...common, build: { outDir } });
  const server = await preview({ ...common, build: { outDir }, preview: { port: 0, host: '127.0.0.1' } });
  onTestFinished(() => server.close());
  return server.resolvedUrls?.local[0] ?? '';
}

describe.skipIf(!inBrowser)('an example', async () => {
  const gateway = await startGateway({ workers: true });
  const openPage = browserPages();

  test.each(['apollo', 'urql', 'relay'])(
    'of %s lists, filters, pages, follows, uploads, and shows errors',
    async (name) => {
      const client = await gateway.as(`example-${name}`);
      const url = await serve(name, gateway.url, client.headers.authorization?.slice('Bearer '.length) ?? '');
      const fleet = await createFleet(client, { name: `Fleet of ${name}` });
      const [slow = '', ineligible = '', ...others] = [newVin(8), newVin(7), ...newVins(22)];
      await addVehicles(client, [slow, ineligible], fleet);
      await addVehicles(client, others, fleet);

      const page = await openPage(url, { mayFail: true });
      await page.getByRole('heading', { name: fleet.name }).waitFor();
      const rows = page.getByRole('listitem');
      // The status changes without a reload.
      await page.getByText(`${slow}: PENDING`).waitFor();
      expect(await rows.count()).toBe(10);
      await page.getByText(`${slow}: ELIGIBLE`).waitFor();

      await page.getByText(`${ineligible}: INELIGIBLE This vehicle cannot send data.`).waitFor();
      await page.getByRole('checkbox').check();
      await expect.poll(() => rows.count()).toBe(1);
      await page.getByRole('checkbox').uncheck();
      await expect.poll(() => rows.count()).toBe(10);

      const more = page.getByRole('button', { name: 'More' });
      await more.click();
      await expect.poll(() => rows.count()).toBe(20);
      await more.click();
      await expect.poll(() => rows.count()).toBe(24);
      expect(await more.count()).toBe(0);

      const choose = (file: string, content: string) =>
        page
          .getByLabel('Upload vehicles')
          .setInputFiles({ name: file, mimeType: '', buffer: Buffer.from(content, 'latin1') });
      await choose('vins.csv', `vin\n${newVins(2).join('\n')}\nSHORT\n`);
      await page.getByText('2 added, 1 rejected', { exact: true }).waitFor();
      await page.getByText('Row 4, SHORT: ').waitFor();
      await page.getByText('File stored: 2 added, 1 rejected').waitFor();
      await page.getByRole('status').getByText('COMPLETED: 3 rows').waitFor();
      await choose('vins.csv', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR');
      await page.getByRole('alert').getByText('This file is neither a CSV file nor an Excel workbook.').waitFor();
    },
  );
});
