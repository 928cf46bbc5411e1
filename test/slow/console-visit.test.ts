// A fleet manager's first hour at the console, and the size of a first visit, in Chromium.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeFindings, browserPages, inBrowser } from '../support/browser.ts';
import { addVehicles, createContract, createFleet, newVin, newVins } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

describe.skipIf(!inBrowser)('a fleet manager at the console', async () => {
  const gateway = await startGateway({ workers: true });
  const open = browserPages();
  const demo = await gateway.as('demo');

  const openConsole = (path = '', options = {}) => open(`${gateway.url}/console${path}`, options);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const row = (page: Page, text: string) => page.locator('table.rows tbody tr').filter({ hasText: text });
  const focused = (page: Page) =>
    page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.textContent');

  test('a first visit takes at most 200 kB in 40 requests', async () => {
    const fleet = await createFleet(demo, { name: 'First seen' });
    await addVehicles(demo, [newVin(0), newVin(7), newVin(0, 'ZFF')], fleet);
    const pending = async () => (await demo.get('/company')).body.eligibilitySummary.pending;
    await until(async () => (await pending()) === 0);
    const page = await open(`${gateway.url}/livez`);
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) =>
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize)),
    );
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(`${gateway.url}/console`);
    await page.getByText(/^Eligible: \d/).waitFor();
    await page.getByRole('region', { name: 'Today' }).getByText('3 vehicles added').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    console.info(`first visit: ${requests.length} requests, ${total} bytes`);
    expect(requests.length).toBeLessThanOrEqual(40);
    expect(total).toBeLessThanOrEqual(200_000);
  });

  test('in German, what is wrong is said in German, and leads to what is in the way', async () => {
    const there = await createFleet(demo, { name: 'Dort' });
    const here = await createFleet(demo, { name: 'Hier' });
    const vin = newVin(0);
    await addVehicles(demo, [vin], there);
    await addVehicles(demo, [newVin(7)], here);
    const page = await openConsole(`#/fleets/${here.id}`, { locale: 'de-DE', mayFail: true });
    await page.getByText('ohne Angabe von Gründen').first().waitFor();
    await button(page, 'FINs hinzufügen').click();
    await page.keyboard.insertText(`WBA1\n${vin}`);
    await button(page, 'Fahrzeuge hinzufügen').click();
    const refused = page.getByRole('dialog').locator('tbody tr');
    await refused.filter({ hasText: 'Eine FIN hat 17 Zeichen; diese hat 4.' }).waitFor();
    await refused.getByRole('link', { name: 'Dort' }).waitFor();
    expect(await page.getByRole('dialog').locator('[lang=en]').count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
    await refused.getByRole('link', { name: 'Fahrzeug anzeigen' }).click();
    await page.getByRole('heading', { name: vin }).waitFor();
    await page.goto(`${gateway.url}/console#/fleets`);
    await button(page, 'Neue Flotte').click();
    await button(page, 'Flotte anlegen').click();
    await page.getByText('Füllen Sie dieses Feld aus.').first().waitFor();
  });

  test('the history names fleets that a vehicle left or that are gone, and leads to the history of a VIN', async () => {
    const from = await createFleet(demo, { name: 'Left behind' });
    const to = await createFleet(demo, { name: 'Moved into' });
    const [moved, gone] = await addVehicles(demo, newVins(2), from);
    await demo.post('/vehicles/move', { fleetId: to.id, ids: [moved?.id] });
    await demo.delete(`/vehicles/${gone?.id}`);
    const page = await openConsole(`#/fleets/${to.id}/activity`, { mayFail: true });
    await page.getByText('1 vehicle moved here from “Left behind”').waitFor();
    await page.goto(`${gateway.url}/console#/fleets/${from.id}/activity`);
    await page.getByText('1 vehicle moved to “Moved into”').waitFor();
    const removed = page.locator('.timeline > li').filter({ hasText: '1 vehicle deleted' });
    await removed.getByRole('button', { name: '1 event' }).click();
    await removed.getByRole('link', { name: gone?.vin }).click();
    await page.getByRole('heading', { name: gone?.vin }).waitFor();
    await page.getByText('There is no such vehicle.').waitFor();
    await page.getByText('1 vehicle deleted').waitFor();
    await demo.delete(`/fleets/${from.id}`);
    await page.goto(`${gateway.url}/console#/fleets/${to.id}/activity`);
    await page.getByRole('link', { name: '“Left behind”' }).click();
    await page.getByText('There is no such fleet.').waitFor();
    await page.getByText('Fleet “Left behind” deleted').waitFor();
  });

  test('rows are selected in ranges by mouse and keyboard, and one key leads to the actions', async () => {
    const fleet = await createFleet(demo, { name: 'In ranges' });
    const vins = newVins(12, 0);
    await addVehicles(demo, vins, fleet);
    const page = await openConsole(`#/fleets/${fleet.id}`);
    const { keyboard } = page;
    const box = (at: number) => page.getByLabel(`Select ${vins[at]}`);
    const selected = (count: number) => page.getByText(`${count} of 12 selected`).waitFor();
    await box(2).check();
    await box(6).click({ modifiers: ['Shift'] });
    await selected(5);
    await box(6).click();
    await box(4).click({ modifiers: ['Shift'] });
    await selected(2);
    await box(8).focus();
    await keyboard.press('Space');
    await keyboard.press('Shift+ArrowDown');
    await keyboard.press('Shift+ArrowDown');
    await selected(5);
    expect(await focused(page)).toBe(`Select ${vins[10]}`);
    await keyboard.press('ArrowUp');
    await keyboard.press('ArrowUp');
    await keyboard.press('ArrowUp');
    await keyboard.press('Space');
    await keyboard.press('ArrowUp');
    await keyboard.press('ArrowUp');
    await keyboard.press('Shift+Space');
    await selected(8);
    await keyboard.press('a');
    expect(await focused(page)).toBe('Check again');
    for (const name of ['Move …', 'New contracts …', 'Download CSV', 'Delete …']) {
      await keyboard.press('Tab');
      expect(await focused(page)).toBe(name);
    }
    expect(await axeFindings(page)).toEqual([]);
  });

  test('contracts run for days, an overlap names the contract in the way, and a deletion what goes', async () => {
    const fleet = await createFleet(demo, { name: 'In days' });
    const [one, other] = await addVehicles(demo, newVins(2, 0), fleet);
    const page = await openConsole(`#/vehicles/${one?.vin}`, {
      mayFail: true,
      timezoneId: 'Europe/Berlin',
      locale: 'en-GB',
    });
    await button(page, 'New contract').click();
    const form = page.getByRole('dialog');
    for (const label of ['Name', 'Data service pack', 'Purpose'])
      await form.getByLabel(label, { exact: true }).fill('daily');
    await form.getByLabel('Start date').fill('2031-03-01');
    await form.getByLabel('End date').fill('2031-03-31');
    await button(page, 'Create contract').click();
    await page.getByText('“daily” created.').waitFor();
    const { body } = await demo.get(`/contracts?conditions=${encodeURIComponent('{"company":"demo"}')}&limit=1000`);
    const made = body.find(({ name }: { name: string }) => name === 'daily');
    expect([made.from, made.to]).toEqual(['2031-02-28T23:00:00.000Z', '2031-03-31T22:00:00.000Z']);
    expect((await row(page, 'daily').innerText()).replaceAll(/\s+/g, ' ')).toMatch(/1 Mar 2031 31 Mar 2031/);
    await button(page, 'New contract').click();
    for (const label of ['Name', 'Data service pack', 'Purpose'])
      await form.getByLabel(label, { exact: true }).fill('daily');
    await form.getByLabel('Start date').fill('2031-03-31');
    await form.getByLabel('End date').fill('2031-03-30');
    await button(page, 'Create contract').click();
    await form.getByText('The end must be after the start.').waitFor();
    await form.getByLabel('End date').fill('2031-04-30');
    await button(page, 'Create contract').click();
    await form.getByText('already has a contract for this pack').waitFor();
    await form.getByRole('link', { name: 'daily' }).waitFor();
    page.once('dialog', (question) => question.accept());
    await button(page, 'Cancel').click();
    await createContract(demo, { ...other, fleetId: fleet.id }, { name: 'second' });
    await page.goto(`${gateway.url}/console#/contracts?fleet=${fleet.id}`);
    await row(page, 'second').waitFor();
    await page.getByLabel('Select this page').check();
    await page.getByRole('region', { name: 'Selected' }).getByRole('button', { name: 'Delete …' }).click();
    await form.getByText(`daily (${one?.vin}) and second (${other?.vin})`).waitFor();
  });

  test('fleets are sorted by name unless asked otherwise', async () => {
    for (const name of ['Zebra', 'Aardvark']) await createFleet(demo, { name });
    const page = await openConsole('#/fleets');
    await page.getByText('Aardvark').waitFor();
    const names = await page.locator('.card h2').allInnerTexts();
    expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b, 'en')));
    await page.getByRole('combobox', { name: 'Sort by' }).selectOption('Newest first');
    await until(async () => (await page.locator('.card h2').first().innerText()) === 'Aardvark');
  });
});
