// Home page, REST reference and GraphiQL in Chromium.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { axeFindings, browserPages, inBrowser } from '../support/browser.ts';
import { createFleet, newVin } from '../support/factories.ts';
import { startGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
describe.skipIf(!inBrowser)('in a browser', async () => {
  const gateway = await startGateway({ workers: true });
  const issuer = await testIssuer();
  const secured = await startGateway({ on: gateway, issuer });
  const closed = await startGateway({ on: gateway, settings: { GRAPHIQL: 'off' } });
  const openPage = browserPages();
  const open = (path: string, base = gateway.url, options: Parameters<typeof openPage>[1] = {}): Promise<Page> =>
    openPage(new URL(path, base).href, options);

  /** Opens GraphiQL and drives it as a user. */
  async function openGraphiql(base?: string) {
    const page = await open('/graphql', base);
    await page.locator('.graphiql-query-editor .view-line').first().waitFor();
    return {
      page,
      tabs: () => page.locator('.graphiql-tab-button').allInnerTexts(),
      /** Opens a tab by its index and waits until its text is in the editor. */
      async show(tab: number, text: string) {
        // Presses the mouse at a position, as a user: the tab must not move from under the pointer.
        const { x = 0, y = 0, height = 0 } = (await page.locator(`#graphiql-session-tab-${tab}`).boundingBox()) ?? {};
        await page.mouse.click(x + 20, y + height / 2, { delay: 50 });
        await page.locator('.graphiql-query-editor .view-lines', { hasText: text }).waitFor();
      },
      async run(operation?: string) {
        const button = page.locator('.graphiql-execute-button');
        if (!operation) return button.click();
        // The menu appears a moment after the tab, when GraphiQL has parsed it.
        const item = page.getByRole('menuitem', { name: operation, exact: true });
        await until(async () => {
          await page.keyboard.press('Escape');
          await button.click();
          return item.click({ timeout: 2_000 }).then(
            () => true,
            () => null,
          );
        });
      },
      /** Types between the quotes of the only variable. */
      async setVariable(value: string) {
        await page.locator('.graphiql-editor-tool .graphiql-editor:visible .view-lines').click();
        for (const key of ['Control+Home', 'ArrowDown', 'End', 'ArrowLeft']) await page.keyboard.press(key);
        await page.keyboard.insertText(value);
      },
      /** Waits for a result with this text and returns it. */
      async result(text: string | RegExp): Promise<string> {
        // The editor writes non-breaking spaces.
        const shown = async () => (await page.locator('.result-window').innerText()).replaceAll('\u00a0', ' ');
        await expect.poll(shown).toMatch(text);
        return shown();
      },
    };
  }

  describe('GraphiQL', () => {
    test('explores fleets with the development token', async () => {
      await createFleet(await gateway.as('demo'), { name: 'Seen in GraphiQL' });
      const { tabs, run, result } = await openGraphiql();
      expect(await tabs()).toEqual(['ExploreFleets', 'AddFleet', 'FollowUpload']);
      await run();
      await result('Seen in GraphiQL');
    });

    test('each tab is shown at the first click of a fresh visit', async () => {
      for (const [tab, text] of [
        [1, 'AddFleet'],
        [2, 'FollowUpload'],
      ] as const) {
        const { page, show } = await openGraphiql();
        await show(tab, text);
        await page.close();
      }
    });

    test('adds vehicles and watches their manufacturers answer', async () => {
      const { show, run, setVariable, result } = await openGraphiql();
      await show(1, 'AddFleet');
      await run('AddFleet');
      const [fleetId] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(await result('"createFleet"')) ?? [];
      await setVariable(fleetId ?? '');
      await run('AddVehicles');
      expect(await result('"addVehicles"')).toMatch(/"created": 3,\s*"existing": 0,\s*"rejected": 1/);
      await run('WatchEligibility');
      await result(/"eligibilityChanged": \{\s*"eligibility": \{\s*"vin": "WBA00000000000008",\s*"status": "ELIGIBLE"/);
    });

    test('follows the upload that its curl command sends', async () => {
      const fleet = await createFleet(await gateway.as('demo'));
      const folder = await mkdtemp(join(tmpdir(), 'fleet-gateway-curl-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      const { page, show, run: start, result } = await openGraphiql();
      await show(2, 'FollowUpload');
      await start();
      await page.getByRole('button', { name: 'Stop query' }).waitFor();
      // GraphiQL stores its tabs a moment after showing them.
      const kept = await until(() => page.evaluate<string | null>('localStorage["graphiql:tabState"] ?? null'));
      const { tabs } = JSON.parse(kept);
      const command = /^# printf.*@vins\.csv$/ms.exec(tabs[2].query)?.[0].replaceAll(/^# /gm, '') ?? '';
      const client = await gateway.as('demo');
      const TOKEN = client.headers.authorization?.slice('Bearer '.length);
      const { stdout } = await run('sh', ['-ec', command.replace('WBA00000000000011', newVin())], {
        cwd: folder,
        env: { ...process.env, TOKEN, FLEET: fleet.id },
      });
      expect(JSON.parse(stdout)).toMatchObject({
        data: { importVehicles: { summary: { created: 1, existing: 0, rejected: 0 } } },
      });
      expect(await result('COMPLETED')).toMatch(/"received": 1,\s*"created": 1/);
    });

    test('reads the schema without a token, and uses a given token', async () => {
      const { page } = await openGraphiql(secured.url);
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      await page.getByText('All Schema Types').waitFor();
      expect(await page.content()).not.toContain('Bearer ey');
    });

    test('shows the result below the query on a narrow screen, and the documentation alone', async () => {
      const page = await open('/graphql', gateway.url, { viewport: { width: 390, height: 844 } });
      await page.locator('.graphiql-query-editor .view-line').first().waitFor();
      const boxOf = async (part: string) => (await page.locator(part).boundingBox()) ?? expect.fail(`no ${part}`);
      const [query, result] = [await boxOf('.graphiql-editors'), await boxOf('.graphiql-response')];
      expect(result.y).toBeGreaterThanOrEqual(query.y + query.height);
      expect(Math.min(query.width, result.width)).toBeGreaterThan(300);
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      await expect.poll(async () => (await boxOf('.graphiql-plugin')).width).toBeGreaterThan(300);
      await page.getByRole('button', { name: 'Hide Documentation Explorer' }).click();
      await expect.poll(async () => (await boxOf('.graphiql-editors')).x).toBe(query.x);
    });

    test('shows the documentation of each mutation whole, with its example', async () => {
      const page = await open('/graphql', gateway.url, { viewport: { width: 1366, height: 800 } });
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      await page.locator('.graphiql-doc-explorer a', { hasText: /^Mutation$/ }).click();
      await page.locator('.graphiql-doc-explorer a', { hasText: /^addVehicles$/ }).waitFor();
      const cut = `(() => {
        const end = document.querySelector('.graphiql-doc-explorer').getBoundingClientRect().right;
        const codes = [...document.querySelectorAll('.graphiql-doc-explorer code')];
        return codes.filter((one) => one.getBoundingClientRect().right > end).map((one) => one.textContent);
      })()`;
      expect(await page.evaluate(cut)).toEqual([]);
    });

    test('is off where it is turned off; the schema remains', async () => {
      const response = await fetch(`${closed.url}/graphql`, { headers: { accept: 'text/html' } });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(await response.text()).not.toContain('<html');
      expect(
        (await closed.anyone.post('/graphql', { query: '{ __schema { queryType { name } } }' })).body,
      ).toMatchObject({
        data: { __schema: { queryType: { name: 'Query' } } },
      });
    });
  });

  test('/ leads to everything, by keyboard and without scripts', async () => {
    const page = await open('/');
    expect(await page.title()).toBe('Fleet Gateway');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe('/console');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/graphql');
  });

  test('/ copies its commands', async () => {
    const page = await open('/');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const fields = page.locator('textarea');
    for (let at = 0; at < 3; at++) {
      await page.getByRole('button', { name: /^Cop/ }).nth(at).click();
      const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
      await expect.poll(copied).toBe(await fields.nth(at).inputValue());
    }
  });

  /** Rules that Swagger UI breaks by its structure. */
  const swaggers = ['nested-interactive', 'heading-order', 'region'];

  test.each(['light', 'dark'] as const)('axe finds no fault in / and /docs, %s', async (colorScheme) => {
    for (const path of ['/', '/docs']) {
      const page = await open(path, gateway.url, { colorScheme });
      if (path === '/docs') {
        await page.locator('.opblock').first().waitFor();
        await page.locator('[data-path="/contracts"]').first().click();
        await page.locator('.opblock.is-open .opblock-body').waitFor();
      }
      const found = await axeFindings(page, path === '/docs' ? swaggers : []);
      expect(found, path).toEqual([]);
    }
  });

  test('/docs lists every operation and tries one out', async () => {
    const page = await open('/docs');
    await page.locator('.opblock').first().waitFor();
    expect(await page.locator('.opblock').count()).toBeGreaterThan(20);
    const operation = page.locator('.opblock', { has: page.locator('[data-path="/manufacturers"]') });
    await operation.locator('.opblock-summary').click();
    const tryOut = operation.getByRole('button', { name: 'Try it out' });
    if (await tryOut.isVisible()) await tryOut.click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table tbody');
    await answer.waitFor();
    expect(await answer.innerText()).toMatch(/^\s*200.*mercedes-benz/s);
  });
});
