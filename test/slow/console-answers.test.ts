// What the console says and where it leads, in Chromium: words and ways that were wrong once.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserPages, inBrowser } from '../support/browser.ts';
import { addVehicles, createContract, createFleet, newVin, newVins } from '../support/factories.ts';
import { startGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';

describe.skipIf(!inBrowser)('the console', async () => {
  const issuer = await testIssuer();
  const gateway = await startGateway({ issuer, workers: true, settings: { CONSOLE: 'on', WEBHOOK_LOOPBACK: 'on' } });
  const open = browserPages();

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const row = (page: Page, text: string) => page.locator('table.rows tbody tr').filter({ hasText: text });

  /** A company of its own with some vehicles in a fleet, and a function that opens a page of it. */
  async function company(name: string, vins: string[] = newVins(2, 0)) {
    const client = await gateway.as(name);
    const fleet = await createFleet(client, { name: 'North' });
    const vehicles = vins.length > 0 ? await addVehicles(client, vins, fleet) : [];
    const openPage = async (place: string, options = {}) => {
      const page = await open(`${gateway.url}/console`, { mayFail: true, ...options });
      await page.evaluate(`sessionStorage.setItem('fleet-gateway-token', '${client.headers.authorization?.slice(7)}')`);
      await page.goto(`${gateway.url}/console#/${place}`);
      await page.reload();
      await page.locator('main h1').waitFor();
      return page;
    };
    return { client, fleet, vehicles, openPage };
  }

  test('two characters find names that begin with them and VINs that end with them', async () => {
    const { vehicles, openPage } = await company('two', [
      'WBA00000000000017',
      'WBA00000000000028',
      '17A00000000000039',
    ]);
    const page = await openPage('vehicles');
    const options = page.getByRole('listbox', { name: 'Found' }).getByRole('option');
    await button(page, 'Search /').click();
    await page.keyboard.type('17');
    await options.nth(1).waitFor();
    expect((await options.allInnerTexts()).map((text) => text.split(/\s/)[0])).toEqual(
      expect.arrayContaining([vehicles[0]?.vin, vehicles[2]?.vin]),
    );
    await page.getByRole('combobox', { name: 'Search' }).fill('No');
    await options.filter({ hasText: /^North/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox').fill('28');
    await page.getByText('1 vehicle', { exact: true }).waitFor();
    await row(page, vehicles[1]?.vin).waitFor();
  });

  test('one character is too few for a VIN, which lists and the search field say', async () => {
    const { openPage } = await company('one');
    const page = await openPage('vehicles');
    const hint = page.getByText('Enter at least two characters.');
    await page.getByRole('searchbox').fill('1');
    await hint.waitFor();
    await page.getByRole('searchbox').fill('');
    await hint.waitFor({ state: 'detached' });
    await button(page, 'Search /').click();
    await page.keyboard.type('1');
    await page.getByRole('dialog').getByText('Enter at least two characters.').waitFor();
    expect(await page.getByText('No results').count()).toBe(0);
  });

  test('a question about many names some of them and counts the others', async () => {
    const { client, fleet, vehicles, openPage } = await company('many', newVins(7, 0));
    for (const vehicle of vehicles) await createContract(client, { ...vehicle, fleetId: fleet.id }, { name: 'Basic' });
    const others = async (place: string, name: string) => {
      const page = await openPage(place);
      await page.getByLabel('Select this page').check();
      await page.getByRole('region', { name: 'Selected' }).getByRole('button', { name }).click();
      return page.getByRole('dialog').innerText();
    };
    const fifth = vehicles[4]?.vin;
    expect(await others('contracts', 'End …')).toMatch(new RegExp(`\\(${fifth}\\), and 2 more\\. The end is now`));
    expect(await others(`fleets/${fleet.id}`, 'Delete …')).toMatch(new RegExp(`${fifth}, and 2 more\\. This cannot`));
  });

  const files: Record<string, [file: Buffer, said: string, language?: string]> = {
    'old.xls': [Buffer.from('d0cf11e0a1b11ae10000', 'hex'), 'save it as .xlsx or "CSV UTF-8", and send that.'],
    'sans.csv': [Buffer.from('Marque;Nom\nBMW;Un\n'), 'Aucune colonne de VIN n’a été trouvée.', 'fr'],
    'leer.csv': [Buffer.from('Kennzeichen;FIN\nB-A 1;\n'), 'Hier steht keine FIN.', 'de'],
  };
  test.each(Object.entries(files))(
    '%s is told why it is not taken, shortly',
    async (name, [buffer, said, locale = 'en']) => {
      const { fleet, openPage } = await company(name, []);
      const page = await openPage(`fleets/${fleet.id}`, { locale });
      const mimeType = name.endsWith('.xls') ? 'application/vnd.ms-excel' : 'text/csv';
      await page.locator('input[type=file]').setInputFiles({ name, mimeType, buffer });
      const upload = page.locator('.upload');
      await upload.locator('[role=alert], summary').first().waitFor();
      for (const summary of await upload.locator('summary').all()) await summary.click();
      await upload.getByText(said).waitFor();
      expect((await upload.innerText()).length).toBeLessThan(450);
    },
  );

  test('the tab Contracts stays in the fleet, and shows those of the fleet alone', async () => {
    const { client, fleet, vehicles, openPage } = await company('tabs');
    const [elsewhere] = await addVehicles(client, newVins(1, 0), await createFleet(client));
    for (const [name, vehicle] of Object.entries({ Here: vehicles[0], There: elsewhere }))
      await createContract(client, { ...vehicle, fleetId: vehicle?.fleetId }, { name });
    const page = await openPage(`fleets/${fleet.id}`);
    await page.getByRole('navigation', { name: 'Fleet' }).getByRole('link', { name: 'Contracts' }).click();
    await row(page, 'Here').waitFor();
    expect(await row(page, 'There').count()).toBe(0);
    await page.getByRole('heading', { level: 1, name: 'North' }).waitFor();
    expect(page.url()).toMatch(new RegExp(`#/fleets/${fleet.id}/contracts$`));
    await page.goto(`${gateway.url}/console#/fleets/${fleet.id}/anything`);
    await page.getByText('This page does not exist').waitFor();
  });

  test('values of an address that no list knows choose nothing, and are no error', async () => {
    const { client, vehicles, fleet, openPage } = await company('bogus');
    await createContract(client, { ...vehicles[0], fleetId: fleet.id }, { name: 'Basic' });
    const page = await openPage('vehicles?status=BOGUS&order=BOGUS');
    for (const [place, shown] of [
      ['vehicles?status=BOGUS&order=BOGUS', vehicles[1]?.vin],
      [`fleets/${fleet.id}?status=constructor`, vehicles[1]?.vin],
      ['contracts?status=BOGUS&activation=BOGUS&reason=BOGUS&order=-BOGUS', 'Basic'],
    ]) {
      await page.goto(`${gateway.url}/console#/${place}`);
      await row(page, shown).waitFor();
      expect(await page.locator('.failure').count()).toBe(0);
    }
    await page.goto(`${gateway.url}/console#/attention?actor=BOGUS&reason=BOGUS`);
    await page.getByText('Nothing needs attention').waitFor();
  });

  test('vehicles are not offered the fleet in which they are', async () => {
    const { client, fleet, vehicles, openPage } = await company('moves');
    const [south, east] = [await createFleet(client, { name: 'South' }), await createFleet(client, { name: 'East' })];
    await addVehicles(client, newVins(1, 0), south);
    const offered = async (page: Page, name: string) => {
      await button(page, name).click();
      const field = page.getByLabel('Destination fleet');
      await field.waitFor();
      const names = await field.locator('option').allInnerTexts();
      await page.keyboard.press('Escape');
      return names;
    };
    const page = await openPage(`vehicles/${vehicles[0]?.id}`);
    expect(await offered(page, 'Move …')).toEqual([east.name, south.name]);
    await page.goto(`${gateway.url}/console#/fleets/${fleet.id}`);
    await page.getByLabel('Select this page').check();
    expect(await offered(page, 'Move …')).toEqual([east.name, south.name]);
    await page.goto(`${gateway.url}/console#/vehicles`);
    await page.getByLabel('Select this page').check();
    expect(await offered(page, 'Move …')).toEqual([east.name, 'North', south.name]);
  });

  test('the page of a deleted vehicle has its VIN and its history, and nothing to try again', async () => {
    const { client, vehicles, openPage } = await company('gone');
    const [{ id, vin }] = vehicles as [{ id: string; vin: string }];
    await client.delete(`/vehicles/${id}`);
    await until(async () => (await client.get(`/events?type=vehicle.removed&vehicleId=${id}`)).body.length > 0);
    const page = await openPage(`vehicles/${id}`);
    await page.getByRole('heading', { level: 1, name: vin }).waitFor();
    await page.getByText('There is no such vehicle.').waitFor();
    await page.getByText('1 vehicle deleted').waitFor();
    expect(await page.getByRole('main').getByRole('button', { name: 'Try again' }).count()).toBe(0);
  });

  test('a webhook whose receiver never answered is not shown as working, and deliveries have names', async () => {
    const { client, vehicles, openPage } = await company('unheard', [newVin(0)]);
    const { body: webhook } = await client.post('/webhooks', { url: 'http://127.0.0.1:9/nobody' });
    const south = await createFleet(client, { name: 'South' });
    await client.post('/vehicles/move', { fleetId: south.id, ids: [vehicles[0]?.id] });
    const page = await openPage('webhooks');
    const badge = page.getByText('No answer yet', { exact: true });
    await badge.waitFor();
    expect(await badge.getAttribute('class')).not.toContain('active');
    await page.goto(`${gateway.url}/console#/webhooks/${webhook.id}`);
    await page.getByText('Vehicles moved', { exact: true }).first().waitFor();
    await badge.waitFor();
    expect(await page.getByRole('main').innerText()).not.toMatch(/vehicle\.moved|VEHICLE_MOVED/);
  });
});
