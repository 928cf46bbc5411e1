// Every change in the console, in Chromium.
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeFindings, browserPages, inBrowser } from '../support/browser.ts';
import { addVehicles, contractFields, createContract, createFleet, newVin, newVins } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const openapi = JSON.parse(await readFile('docs/openapi.json', 'utf8'));

describe.skipIf(!inBrowser)('the verbs of the console', async () => {
  const gateway = await startGateway({ workers: true });
  const receiver = await WebhookReceiver.start();
  const open = browserPages();
  const demo = await gateway.as('demo');

  const openConsole = (path = '', options = {}) => open(`${gateway.url}/console${path}`, options);
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const dialog = (page: Page) => page.getByRole('dialog');
  const answer = (page: Page, name: string) => dialog(page).getByRole('button', { name, exact: true }).click();
  const row = (page: Page, text: string) => page.locator('table.rows tbody tr').filter({ hasText: text });
  const select = (page: Page, vin: string) => page.getByLabel(`Select ${vin}`).check();

  test('a fleet is edited, and what is wrong stands at its field', async () => {
    const fleet = await createFleet(demo, { name: 'Before' });
    const page = await openConsole(`#/fleets/${fleet.id}`, { mayFail: true });
    await page.getByRole('heading', { name: 'Before' }).waitFor();
    await button(page, 'Edit').click();
    await page.getByLabel('E-mail').fill('nobody');
    await answer(page, 'Save');
    await page.getByText('is not an e-mail address').waitFor();
    expect(await page.evaluate('document.activeElement.name')).toBe('email');
    await page.getByLabel('E-mail').fill('after@acme.example');
    await page.getByLabel('Name', { exact: true }).fill('After');
    await answer(page, 'Save');
    await page.getByRole('heading', { name: 'After' }).waitFor();
    const { body } = await demo.get(`/fleets/${fleet.id}`);
    expect(body).toMatchObject({ name: 'After', email: 'after@acme.example', vat: fleet.vat });
    const events = () => demo.get(`/events?fleetId=${fleet.id}&type=fleet.updated`);
    const changed = await until(async () => (await events()).body[0]);
    expect(Object.keys(changed.data.changes ?? changed.data).sort()).toEqual(['email', 'name']);
  });

  test('a fleet is deleted when its name is typed, and the question names what goes', async () => {
    const fleet = await createFleet(demo, { name: 'To be deleted' });
    const [vehicle] = await addVehicles(demo, newVins(12), fleet);
    await createContract(demo, { ...vehicle, fleetId: fleet.id });
    const page = await openConsole(`#/fleets/${fleet.id}`, { mayFail: true });
    await button(page, 'Delete …').click();
    await dialog(page).getByText('12 vehicles and 1 contract will be deleted with it.').waitFor();
    await answer(page, 'Delete fleet');
    await page.getByText('This is not the fleet’s name.').waitFor();
    expect((await demo.get(`/fleets/${fleet.id}`)).status).toBe(200);
    await page.getByLabel('Enter the fleet’s name').fill('To be deleted');
    await answer(page, 'Delete fleet');
    await page.getByText('“To be deleted” deleted.').waitFor();
    await page.getByRole('heading', { name: 'Fleets', exact: true }).waitFor();
    expect((await demo.get(`/fleets/${fleet.id}`)).status).toBe(404);
  });

  test('chosen vehicles get contracts, are moved, saved and deleted', async () => {
    const fleet = await createFleet(demo, { name: 'Chosen from' });
    const other = await createFleet(demo, { name: 'Moved to' });
    const vins = newVins(4);
    const [first = '', second = '', third = '', fourth = ''] = vins;
    const [vehicle] = await addVehicles(demo, vins, fleet);
    await createContract(demo, { ...vehicle, fleetId: fleet.id }, { pack: 'basic' });
    const page = await openConsole(`#/fleets/${fleet.id}`, { mayFail: true });
    await page.getByLabel('Select this page').check();
    await page.getByText('4 of 4 selected').waitFor();

    await button(page, 'New contracts …').click();
    await page.getByLabel('Name', { exact: true }).fill('Basic');
    await page.getByLabel('Data service pack').fill('basic');
    await page.getByLabel('Purpose').fill('A test');
    await page.getByLabel('Start date').fill('2030-06-01');
    await page.getByLabel('End date').fill('2031-06-01');
    await answer(page, 'Create contracts');
    await dialog(page).getByText('3 contracts created; none for 1 vehicle').waitFor();
    expect(await row(page, first).last().innerText()).toMatch(/contract/);
    await answer(page, 'Done');
    await page.getByText('4 of 4 selected').waitFor({ state: 'detached' });

    await select(page, second);
    await select(page, third);
    const [saved] = await Promise.all([page.waitForEvent('download'), button(page, 'Download CSV').click()]);
    const lines = (await readFile(await saved.path(), 'utf8')).trim().split('\n');
    expect(lines.map((line) => line.split(',')[0])).toEqual(['"vin"', `"${second}"`, `"${third}"`]);
    const [all] = await Promise.all([page.waitForEvent('download'), button(page, 'Download all as CSV').click()]);
    expect((await readFile(await all.path(), 'utf8')).trim().split('\n').length).toBe(5);

    await button(page, 'Move …').click();
    await page.getByLabel('Destination fleet').selectOption('Moved to');
    await answer(page, 'Move');
    await page.getByText('2 vehicles moved to “Moved to”.').waitFor();
    await row(page, second).waitFor({ state: 'detached' });
    expect((await demo.get(`/fleets/${other.id}`)).body.vehicleCount).toBe(2);

    await select(page, first);
    await button(page, 'Check again').click();
    await page.getByText(/^Checking with the manufacturers? again\./).waitFor();
    await select(page, fourth);
    await page.getByRole('region', { name: 'Selected' }).getByRole('button', { name: 'Delete …' }).click();
    await dialog(page)
      .getByText(/Delete \d vehicles? and \d contracts?\?/)
      .waitFor();
    await answer(page, 'Delete');
    await row(page, fourth).waitFor({ state: 'detached' });
  });

  test('vehicles are sorted by the heads of their columns, and the next page begins at the top', async () => {
    const fleet = await createFleet(demo, { name: 'Sorted' });
    const vins = newVins(60);
    await addVehicles(demo, vins, fleet);
    const page = await openConsole(`#/fleets/${fleet.id}`);
    await page.getByRole('link', { name: 'VIN' }).click();
    await page.locator('[aria-sort=ascending]').waitFor();
    await page.getByRole('link', { name: 'VIN' }).click();
    await page.locator('[aria-sort=descending]').waitFor();
    const [last = ''] = vins.toReversed();
    await page.locator('tbody tr').first().getByText(last).waitFor();
    await page.reload();
    await page.locator('tbody tr').first().getByText(last).waitFor();
    await page.getByRole('link', { name: 'Next' }).click();
    await row(page, vins[0] ?? '').waitFor();
    const top = () => page.evaluate<number>('document.querySelector(".listing").getBoundingClientRect().top');
    await until(async () => (await top()) >= 0);
    expect(await page.evaluate('document.activeElement.className')).toBe('listing');
  });

  test('a vehicle is found by its VIN in whichever fleet it is', async () => {
    const fleet = await createFleet(demo, { name: 'Somewhere' });
    const [vin = '', other = ''] = newVins(2);
    await addVehicles(demo, [vin, other], fleet);
    const page = await openConsole('#/vehicles');
    await page.getByRole('searchbox').fill(vin);
    await row(page, other).waitFor({ state: 'detached' });
    await row(page, vin).getByRole('link', { name: 'Somewhere' }).waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByRole('combobox', { name: 'Fleet' }).selectOption('Somewhere');
    await page.getByText('2 vehicles', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Fleets', exact: true }).click();
    await page.getByRole('searchbox').fill('somewhere');
    await page.getByText('1 fleet', { exact: true }).waitFor();
  });

  test('the bounds of forms are those of the API', async () => {
    const bounds = async (place: string, verb: string, path: string) => {
      const page = await openConsole(place);
      await button(page, verb).first().click();
      const { properties, required } = openapi.paths[path].post.requestBody.content['application/json'].schema;
      const fields = dialog(page).locator('[name]:not([type=checkbox])');
      await fields.first().waitFor();
      const found = await fields.evaluateAll((all) =>
        all.map((one) => [one.getAttribute('name'), one.hasAttribute('required'), one.getAttribute('maxlength')]),
      );
      const wanted = found.map(([name]) => [
        name,
        required.includes(name),
        properties[String(name)].maxLength?.toString() ?? null,
      ]);
      expect(found).toEqual(wanted);
      return found.length;
    };
    expect(await bounds('#/fleets', 'New fleet', '/fleets')).toBe(4);
    expect(await bounds('#/contracts', 'New contract', '/contracts')).toBe(6);
    expect(await bounds('#/webhooks', 'New webhook', '/webhooks')).toBe(2);
  });

  test('all vehicles that fit a filter are chosen, moved, moved back, asked about and deleted', async () => {
    const fleet = await createFleet(demo, { name: 'Of very many' });
    const other = await createFleet(demo, { name: 'For very many' });
    const [first = ''] = newVins(1);
    await addVehicles(demo, [first], other);
    await addVehicles(demo, newVins(1_050, 0), fleet);
    const countOf = async ({ id }: { id: string }) => (await demo.get(`/fleets/${id}`)).body.vehicleCount;
    const page = await openConsole(`#/fleets/${fleet.id}`, { mayFail: true });
    const selected = page.getByRole('region', { name: 'Selected' });
    const selectAll = async () => {
      await page.getByLabel('Select this page').check();
      await selected.getByText('50 of 1,050 selected').waitFor();
      await button(page, 'Select all 1,050 matching').click();
      await selected.getByText('1,050 of 1,050 selected').waitFor();
    };
    await selectAll();
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByRole('link', { name: 'Previous' }).waitFor();
    const boxes = page.locator('tbody input[type=checkbox]');
    expect(await boxes.evaluateAll((all) => all.every((one) => (one as unknown as { checked: boolean }).checked))).toBe(
      true,
    );
    await boxes.first().uncheck();
    await selected.getByText('50 of 1,050 selected').waitFor();
    await button(page, 'Clear selection').click();

    await selectAll();
    await button(page, 'Move …').click();
    await dialog(page).getByText('Move 1,050 vehicles').waitFor();
    await page.getByLabel('Destination fleet').selectOption('For very many');
    await answer(page, 'Move');
    await page.getByText('1,050 vehicles moved to “For very many”.').waitFor();
    expect(await countOf(other)).toBe(1_051);
    await button(page, 'Undo').click();
    await page.getByText('1,050 vehicles moved back.').waitFor();
    expect([await countOf(fleet), await countOf(other)]).toEqual([1_050, 1]);

    await selectAll();
    await button(page, 'Check again').click();
    await page.getByText(/^Checking with the manufacturers? again\./).waitFor();
    await selectAll();
    await selected.getByRole('button', { name: 'Delete …' }).click();
    await dialog(page).getByText('Delete 1,050 vehicles and their contracts?').waitFor();
    await answer(page, 'Delete');
    await page.getByText('1,050 vehicles deleted.').waitFor();
    expect(await countOf(fleet)).toBe(0);
  });

  test('all contracts that fit are deleted; of too many, none are offered', async () => {
    const fleet = await createFleet(demo, { name: 'Under many contracts' });
    const vehicles = await addVehicles(demo, newVins(60, 0), fleet);
    for (const vehicle of vehicles) await createContract(demo, { ...vehicle, fleetId: fleet.id });
    const page = await openConsole('#/contracts', { mayFail: true });
    await page.getByRole('combobox', { name: 'Fleet' }).selectOption('Under many contracts');
    await page.getByText('60 contracts', { exact: true }).waitFor();
    await page.getByLabel('Select this page').check();
    await button(page, 'Select all 60 matching').click();
    await page.getByRole('region', { name: 'Selected' }).getByRole('button', { name: 'Delete …' }).click();
    await dialog(page).getByText('Delete 60 contracts?').waitFor();
    await answer(page, 'Delete');
    await page.getByText('60 contracts deleted.').waitFor();
    await page.getByText('No matching contracts').waitFor();

    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('query Vehicles')) return route.fallback();
      const response = await route.fetch();
      const json = await response.json();
      Object.assign(json.data.vehicles, { totalCount: 10_000, totalCountIsExact: false });
      return route.fulfill({ response, json });
    });
    await page.goto(`${gateway.url}/console#/fleets/${fleet.id}`);
    await page.getByLabel('Select this page').check();
    await page.getByText('You can select at most 10,000 at once. Filter the list.').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('what is done to many stops when its question is left', async () => {
    const fleet = await createFleet(demo, { name: 'Stopped' });
    const vehicles = await addVehicles(demo, newVins(1_001, 0), fleet);
    const vins = vehicles.map(({ vin }) => vin);
    for (const part of [vins.slice(0, 1_000), vins.slice(1_000)])
      expect((await demo.post('/contracts/bulk', contractFields({ fleetId: fleet.id }, { vins: part }))).status).toBe(
        201,
      );
    const page = await openConsole(`#/contracts?fleet=${fleet.id}`);
    await page.getByText('1,001 contracts', { exact: true }).waitFor();
    await page.getByLabel('Select this page').check();
    await button(page, 'Select all 1,001 matching').click();
    await page.getByRole('region', { name: 'Selected' }).getByRole('button', { name: 'Delete …' }).click();
    const { promise: isLeft, resolve: left } = Promise.withResolvers<void>();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('deleteContracts')) return route.fallback();
      asked();
      await isLeft;
      return route.fallback();
    });
    await answer(page, 'Delete');
    await isAsked;
    await page.keyboard.press('Escape');
    left();
    await page.getByText('Stopped. What was already done stays.').waitFor();
    const query = `{ contracts(filter: { fleetId: "${fleet.id}" }) { totalCount } }`;
    const { body } = await demo.post('/graphql', { query });
    expect(body.data.contracts.totalCount).toBe(1);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('contracts that manufacturers rejected are counted, filtered, found and asked about again', async () => {
    const fleet = await createFleet(demo, { name: 'At manufacturers' });
    const [good, bad] = [newVin(0, 'WBA'), newVin(7, 'WBA')];
    const vehicles = await addVehicles(demo, [good, bad], fleet);
    const inForce = { from: new Date(Date.now() - 86_400_000).toISOString(), to: '2040-01-01T00:00:00Z', pack: 'told' };
    await createContract(demo, { ...vehicles[0], fleetId: fleet.id }, { ...inForce, name: 'Approved' });
    const page = await openConsole(`#/contracts?fleet=${fleet.id}`, { mayFail: true });
    await row(page, good).getByText('Active', { exact: true }).waitFor();
    // The page shows the manufacturer's decision without an action of the user.
    await createContract(demo, { ...vehicles[1], fleetId: fleet.id }, { ...inForce, name: 'Refused by it' });
    await row(page, bad).getByText('Rejected', { exact: true }).waitFor();
    await row(page, bad).getByText('Up to the manufacturer').waitFor();

    await page.getByRole('combobox', { name: 'Activation' }).selectOption('Rejected');
    await row(page, good).waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'Activation' }).selectOption('');
    const [named, byVin] = [/^Name/, /^VIN/].map((name) => page.getByRole('searchbox', { name }));
    await named?.fill('fused by');
    await row(page, good).waitFor({ state: 'detached' });
    await named?.fill('');
    await byVin?.fill(good.toLowerCase());
    await row(page, bad).waitFor({ state: 'detached' });
    await byVin?.fill('');

    const events = () => demo.get('/events?type=contract.rejected&limit=1000');
    const rejections = async () =>
      (await events()).body.filter((one: { fleetId: string }) => one.fleetId === fleet.id).length;
    await until(async () => (await rejections()) === 1);
    await select(page, `Refused by it, ${bad}`);
    await button(page, 'Check again').click();
    await page.getByText(/^Checking with the manufacturers? again\./).waitFor();
    await until(async () => (await rejections()) === 2);
    await select(page, `Approved, ${good}`);
    await button(page, 'Check again').click();
    await page.getByText('Nothing to check: none of these is pending, rejected or failed.').waitFor();

    await page.getByRole('link', { name: 'Refused by it' }).click();
    await page.getByText('1 contract rejected by the manufacturer').first().waitFor();
    await button(page, 'Check again').click();
    await page.getByText(/^Checking with the manufacturers? again\./).waitFor();
    await page.goto(`${gateway.url}/console#/`);
    const counts = page.getByRole('region', { name: 'Contracts by their activation at manufacturers' });
    await counts.getByRole('link', { name: /Rejected.*Up to the manufacturer/ }).click();
    await row(page, bad).waitFor();
    await row(page, good).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'All reasons' }).click();
    await page.getByRole('link', { name: 'Only this reason' }).waitFor();

    await page.goto(`${gateway.url}/console#/fleets/${fleet.id}`);
    await page.getByLabel('Select this page').check();
    await button(page, 'New contracts …').click();
    for (const [label, value] of [
      ['Name', 'Again'],
      ['Data service pack', 'told'],
      ['Purpose', 'A test'],
    ] as const)
      await dialog(page).getByLabel(label, { exact: true }).fill(value);
    await answer(page, 'Create contracts');
    await dialog(page).getByText('0 contracts created; none for 2 vehicles').waitFor();
    await row(page, bad).last().getByRole('link', { name: 'Refused by it' }).click();
    await page.getByRole('heading', { name: 'Refused by it' }).waitFor();
  });

  test('columns are chosen by a click, and stay so', async () => {
    const fleet = await createFleet(demo, { name: 'In columns' });
    await addVehicles(demo, newVins(2), fleet);
    const page = await openConsole(`#/fleets/${fleet.id}`);
    const heads = () => page.locator('thead th:not(.pick)').allInnerTexts();
    await page.getByText('Columns', { exact: true }).click();
    expect(await page.getByRole('group', { name: 'Columns' }).getByRole('checkbox').count()).toBe(4);
    await page.getByLabel('Manufacturer', { exact: true }).and(page.getByRole('checkbox')).uncheck();
    await page.getByRole('columnheader', { name: 'Manufacturer' }).waitFor({ state: 'detached' });
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('heading', { name: 'In columns' }).click();
    await page.getByLabel('Reason', { exact: true }).waitFor({ state: 'hidden' });
    await page.reload();
    await row(page, 'WBA').first().waitFor();
    expect((await heads()).map((head) => head.split(/\s/)[0])).toEqual(['VIN', 'Status', 'Reason', 'Last']);
    await page.getByRole('link', { name: 'Vehicles', exact: true }).first().click();
    await page.getByRole('columnheader', { name: 'Manufacturer' }).waitFor();
  });

  test('one field finds fleets, vehicles, contracts, pages and actions, by keyboard alone', async () => {
    const fleet = await createFleet(demo, { name: 'Zanzibar' });
    const [vehicle] = await addVehicles(demo, [newVin()], fleet);
    await createContract(demo, { ...vehicle, fleetId: fleet.id }, { name: 'Zanzibar basic' });
    const page = await openConsole('#/vehicles');
    const { keyboard } = page;
    const field = page.getByRole('combobox', { name: 'Search' });
    const options = page.getByRole('listbox', { name: 'Found' }).getByRole('option');
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await page.getByRole('searchbox').fill('/');
    expect(await field.count()).toBe(0);
    await page.getByRole('searchbox').fill('');
    await page.getByRole('heading', { name: 'Vehicles' }).focus();
    await keyboard.press('/');
    await field.waitFor();
    await keyboard.type('zanzi');
    await options.nth(1).waitFor();
    expect((await options.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))).toEqual([
      'Zanzibar Fleet · 1 vehicle',
      expect.stringMatching(/^Zanzibar basic Contract · /),
    ]);
    for (const width of [390, 820, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await axeFindings(page), `at ${width}`).toEqual([]);
    }
    await keyboard.press('ArrowDown');
    expect(await page.locator('[aria-selected=true]').innerText()).toMatch(/Zanzibar basic/);
    await keyboard.press('ArrowUp');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Zanzibar' }).waitFor();
    await until(async () => (await focused()) === 'Zanzibar');

    await keyboard.press('Control+k');
    await options.first().getByText('Zanzibar').waitFor();
    await keyboard.type(vehicle?.vin.slice(-8) ?? '');
    await options.filter({ hasText: vehicle?.vin }).waitFor();
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: vehicle?.vin }).waitFor();
    await button(page, 'Search /').click();
    expect((await options.allInnerTexts()).slice(0, 2)).toEqual([
      expect.stringContaining(vehicle?.vin ?? ''),
      expect.stringContaining('Zanzibar'),
    ]);
    await keyboard.type('nothing like that');
    await page.getByText('No results').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    expect(await focused()).toBe('Search /');
    await keyboard.press('Control+k');
    await field.waitFor();
    await keyboard.type('new web');
    await keyboard.press('Enter');
    await dialog(page).getByLabel('Address').waitFor();
    await keyboard.press('Escape');
    await page.goto(`${gateway.url}/console#/search?text=Zanzi`);
    await options.filter({ hasText: 'Zanzibar basic' }).click();
    await page.getByRole('heading', { name: 'Zanzibar basic' }).waitFor();
  });

  test('a search that goes on while a dialog opens leaves it open', async () => {
    const page = await openConsole('#/fleets');
    const search = page.getByRole('searchbox');
    await search.fill('x');
    await page.getByRole('heading', { name: 'Fleets', exact: true }).press('/');
    await page.waitForURL(/#\/fleets\?name=x/);
    expect(await page.getByRole('combobox', { name: 'Search' }).isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    await search.fill('y');
    await button(page, 'New fleet').first().click();
    await dialog(page).getByLabel('Name', { exact: true }).fill('Kept');
    await page.waitForURL(/#\/fleets\?name=y/);
    expect(await dialog(page).getByLabel('Name', { exact: true }).inputValue()).toBe('Kept');
  });

  test('Enter opens what was typed last, however slow the answer is', async () => {
    for (const name of ['Quito', 'Riga']) await createFleet(demo, { name });
    const page = await openConsole('#/search?text=Quito');
    const options = page.getByRole('option');
    await options.filter({ hasText: 'Quito' }).waitFor();
    await page.route('**/graphql', (route) => setTimeout(() => route.continue(), 500));
    await page.getByRole('combobox', { name: 'Search' }).fill('Riga');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Riga' }).waitFor();
  });

  test('contracts are created by a VIN, filtered and deleted', async () => {
    const fleet = await createFleet(demo, { name: 'Under contract' });
    const [vin, unknown] = newVins(2);
    await addVehicles(demo, [vin ?? ''], fleet);
    const page = await openConsole('#/contracts', { mayFail: true });
    await button(page, 'New contract').click();
    await page.getByLabel('VIN', { exact: true }).fill(unknown ?? '');
    await dialog(page).getByLabel('Name', { exact: true }).fill('By VIN');
    await page.getByLabel('Data service pack').fill('charging');
    await answer(page, 'Create contract');
    await page.locator('#vin-wrong').waitFor();
    await page.getByLabel('VIN', { exact: true }).fill(vin ?? '');
    await answer(page, 'Create contract');
    await page.locator('#description-wrong').waitFor();
    await page.getByLabel('Purpose').fill('A test');
    await answer(page, 'Create contract');
    await page.getByText('“By VIN” created.').waitFor();
    await page.getByRole('combobox', { name: 'Fleet' }).selectOption('Under contract');
    await page.getByText('1 contract', { exact: true }).waitFor();
    await page.getByRole('combobox', { name: 'Status' }).selectOption('Ended');
    await page.getByText('No matching contracts').waitFor();
    await page.getByRole('combobox', { name: 'Status' }).selectOption('Scheduled');
    await row(page, vin ?? '')
      .getByRole('link', { name: 'By VIN' })
      .click();
    await page.getByRole('heading', { name: 'By VIN' }).waitFor();
    await button(page, 'Delete …').click();
    await dialog(page).getByText('Delete the contract “By VIN”?').waitFor();
    await answer(page, 'Delete');
    await page.getByText('1 contract deleted.').waitFor();
    await page.getByRole('heading', { name: 'Contracts', exact: true }).waitFor();
  });

  test('a contract is edited, its end by its last day, and what is wrong stands at its field', async () => {
    const period = { from: new Date(2026, 0, 1).toISOString(), to: new Date(2090, 0, 1).toISOString() };
    const made = await createContract(demo, undefined, { name: 'Before', ...period });
    const page = await openConsole(`#/contracts/${made.id}`, { mayFail: true });
    await button(page, 'Edit').click();
    expect(await page.getByLabel('End date').inputValue()).toBe('2089-12-31');
    await page.getByLabel('End date').fill('2026-02-01');
    await answer(page, 'Save');
    await page.getByText('The end must be in the future').waitFor();
    expect(await page.evaluate('document.activeElement.name')).toBe('to');
    await page.getByLabel('End date').fill('2088-02-29');
    await page.getByLabel('Name', { exact: true }).fill('After');
    await answer(page, 'Save');
    await page.getByRole('heading', { name: 'After' }).waitFor();
    await page.getByText('1 contract changed').waitFor();
    const { body } = await demo.get(`/contracts/${made.id}`);
    expect(body).toMatchObject({ ...made, name: 'After', to: new Date(2088, 2, 1).toISOString(), activation: {} });
  });

  test('a vehicle gets a contract on its page, and is deleted there with it', async () => {
    const fleet = await createFleet(demo, { name: 'Of one' });
    const [vehicle] = await addVehicles(demo, [newVin()], fleet);
    const page = await openConsole(`#/vehicles/${vehicle?.id}`, { mayFail: true });
    const make = async () => {
      await button(page, 'New contract').click();
      for (const label of ['Name', 'Data service pack', 'Purpose']) await dialog(page).getByLabel(label).fill('Basic');
      await answer(page, 'Create contract');
    };
    await make();
    await row(page, 'Basic').getByText('Scheduled').first().waitFor();
    await make();
    await dialog(page).getByText('already has a contract for this pack').waitFor();
    page.once('dialog', (question) => question.accept());
    await answer(page, 'Cancel');
    await button(page, 'Delete …').click();
    await dialog(page).getByText('Delete 1 vehicle and 1 contract?').waitFor();
    await answer(page, 'Delete');
    await page.getByRole('heading', { name: 'Of one' }).waitFor();
    expect((await demo.get(`/vehicles/${vehicle?.id}`)).status).toBe(404);
  });

  test('a webhook is made for some events, edited, tested, given a new secret and deleted', async () => {
    const page = await openConsole('#/webhooks', { mayFail: true });
    await button(page, 'New webhook').click();
    await page.getByLabel('Address').fill('nowhere');
    await answer(page, 'Create webhook');
    await page.locator('#url-wrong').waitFor();
    await page.getByLabel('Address').fill(receiver.url('/verbs'));
    await page.getByLabel('Fleets created').check();
    await answer(page, 'Create webhook');
    const secret = dialog(page).locator('code.secret');
    const first = await secret.innerText();
    await dialog(page).getByText('It is shown only once.').waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await answer(page, 'Copy');
    await expect.poll(() => page.evaluate<string>('navigator.clipboard.readText()')).toBe(first);
    await answer(page, 'I have saved it');

    await page.getByRole('link', { name: receiver.url('/verbs') }).click();
    await page.getByText('Fleets created').waitFor();
    await button(page, 'Edit').click();
    expect(await page.getByLabel('Fleets created').isChecked()).toBe(true);
    await page.getByLabel('Contracts created').check();
    await page.getByLabel('Description').fill('Told of contracts');
    await answer(page, 'Save');
    await page.getByText('Told of contracts').waitFor();
    await button(page, 'Test').click();
    await page.getByText('Webhook tested', { exact: true }).waitFor();
    await button(page, 'New secret').click();
    await answer(page, 'Create new secret');
    expect(await secret.innerText()).not.toBe(first);
    await answer(page, 'I have saved it');
    await button(page, 'Pause').click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await button(page, 'Activate').click();
    await page.getByText('Active', { exact: true }).waitFor();
    await button(page, 'Delete …').click();
    await answer(page, 'Delete');
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await page.getByRole('link', { name: receiver.url('/verbs') }).waitFor({ state: 'detached' });
  });

  test('refused rows of an earlier file are shown in a table', async () => {
    const fleet = await createFleet(demo, { name: 'Rejected' });
    const csv = `Plate;VIN\n"B;A ""1""";WBA123\nB-A 2;${newVin()}\nB-A 3;WBA456\n`;
    const form = new FormData();
    form.set('fleetId', fleet.id);
    form.set('vins', new Blob([csv], { type: 'text/csv' }), 'cars.csv');
    expect((await demo.post('/vehicles/file', form)).status).toBe(201);
    const page = await openConsole(`#/fleets/${fleet.id}/uploads`);
    await page.getByText('Rejected rows', { exact: true }).click();
    const table = page.getByRole('table', { name: 'Rejected' });
    await table.getByLabel('VIN in row 4').waitFor();
    const fields = await table.getByRole('textbox').all();
    expect(await Promise.all(fields.map((field) => field.inputValue()))).toEqual(['WBA123', 'WBA456']);
    expect(await table.locator('thead th').allInnerTexts()).toEqual(['Row', 'Value', 'Reason']);
    expect(await table.locator('tbody tr').allInnerTexts()).toEqual([
      expect.stringMatching(/2\s+A VIN has 17 characters/),
      expect.stringMatching(/4\s+A VIN has 17 characters/),
    ]);
    expect(await axeFindings(page)).toEqual([]);
  });

  test('a file is checked before it is sent', async () => {
    const fleet = await createFleet(demo, { name: 'Checked first' });
    const page = await openConsole(`#/fleets/${fleet.id}/uploads`);
    await button(page, 'Check a file').click();
    await answer(page, 'Send');
    await page.getByText('Choose a file.').waitFor();
    const csv = `vin\n${newVin()}\nWBA1\n`;
    await dialog(page)
      .getByLabel('File')
      .setInputFiles({ name: 'cars.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await answer(page, 'Send');
    const upload = page.getByRole('region', { name: 'Upload of cars.csv' });
    await upload.getByText('Nothing was saved.').waitFor();
    expect(await upload.locator('dt').allInnerTexts()).toContain('Would be added');
    expect(await upload.locator('dd').allInnerTexts()).toEqual(['2', '1', '0', '1']);
    expect((await demo.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(0);
  });

  test('a form keeps what was typed, and gives the focus back', async () => {
    const page = await openConsole('#/fleets');
    await button(page, 'New fleet').click();
    await page.getByLabel('Name', { exact: true }).fill('Half a fleet');
    await page.mouse.click(20, 450);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half a fleet');
    const asked: string[] = [];
    const reply = (deed: 'accept' | 'dismiss') =>
      page.once('dialog', async (question) => {
        asked.push(question.message());
        await question[deed]();
      });
    for (const leave of [() => page.keyboard.press('Escape'), () => answer(page, 'Cancel')]) {
      reply('dismiss');
      await leave();
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half a fleet');
    }
    reply('accept');
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    expect(asked).toEqual(Array(3).fill('Discard your changes?'));
    expect(await page.evaluate('document.activeElement.textContent')).toBe('New fleet');
    await button(page, 'New fleet').click();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Contracts', exact: true }).click();
    await button(page, 'New contract').click();
    await page.goBack();
    await page.getByRole('heading', { name: 'Fleets', exact: true }).waitFor();
    await dialog(page).waitFor({ state: 'detached' });
  });

  test('a form whose answer is lost is sent again, and carried out once', async () => {
    const page = await openConsole('', { mayFail: true });
    await page.getByText('Live', { exact: true }).waitFor();
    await button(page, 'New fleet').click();
    const fields = {
      Name: 'Sent twice',
      'Company address': 'Berlin',
      'E-mail': 'a@b.example',
      'VAT number': 'DE123456789',
    };
    for (const [label, value] of Object.entries(fields)) await dialog(page).getByLabel(label).fill(value);
    let lost = 0;
    await page.route('**/graphql', async (route) => {
      if (lost > 0 || !route.request().postData()?.includes('createFleet')) return route.fallback();
      lost += 1;
      await route.fetch();
      return route.abort();
    });
    await answer(page, 'Create fleet');
    await dialog(page).getByText('Your entries are kept and sent again').waitFor();
    await page.getByRole('heading', { name: 'Sent twice' }).waitFor();
    const { body } = await demo.get('/fleets');
    expect(body.filter(({ name }: { name: string }) => name === 'Sent twice').length).toBe(1);
  });

  test('what was added shows at once, by the answer itself', async () => {
    const fleet = await createFleet(demo, { name: 'At once' });
    const page = await openConsole(`#/fleets/${fleet.id}`);
    await page.getByText('No vehicles yet').waitFor();
    // Nothing is read anew: the page has the answer alone.
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('query Fleet(') ? new Promise(() => {}) : route.fallback(),
    );
    await button(page, 'Add VINs').click();
    await page.getByRole('textbox', { name: 'VINs' }).fill(newVins(3).join('\n'));
    await answer(page, 'Add vehicles');
    await page.getByRole('img', { name: /3 pending|3 eligible|\d eligible, \d pending/ }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test.each(['light', 'dark'] as const)(
    'axe finds nothing in questions and chosen rows, in %s',
    async (colorScheme) => {
      const fleet = await createFleet(demo, { name: 'Judged' });
      const [vehicle] = await addVehicles(demo, newVins(3), fleet);
      const contract = await createContract(demo, { ...vehicle, fleetId: fleet.id });
      const page = await openConsole(`#/fleets/${fleet.id}`, { colorScheme, mayFail: true });
      const judge = async (place: string) => {
        for (const width of [390, 820, 1440]) {
          await page.setViewportSize({ width, height: 900 });
          expect(await axeFindings(page), `${place} at ${width}`).toEqual([]);
          const wide = await page.evaluate('document.documentElement.scrollWidth');
          expect(wide, `${place} at ${width}`).toBeLessThanOrEqual(width);
        }
      };
      await page.getByLabel('Select this page').check();
      await judge('chosen rows');
      const places = [
        [`#/fleets/${fleet.id}`, 'Edit'],
        [`#/fleets/${fleet.id}`, 'Delete …'],
        [`#/fleets/${fleet.id}`, 'Add VINs'],
        ['#/contracts', 'New contract'],
        [`#/contracts/${contract.id}`, 'Edit'],
        [`#/contracts/${contract.id}`, 'Delete …'],
        ['#/webhooks', 'New webhook'],
        ['#/manufacturers', ''],
        ['#/vehicles', ''],
        ['#/search?text=Judged', ''],
      ] as const;
      for (const [place, verb] of places) {
        await page.goto(`${gateway.url}/console${place}`);
        await page.reload();
        await page.locator('main h1').waitFor();
        await page.locator('.blank').first().waitFor({ state: 'detached' });
        await judge(place);
        if (!verb) continue;
        await button(page, verb).first().click();
        await dialog(page).waitFor();
        await judge(`${place}: ${verb}`);
      }
    },
  );
});
