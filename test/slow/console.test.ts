// The console in Chromium, also while the gateway is stopped.
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { axeFindings, browserPages, inBrowser } from '../support/browser.ts';
import { addVehicles, createFleet, newVin, newVins, uploadForm } from '../support/factories.ts';
import { startGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { status, WebhookReceiver } from '../support/webhook-receiver.ts';

describe.skipIf(!inBrowser)('the console', async () => {
  const gateway = await startGateway({ workers: true });
  const issuer = await testIssuer();
  const secured = await startGateway({ on: gateway, issuer, settings: { CONSOLE: 'on' } });
  const receiver = await WebhookReceiver.start();
  const open = browserPages();
  const demo = await gateway.as('demo');

  const openConsole = (path = '', options = {}) => open(`${gateway.url}/console${path}`, options);
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const rows = (page: Page) => page.locator('table.rows tbody tr');
  const row = (page: Page, vin: string) => rows(page).filter({ hasText: vin });

  test('an unknown address shows a message', async () => {
    for (const path of [
      '#/%E0%A4%A',
      '#/constructor',
      '#/__proto__/x',
      '#/nothing?q=%E0%A4%A',
      '#/fleets/x/y',
      '#/activity/x',
    ]) {
      const page = await openConsole(path);
      await page.getByText('This page does not exist').waitFor();
    }
  });

  test('a newcomer makes a fleet and adds VINs, by keyboard alone, and sees manufacturers answer', async () => {
    const page = await openConsole('#/fleets');
    const { keyboard } = page;
    await page.getByRole('heading', { name: 'Fleets', exact: true }).waitFor();
    const tabTo = async (name: string) => {
      await until(async () => {
        await keyboard.press('Tab');
        return (await page.evaluate<string>('document.activeElement.textContent')).trim() === name;
      });
    };
    await tabTo('New fleet');
    await keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    for (const text of ['Night shift', '1 Main Street, Berlin', 'nobody', 'DE123456789']) {
      await keyboard.type(text);
      await keyboard.press('Tab');
    }
    await tabTo('Create fleet');
    await keyboard.press('Enter');
    await page.getByText('is not an e-mail address').waitFor();
    await page.getByLabel('E-mail').focus();
    await keyboard.press('Control+A');
    await keyboard.type('fleet@example.com');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Night shift' }).waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
    await page.getByText('No vehicles yet').waitFor();

    const [good, slow] = [newVin(0), newVin(8)];
    await tabTo('Add VINs');
    await keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await keyboard.insertText(`${good}\n${slow}\nWBA123`);
    await tabTo('Add vehicles');
    await keyboard.press('Enter');
    await page.getByText('1 VIN rejected; 2 vehicles added.').waitFor();
    await page.getByText('A VIN has 17 characters; this one has 6.').waitFor();
    page.once('dialog', (question) => question.accept());
    await keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row(page, good).getByText('Eligible', { exact: true }).waitFor();
    // The page updates without user action while the slow manufacturer answers.
    await row(page, slow).getByText('Pending', { exact: true }).waitFor();
    await row(page, slow).getByText('Eligible', { exact: true }).waitFor();
    await page.getByRole('img', { name: '2 eligible' }).waitFor();
  });

  test('vehicles are paged, filtered and searched, and show reason and responsible actor', async () => {
    const fleet = await createFleet(demo, { name: 'Paged' });
    const vins = newVins(60);
    const [refused, unsupported] = [newVin(7), newVin(0, 'ZFF')];
    await addVehicles(demo, [...vins, refused, unsupported], fleet);
    const page = await openConsole('#/fleets');
    await page.getByRole('link', { name: 'Paged' }).click();
    await page.getByText('62 vehicles').waitFor();
    expect(await rows(page).count()).toBe(50);
    await page.getByRole('link', { name: 'Next' }).click();
    await row(page, refused).waitFor();
    expect(await rows(page).count()).toBe(12);
    await page.getByRole('link', { name: 'Previous' }).click();
    await row(page, vins[49] ?? '').waitFor();
    await page.goBack();
    await row(page, refused).waitFor();

    await page.getByRole('combobox', { name: 'Sort by' }).selectOption('Newest first');
    await rows(page).first().getByText(unsupported).waitFor();
    await page.getByRole('link', { name: 'Next' }).click();
    await rows(page)
      .first()
      .getByText(vins[11] ?? '')
      .waitFor();
    await page.getByRole('combobox', { name: 'Sort by' }).selectOption('Oldest first');
    await rows(page)
      .first()
      .getByText(vins[0] ?? '')
      .waitFor();

    await page.getByRole('combobox', { name: 'Status' }).selectOption('Not eligible');
    await page.getByText('1 vehicle', { exact: true }).waitFor();
    expect(await row(page, refused).innerText()).toMatch(
      /The manufacturer says that this vehicle is not eligible.*Up to the manufacturer/s,
    );
    await page.getByRole('link', { name: /Unsupported/ }).click();
    expect(await row(page, unsupported).innerText()).toMatch(/no connection to this manufacturer.*Up to the operator/s);
    await page.getByRole('link', { name: /Unsupported/ }).click();
    await page.getByText('62 vehicles').waitFor();
    const end = (vins[17] ?? '').slice(-2);
    const alike = [...vins, refused, unsupported].filter((vin) => vin.endsWith(end)).length;
    await page.getByLabel('VIN, or its start or end').fill(end);
    await page.getByText(`${alike} vehicles`, { exact: true }).waitFor();
    await page.getByLabel('VIN, or its start or end').fill('');
    await page.getByText('62 vehicles').waitFor();
    await page.getByLabel('VIN, or its start or end').pressSequentially((vins[17] ?? '').toLowerCase(), { delay: 5 });
    await page.getByText('1 vehicle', { exact: true }).waitFor();
    await page.reload();
    await row(page, vins[17] ?? '')
      .getByRole('link')
      .click();
    await page.getByRole('heading', { name: vins[17] ?? '' }).waitFor();
    await button(page, 'Check again').click();
    await page.getByText('Checking with the manufacturer again.').waitFor();
    await page.getByText('No contracts.').waitFor();
    await page.getByText('1 vehicle became eligible').waitFor();
  });

  test('the overview shows the first steps, then counts, responsible actors and events', async () => {
    const client = await secured.as('newcomer');
    const page = await open(`${secured.url}/console`, { mayFail: true });
    await page.getByLabel('Access token').fill(client.headers.authorization ?? '');
    await button(page, 'Sign in').click();
    await page.getByRole('heading', { name: 'Start with a fleet' }).waitFor();
    const fleet = await createFleet(client, { name: 'First' });
    await page.getByRole('link', { name: 'Add vehicles to “First”' }).click();
    await page.getByRole('heading', { name: 'First' }).waitFor();
    const [eligible, refused] = [newVin(0), newVin(7)];
    await addVehicles(client, [eligible, refused, newVin(0, 'ZFF')], fleet);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Eligible: 1 of 3 vehicles in 1 fleet.').waitFor();
    await page.getByRole('img', { name: '1 eligible, 1 not eligible, 1 unsupported' }).waitFor();
    const today = page.getByRole('region', { name: 'Today' });
    await today.getByText('3 vehicles added').waitFor();
    await today.getByRole('link', { name: 'First' }).first().waitFor();
    await page.getByText('As a table').click();
    const table = page.getByRole('table');
    await table.locator('tbody tr').first().getByText('3', { exact: true }).waitFor();
    expect(await table.locator('tbody tr').count()).toBe(30);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('link', { name: '1 Up to the operator' }).waitFor();
    await page.getByRole('link', { name: '1 Up to the manufacturer' }).click();
    await row(page, refused).waitFor();
    expect(await rows(page).filter({ hasText: 'First' }).count()).toBe(1);
  });

  test('a provider that does not answer is named on the overview', async () => {
    const page = await openConsole('#/webhooks');
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('query Overview')) return route.fallback();
      const response = await route.fetch();
      const json = await response.json();
      json.data.providers = [{ name: 'silent', state: 'HELD_BACK', since: new Date().toISOString(), brands: [] }];
      return route.fulfill({ response, json });
    });
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('silent stopped answering').waitFor();
  });

  test('the history groups events: a file is one line, which opens', async () => {
    const fleet = await createFleet(demo, { name: 'In runs' });
    const vins = newVins(1_200, 0);
    const form = new FormData();
    form.set('fleetId', fleet.id);
    form.set('vins', new Blob([`vin\n${vins.join('\n')}\nWBA123\n`], { type: 'text/csv' }), 'cars.csv');
    expect((await demo.post('/vehicles/file', form)).status).toBe(201);
    const page = await openConsole('#/activity');
    const item = page.locator('.timeline > li').filter({ hasText: 'In runs' });
    const file = item.filter({ hasText: 'File imported: 1,200 added, 0 already in the fleet, 1 rejected' });
    await file.getByRole('button', { name: '3 events' }).click();
    await file.getByText('1,000 vehicles added').waitFor();
    await file.getByText('200 vehicles added').waitFor();
    await file.getByRole('link', { name: vins[0] ?? '' }).waitFor();
    await file.getByText('and 990 more').waitFor();
    expect(await file.count()).toBe(1);
    await page.getByLabel('Type').selectOption('Eligibility changed');
    await file.waitFor({ state: 'detached' });
    const answers = item.filter({ hasText: 'answers from manufacturers' });
    await answers.getByText(/[\d,]+ eligible/).waitFor();
    await answers.getByRole('button', { name: /events/ }).click();
    await answers.getByText('1 vehicle became eligible').nth(19).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await answers.getByRole('button', { name: 'Earlier' }).click();
    await answers.getByRole('button', { name: 'Back to the latest' }).waitFor();
    await until(async () => (await page.evaluate('document.activeElement.ariaLabel')) === 'Events');
    await page.getByLabel('Type').selectOption('All types');
    await file.getByRole('link', { name: 'Rejected rows' }).click();
    await page.getByText('1,201 rows').waitFor();
  });

  test('vehicles that need attention are one list over all fleets, by actor', async () => {
    const [north, south] = [await createFleet(demo, { name: 'North' }), await createFleet(demo, { name: 'South' })];
    const [refused, unsupported] = [newVin(7), newVin(0, 'ZFF')];
    await addVehicles(demo, [refused, newVin(0)], north);
    await addVehicles(demo, [unsupported], south);
    const page = await openConsole('#/attention');
    const group = (vin: string) => page.locator('table.rows tbody').filter({ hasText: vin });
    await group(refused).getByText('Up to the manufacturer').waitFor();
    await group(unsupported).getByText('Up to the operator').waitFor();
    await page.setViewportSize({ width: 390, height: 900 });
    const operators = page.getByRole('link', { name: 'Up to the operator' });
    await operators.click();
    await row(page, refused).waitFor({ state: 'detached' });
    await page.reload();
    await row(page, unsupported).waitFor();
    const { x = 0, width = 0 } = (await operators.boundingBox()) ?? {};
    expect(x + width).toBeLessThanOrEqual(390);
    await row(page, unsupported).getByRole('link', { name: 'South' }).click();
    await page.getByRole('heading', { name: 'South' }).waitFor();
  });

  /** Drops a file on the page after dragging it over, as a user does. */
  async function drop(page: Page, name: string, text: string) {
    const folder = await mkdtemp(join(inject('database').folder, 'drop-'));
    const path = join(folder, name);
    await writeFile(path, text);
    const session = await page.context().newCDPSession(page);
    const held = { x: 700, y: 500, data: { items: [], files: [path], dragOperationsMask: 1 } };
    const move = (type: 'dragEnter' | 'dragOver' | 'drop') =>
      session.send('Input.dispatchDragEvent', { type, ...held });
    await move('dragEnter');
    await page.getByText('Drop to add the vehicles').waitFor();
    await move('dragOver');
    await move('drop');
  }

  test('a dropped file shows its result and offers its refused rows', async () => {
    const fleet = await createFleet(demo, { name: 'Dropped on' });
    const page = await openConsole(`#/fleets/${fleet.id}`);
    await page.getByText('No vehicles yet').waitFor();
    const [first, second] = newVins(2);
    await drop(page, 'cars.csv', `Plate;VIN\nB-A 1;${first}\nB-A 2;${second}\nB-A 3;WBA123\nB-A 4;${first}\n`);
    const upload = page.getByRole('region', { name: 'Upload of cars.csv' });
    await upload.getByText('Reasons', { exact: true }).click();
    await upload.getByText('A VIN has 17 characters').waitFor();
    expect(await upload.locator('dd').allInnerTexts()).toEqual(['4', '2', '1', '1']);
    await upload.getByText('Rows that repeat a VIN', { exact: true }).click();
    expect(await upload.locator('td').allInnerTexts()).toEqual(expect.arrayContaining(['5', first, '2']));
    const [saved] = await Promise.all([page.waitForEvent('download'), button(page, 'Download rejected rows').click()]);
    expect(saved.suggestedFilename()).toBe('cars.rejected.csv');
    expect(await readFile(await saved.path(), 'utf8')).toMatch(
      /Plate;VIN;error_code;error_message\r?\nB-A 3;WBA123;VIN_INVALID_LENGTH/,
    );
    await row(page, second ?? '').waitFor();

    await page.getByRole('link', { name: 'Uploads' }).click();
    await page.getByText('4 rows · 2 added · 1 already in the fleet · 1 rejected').waitFor();
    const item = page.locator('.list > li').filter({ hasText: 'cars.csv' });
    const [again] = await Promise.all([
      page.waitForEvent('download'),
      item.getByRole('button', { name: 'Download rejected rows' }).click(),
    ]);
    expect(again.suggestedFilename()).toBe('cars.rejected.csv');
    await page.getByRole('navigation', { name: 'Fleet' }).getByRole('link', { name: 'Activity' }).click();
    const line = page
      .locator('.timeline > li')
      .filter({ hasText: 'File imported: 2 added, 1 already in the fleet, 1 rejected' });
    await line.getByText('cars.csv').waitFor();
  });

  test('uploads say why they failed, and which only checked the file', async () => {
    const fleet = await createFleet(demo, { name: 'Reasons' });
    const send = (query: string) => demo.post(`/vehicles/file?fleetId=${fleet.id}&${query}`, `${newVin()}\nWBA1`, csv);
    const csv = { 'content-type': 'text/csv' };
    for (const query of ['mode=atomic', 'dryRun=true']) await send(query);
    const page = await openConsole(`#/fleets/${fleet.id}/uploads`);
    await page.getByText('Rows were rejected, so nothing was saved.').waitFor();
    await page.getByText('Would be added: 1').waitFor();
  });

  test('the page of a fleet that is deleted elsewhere says so', async () => {
    const fleet = await createFleet(demo, { name: 'Deleted elsewhere' });
    const page = await openConsole(`#/fleets/${fleet.id}`, { mayFail: true });
    await page.getByText('No vehicles yet').waitFor();
    await demo.delete(`/fleets/${fleet.id}`);
    await page.getByText('There is no such fleet.').waitFor();
    expect(await button(page, 'Add VINs').count()).toBe(0);
  });

  test('JSON and Excel files are accepted, and other files are refused with a message', async () => {
    const fleet = await createFleet(demo, { name: 'JSON' });
    const page = await openConsole(`#/fleets/${fleet.id}`, { mayFail: true });
    await page.getByText('No vehicles yet').waitFor();
    const choose = async (name: string, mimeType: string, content: string | Buffer) => {
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, 'Upload a file').click()]);
      await chooser.setFiles({ name, mimeType, buffer: Buffer.from(content) });
      return page.getByRole('region', { name: `Upload of ${name}` });
    };
    const vins = newVins(3);
    const objects = JSON.stringify({ vehicles: vins.map((vin, at) => ({ vin, plate: `B-X ${at}` })) });
    const taken = await choose('cars.json', 'application/json', objects);
    await taken.getByText('Added').waitFor();
    expect(await taken.locator('dd').allInnerTexts()).toEqual(['3', '3', '0', '0']);
    const sheet = await choose('cars.xlsx', '', await readFile('test/fixtures/libreoffice.xlsx'));
    await sheet.getByText('Added').waitFor();
    await (await choose('odd.json', 'application/json', '{"vins": 3}')).getByText('no list of VINs').waitFor();
    const picture = await choose('car.png', 'image/png', Buffer.from('89504e470d0a1a0a0000000d', 'hex'));
    await picture.getByText('labelled image/png, which is neither CSV text nor a workbook').waitFor();
    const sylk = await choose('cars.slk', 'text/csv', 'ID;PWXL;N;E\nC;Y1;X1;K"VIN"\nE\n');
    await sylk.getByText('save it as .xlsx or "CSV UTF-8", and send that. Nothing was saved.').waitFor();
    const none = await choose('none.csv', 'text/csv', 'vin\nWBA1\nWBA2\n');
    await none.getByText('Reasons', { exact: true }).waitFor();
    expect(await none.locator('dd').allInnerTexts()).toEqual(['2', '0', '0', '2']);
  });

  test('a large file shows its progress, and can be stopped', async () => {
    const fleet = await createFleet(demo, { name: 'Stopped' });
    const page = await openConsole(`#/fleets/${fleet.id}`, { mayFail: true });
    await page.getByText('No vehicles yet').waitFor();
    const { send } = await page
      .context()
      .newCDPSession(page)
      .then((session) => ({ send: session.send.bind(session) }));
    await send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 200_000,
    });
    const csv = `vin\n${newVins(100_000).join('\n')}\n`;
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'large.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    const upload = page.getByRole('region', { name: 'Upload of large.csv' });
    const bar = upload.getByRole('progressbar');
    await until(async () => Number(await bar.getAttribute('value')) > 0.1);
    await upload.getByText(/Sending \d.* of 1\.8 MB · [\d,]+ rows read/).waitFor();
    await upload.getByRole('button', { name: 'Stop' }).click();
    await upload.getByText('Stopped. Nothing was saved.').waitFor();
    await page.getByText('No vehicles yet').waitFor();
  });

  test('failed deliveries of a webhook are shown and sent again', async () => {
    const page = await openConsole('#/webhooks');
    await button(page, /first webhook|New webhook/)
      .first()
      .click();
    receiver.next('/events', status(410));
    await page.getByLabel('Address').fill(receiver.url('/events'));
    await button(page, 'Create webhook').click();
    expect(await page.locator('code.secret').innerText()).toMatch(/^whsec_/);
    await button(page, 'I have saved it').click();
    await createFleet(demo, { name: 'Told of' });
    await page.getByRole('link', { name: receiver.url('/events') }).click();
    await page.getByText('Disabled', { exact: true }).waitFor();
    await page.getByText('Fleets created', { exact: true }).waitFor();
    await button(page, 'Send again: Fleets created').first().click();
    await page.getByText('Sending again.').waitFor();
    await page.getByText('Delivered', { exact: true }).nth(1).waitFor();
    expect(receiver.received.filter(({ path }) => path === '/events').map(({ event }) => event.type)).toEqual([
      'fleet.created',
      'fleet.created',
    ]);
    await button(page, 'Activate').click();
    await page.getByText('Active', { exact: true }).waitFor();
  });

  test("the theme is the system's or a chosen one, which the next visit applies before painting", async () => {
    const page = await openConsole('#/fleets', { colorScheme: 'light', mayFail: true });
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const [light, dark] = ['rgb(246, 247, 249)', 'rgb(14, 17, 21)'];
    expect(await ground()).toBe(light);
    await button(page, 'Theme: system').click();
    await button(page, 'Theme: light').click();
    await button(page, 'Theme: dark').waitFor();
    expect(await ground()).toBe(dark);
    // Without its modules, the page shows only its first paint.
    await page.route('**/app.js', (route) => route.abort());
    await page.reload({ waitUntil: 'domcontentloaded' });
    expect(await ground()).toBe(dark);
    await page.unroute('**/app.js');
    await page.reload();
    await button(page, 'Theme: dark').click();
    await button(page, 'Theme: system').waitFor();
    expect(await ground()).toBe(light);
    expect(await page.evaluate('localStorage.length')).toBe(0);
  });

  test('the sign-in page asks for a token, keeps it in the tab, and shows its company only', async () => {
    const acme = await secured.as('acme');
    await createFleet(acme, { name: 'Of acme' });
    await createFleet(await secured.as('other'), { name: 'Of others' });
    const page = await open(`${secured.url}/console#/fleets`, { mayFail: true });
    expect(await page.content()).not.toContain('eyJ');
    await button(page, 'Sign in').click();
    await page.getByText('Paste a token first.').waitFor();
    await page
      .getByLabel('Access token')
      .fill(issuer.sign({ company: 'acme', exp: Math.floor(Date.now() / 1000) - 60 }));
    await button(page, 'Sign in').click();
    await page.getByText('The token has expired.').waitFor();
    await page.getByLabel('Access token').fill(acme.headers.authorization ?? '');
    await button(page, 'Sign in').click();
    await page.getByRole('link', { name: 'Of acme' }).waitFor();
    expect(await page.getByText('Of others').count()).toBe(0);
    await page.reload();
    await page.getByRole('link', { name: 'Of acme' }).waitFor();
    expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0);
    await button(page, 'Sign out').click();
    await page.getByLabel('Access token').waitFor();
    await page.reload();
    await page.getByLabel('Access token').waitFor();
  });

  test('a token that expires is asked for again, and a form keeps its text', async () => {
    const acme = await secured.as('acme');
    const page = await open(`${secured.url}/console#/fleets`, { mayFail: true });
    const old = acme.headers.authorization ?? '';
    await page.getByLabel('Access token').fill(old);
    await button(page, 'Sign in').click();
    await button(page, 'New fleet').click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('Kept while signing in');
    await form.getByLabel('Company address').fill('1 Main Street, Berlin');
    await form.getByLabel('E-mail').fill('fleet@example.com');
    await form.getByLabel('VAT').fill('DE123456789');
    const expired = issuer.sign({ company: 'acme', exp: Math.floor(Date.now() / 1000) - 60 });
    await page.route('**/graphql', (route) => {
      const headers = route.request().headers();
      const isOld = headers.authorization === old;
      return route.fallback({ headers: { ...headers, ...(isOld && { authorization: `Bearer ${expired}` }) } });
    });
    await button(page, 'Create fleet').click();
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
    await page.getByLabel('Access token').fill(issuer.sign({ company: 'acme', sub: 'again' }));
    await button(page, 'Sign in').click();
    await button(page, 'Create fleet').click();
    await page.getByRole('heading', { name: 'Kept while signing in' }).waitFor();
  });

  test('a refused token of the demo is renewed without a question', async () => {
    const { name } = await createFleet(demo, { name: 'After a restart' });
    const page = await openConsole('#/fleets', { mayFail: true });
    await page.getByRole('link', { name }).waitFor();
    let stale = false;
    await page.route('**/console', (route) => {
      stale = false;
      return route.fallback();
    });
    await page.route('**/graphql', (route) => {
      const headers = route.request().headers();
      return route.fallback({ headers: { ...headers, ...(stale && { authorization: 'Bearer stale' }) } });
    });
    await until(() => page.evaluate('performance.now() > 5_500'));
    stale = true;
    await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { name }).waitFor();
    expect(stale).toBe(false);
  });

  test('the page says that the gateway is unreachable, and continues by itself', async () => {
    const page = await openConsole('', { mayFail: true });
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('The gateway does not answer.').waitFor();
    await page.getByText('No connection to the gateway.').waitFor();
    await page.context().setOffline(false);
    await page.getByText('The gateway does not answer.').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Fleets', exact: true }).click();
    const { name } = await createFleet(demo, { name: 'Made meanwhile' });
    await page.getByRole('link', { name }).waitFor();
  });

  test('a broken stream of changes is opened again within seconds, every time', async () => {
    const page = await openConsole('#/nowhere', { mayFail: true });
    await page.getByText('Live', { exact: true }).waitFor();
    const refusals: number[] = [];
    await page.route('**/graphql', (route) => {
      if (refusals.length === 5 || !route.request().headers().accept?.includes('event-stream')) return route.fallback();
      refusals.push(Date.now());
      return route.abort();
    });
    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    refusals.push(Date.now());
    const pauses = refusals.slice(1).map((at, index) => at - (refusals[index] ?? 0));
    expect(Math.max(...pauses)).toBeLessThan(10_000);
  });

  test.each(['light', 'dark'] as const)('axe finds nothing, and nothing is too wide, in %s', async (colorScheme) => {
    const client = await gateway.as('demo');
    const fleet = await createFleet(client, { name: 'A fleet of a very long name, such as people choose'.repeat(3) });
    const [vehicle] = await addVehicles(client, [newVin(7), newVin(8), newVin(0, 'ZFF')], fleet);
    const { id: webhook } = (await client.post('/webhooks', { url: receiver.url('/axe') })).body;
    await client.post('/vehicles/file', uploadForm(fleet.id, `${newVin()}\nWBA1\n`, `${'x'.repeat(251)}.csv`));
    const places = [
      '#/',
      '#/fleets',
      `#/fleets/${fleet.id}`,
      `#/fleets/${fleet.id}/uploads`,
      `#/fleets/${fleet.id}/activity`,
    ];
    const others = [
      `#/vehicles/${vehicle?.id}`,
      '#/attention',
      '#/activity',
      '#/webhooks',
      `#/webhooks/${webhook}`,
      '#/nowhere',
    ];
    const page = await openConsole('', { colorScheme, mayFail: true });
    const judge = async (place: string) => {
      for (const width of [390, 768, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await axeFindings(page), `${place} at ${width}`).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${place} at ${width}`).toBeLessThanOrEqual(
          width,
        );
      }
    };
    for (const place of [...places, ...others]) {
      await page.goto(`${gateway.url}/console${place}`);
      await page.locator('main h1').waitFor();
      await page.locator('.blank').first().waitFor({ state: 'detached' });
      await judge(place);
    }
    await page.goto(`${gateway.url}/console#/fleets`);
    await button(page, 'New fleet').click();
    await button(page, 'Create fleet').click();
    await page.getByText('Fill in this field.').first().waitFor();
    await judge('the form');
    await page.keyboard.press('Escape');
    await button(page, 'Sign out').click();
    await page.getByLabel('Access token').waitFor();
    await judge('the door');
  });
});
