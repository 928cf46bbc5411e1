import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeFindings, browserPages, inBrowser } from '../support/browser.ts';
import { createFleet, newVin } from '../support/factories.ts';
import { startGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';

describe.skipIf(!inBrowser)('files and lists of VINs in the console', async () => {
  const issuer = await testIssuer();
  const gateway = await startGateway({ issuer, settings: { CONSOLE: 'on' } });
  const open = browserPages();

  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const upload = (page: Page, name: string) => page.getByRole('region', { name: `Upload of ${name}` });

  /** A fleet's page, seen by a person of a company of this name. */
  async function fleetOf(company: string) {
    const client = await gateway.as(company);
    const { id } = await createFleet(client);
    const page = await open(`${gateway.url}/console#/fleets/${id}`, { mayFail: true });
    await page.getByLabel('Access token').fill(client.headers.authorization ?? '');
    await button(page, 'Sign in').click();
    await page.getByText('No vehicles yet').waitFor();
    const vins = async () => (await client.get(`/fleets/${id}/vehicles`)).body.map(({ vin }: { vin: string }) => vin);
    return { client, id, page, vins };
  }

  const choose = (page: Page, name: string, text: string) =>
    page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });

  const table = (...rows: string[][]) => rows.map((cells) => cells.join(';')).join('\n');
  const names = ['Halter', 'Kennung', 'Vorgänger'];

  test('a column that is not found is chosen from the first rows, and known the next time', async () => {
    const { page, vins } = await fleetOf('chooses');
    const [own, other, later] = [newVin(), newVin(), newVin()];
    await choose(page, 'first.csv', table(['Fuhrpark 2026', '', ''], names, ['Nord GmbH', own, other]));
    const first = upload(page, 'first.csv');
    await first.getByText('No column of VINs was found.').waitFor();
    expect(await first.innerText()).not.toContain('fahrgestellnummer');
    expect(await first.locator('th').allInnerTexts()).toEqual(names);
    expect(await first.locator('td').allInnerTexts()).toEqual(['Nord GmbH', own, other]);
    expect(await axeFindings(page)).toEqual([]);
    // By keyboard alone.
    await until(async () => {
      await page.keyboard.press('Tab');
      return (await page.evaluate('document.activeElement.textContent')) === 'Kennung';
    });
    await page.keyboard.press('Enter');
    await first.getByText('Read from the column “Kennung”.').waitFor();
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Upload of first.csv');
    expect(await vins()).toEqual([own]);

    await page.reload();
    await page.getByRole('link', { name: own }).waitFor();
    await choose(page, 'second.csv', table(names, ['Süd GmbH', later, newVin()]));
    const second = upload(page, 'second.csv');
    await second.getByText('Read from the column “Kennung”.').waitFor();
    expect(await vins()).toEqual([own, later]);

    await second.getByRole('button', { name: 'Choose another column' }).click();
    await second.getByText('Which column has the VINs?').waitFor();
    await second.getByRole('button', { name: 'Vorgänger' }).click();
    await second.getByText('Read from the column “Vorgänger”.').waitFor();
    expect((await vins()).length).toBe(3);
  });

  test('another company chooses for itself', async () => {
    const { page } = await fleetOf('chooses-too');
    await page.evaluate("localStorage.setItem('fleet-gateway-column-chooses', 'Kennung')");
    await choose(page, 'own.csv', table(names, ['Nord GmbH', newVin(), newVin()]));
    await upload(page, 'own.csv').getByText('Which column has the VINs?').waitFor();
  });
});
