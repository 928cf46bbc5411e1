// Columns, rejected rows and VINs are corrected in the console, in Chromium.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeFindings, browserPages, inBrowser } from '../support/browser.ts';
import { createFleet, newVin, newVins } from '../support/factories.ts';
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

  /** A VIN as people misread it, whose correction the gateway knows. */
  function misread() {
    const vin = newVin();
    return { vin, typed: vin.replace('0', 'O') };
  }

  test('accepted VINs leave the field, and a suggestion replaces the rejected one in its line', async () => {
    const { page, vins } = await fleetOf('types');
    const good = newVins(2);
    const [one, other] = [misread(), misread()];
    await button(page, 'Add VINs').click();
    const box = page.getByRole('textbox', { name: 'VINs' });
    const dialog = page.getByRole('dialog');
    const given = `${good[0]}\n\n${one.typed}, ${good[1]}\n${other.typed}\nWBA123`;
    const rows = () => dialog.locator('tbody td:first-child').allInnerTexts();
    await box.fill(given);
    await dialog.getByLabel('Check only').check();
    await button(page, 'Add vehicles').click();
    await dialog.getByText('3 VINs rejected; 2 vehicles would be added.').waitFor();
    expect([await box.inputValue(), await rows()]).toEqual([given, ['3', '4', '5']]);

    await dialog.getByLabel('Check only').uncheck();
    await button(page, 'Add vehicles').click();
    await dialog.getByText('3 VINs rejected; 2 vehicles added.').waitFor();
    expect([await box.inputValue(), await rows()]).toEqual([`${one.typed}\n${other.typed}\nWBA123`, ['1', '2', '3']]);
    expect(await vins()).toEqual(good);

    await button(page, `Did you mean ${one.vin}?`).click();
    // The next suggestion has the focus.
    await page.keyboard.press('Enter');
    expect(await box.inputValue()).toBe(`${one.vin}\n${other.vin}\nWBA123`);
    expect(await rows()).toEqual(['3']);
    expect(await page.evaluate('document.activeElement.name')).toBe('vins');
    await button(page, 'Add vehicles').click();
    await dialog.getByText('1 VIN rejected; 2 vehicles added.').waitFor();
    expect(await box.inputValue()).toBe('WBA123');
    await box.fill(good[0] ?? '');
    await button(page, 'Add vehicles').click();
    await page.getByText('0 vehicles added, 1 already in the fleet.').waitFor();
    expect(await vins()).toEqual([...good, one.vin, other.vin]);
  });

  test('rejected rows of a file are corrected in place, by mouse and by keyboard', async () => {
    const { page, vins } = await fleetOf('corrects');
    const [good, typed] = newVins(2);
    const [wrong, later] = [misread(), misread()];
    await choose(page, 'wrong.csv', ['vin', good, wrong.typed, 'WBA123', later.typed].join('\n'));
    const report = upload(page, 'wrong.csv');
    await report.getByText('Reasons', { exact: true }).click();
    await report.getByRole('button', { name: `Did you mean ${wrong.vin}?` }).click();
    await report.getByLabel('VIN in row 4').fill('WBA12');
    await page.keyboard.press('Enter');
    await page.getByText('1 VIN rejected; 1 vehicle added.').waitFor();
    await report.getByText('this one has 5').waitFor();
    const row = (text: string) => report.locator('tbody tr').filter({ hasText: text });
    await row(wrong.vin).getByText('Added', { exact: true }).waitFor();
    await report.getByLabel('VIN in row 4').fill(typed ?? '');
    await report.getByRole('button', { name: 'Add corrected VINs' }).click();
    await page.getByText('1 vehicle added.', { exact: true }).waitFor();
    expect(await vins()).toEqual([good, wrong.vin, typed]);
    expect(await axeFindings(page)).toEqual([]);

    await page.getByRole('link', { name: 'Uploads' }).click();
    const item = page.locator('.list > li').filter({ hasText: 'wrong.csv' });
    await item.getByText('Rejected rows', { exact: true }).click();
    await item.getByRole('button', { name: `Did you mean ${later.vin}?` }).click();
    await page.keyboard.press('Enter');
    await page.getByText('1 vehicle added.', { exact: true }).waitFor();
    expect(await vins()).toEqual([good, wrong.vin, typed, later.vin]);
  });

  test('rows are not corrected one by one where nothing or all is to be added', async () => {
    const { page, client, id } = await fleetOf('whole');
    const send = (query: string) =>
      client.post(`/vehicles/file?fleetId=${id}&${query}`, `vin\n${newVin()}\nWBA1\n`, { 'content-type': 'text/csv' });
    for (const query of ['mode=atomic', 'dryRun=true']) await send(query);
    await page.getByRole('link', { name: 'Uploads' }).click();
    const details = page.getByText('Rejected rows', { exact: true });
    for (const at of [1, 0]) await details.nth(at).click();
    await page.getByText('this one has 4').nth(1).waitFor();
    expect(await page.locator('td input').count()).toBe(0);
  });
});
