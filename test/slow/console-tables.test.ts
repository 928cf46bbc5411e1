// Nothing of the console is cut off or juts out, at six widths, in six languages, in Chromium.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserPages, inBrowser } from '../support/browser.ts';
import { addVehicles, createContract, createFleet, newVin, newVins, uploadForm } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const widths = [390, 768, 1024, 1280, 1920];

/** Labels of the tables that are shown, and the texts in their cells that something covers or cuts off. */
const look = `(() => {
  const tables = [...document.querySelectorAll(document.querySelector('dialog[open]') ? 'dialog[open] table' : 'table')];
  const shown = tables.filter((table) => table.checkVisibility());
  const isSeen = (cell, { x, y, width, height }) =>
    [0.1, 0.5, 0.9].every((share) => cell.contains(document.elementFromPoint(x + width * share, y + height / 2)));
  const partsOf = (cell) => {
    const parts = [...cell.querySelectorAll('input')].map((input) => [input, input.ariaLabel]);
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(texts.currentNode);
      if (texts.currentNode.data.trim()) parts.push([range, texts.currentNode.data]);
    }
    return parts;
  };
  // On narrow screens rows are cards, and heads are for screen readers alone.
  const cells = (table) => [...table.querySelectorAll('th, td')].filter((cell) =>
    cell.checkVisibility() && getComputedStyle(cell.closest('thead') ?? cell).clipPath === 'none');
  const unseen = shown.flatMap((table) => [
    ...[...table.rows].filter((row) => !row.closest('thead') && !cells(row).length).map(() => table.ariaLabel + ': an empty row'),
    ...cells(table).flatMap((cell) => partsOf(cell).flatMap(([part, text]) => {
      cell.scrollIntoView({ block: 'center', inline: 'center' });
      const boxes = [...part.getClientRects()].filter(({ width, height }) => width > 0 && height > 0);
      return boxes.every((box) => isSeen(cell, box)) ? [] : [table.ariaLabel + ': ' + text];
    })),
  ]);
  return { labels: shown.map((table) => table.ariaLabel), unseen };
})()`;

const sixWidths = [390, 768, 1024, 1280, 1366, 1920];
const sixLanguages = ['en', 'de', 'fr', 'it', 'es', 'nl'];

/**
 * Elements and texts that end beyond the column of the page, of its head or of the open dialog. What scrolls or is cut by design is not
 * judged, such as the navigation of narrow screens.
 */
const jutting = `(() => {
  const dialog = document.querySelector('dialog[open] .sheet');
  const columns = dialog ? [dialog] : [...document.querySelectorAll('main, .top .inner')];
  const style = (element) => getComputedStyle(element);
  const isCut = (element, column) =>
    element !== column && (style(element).textOverflow === 'ellipsis' || isCut(element.parentElement, column));
  const scrolling = ':is(.scroll, .sides, .found, select, svg) > *, pre, .top nav';
  const beyond = (column) => {
    const end = column.getBoundingClientRect().right - parseFloat(style(column).paddingRight);
    const endOf = (element) => {
      const texts = isCut(element, column) ? [] : [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
      const ranges = texts.map((text) => {
        const range = document.createRange();
        range.selectNodeContents(text);
        return range;
      });
      return Math.max(...[element, ...ranges].map((part) => part.getBoundingClientRect().right));
    };
    const out = [...column.querySelectorAll('*')].filter((element) => element.checkVisibility() && !element.closest(scrolling) &&
      !isCut(element.parentElement, column) && style(element).clipPath === 'none' && endOf(element) > end + 1);
    return out.filter((element) => !out.some((other) => element !== other && element.contains(other)))
      .map((element) => [element.localName, ...element.classList].join('.') + ' “' + element.textContent.slice(0, 30) + '” by ' + Math.round(endOf(element) - end));
  };
  const wide = ':root, .selected .actions' + (innerWidth > 1000 ? ', .top nav' : '');
  const scrolled = [...document.querySelectorAll(dialog ? 'dialog[open]' : wide)];
  const sideways = scrolled.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.localName + one.className + ' scrolls sideways');
  const cut = [...document.querySelectorAll('input.vin')].filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1);
  return [...columns.flatMap(beyond), ...sideways, ...cut.map(({ value }) => 'the field cuts ' + value)];
})()`;

describe.skipIf(!inBrowser)('tables of the console', async () => {
  const gateway = await startGateway({ workers: true });
  const receiver = await WebhookReceiver.start();
  const open = browserPages();
  const client = await gateway.as('demo');
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  test('every cell of every table can be seen, at five widths', async () => {
    const fleet = await createFleet(client, { name: 'A fleet of a rather long name, such as people choose' });
    const vehicles = await addVehicles(client, [...newVins(40, 0), newVin(7), newVin(0, 'ZFF')], fleet);
    const [vehicle] = vehicles;
    const contract = await createContract(client, { ...vehicle, fleetId: fleet.id }, { pack: 'basic' });
    for (const refused of [1, 30]) {
      const csv = `vin\n${newVin()}\n${Array.from({ length: refused }, (_, at) => `WBA${at}`).join('\n')}\n`;
      await client.post(`/vehicles/file?fleetId=${fleet.id}`, csv, { 'content-type': 'text/csv' });
    }
    const { id: webhook } = (await client.post('/webhooks', { url: receiver.url('/tables') })).body;
    const page = await open(`${gateway.url}/console`, { mayFail: true });
    const labels = new Set<string>();

    const judge = async (place: string) => {
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        const found = await page.evaluate<{ labels: string[]; unseen: string[] }>(look);
        for (const label of found.labels) labels.add(label);
        expect.soft(found.unseen, `${place} at ${width}`).toEqual([]);
      }
      await page.setViewportSize({ width: 1440, height: 800 });
    };
    const goTo = async (place: string) => {
      await page.goto(`${gateway.url}/console${place}`);
      await page.reload();
      await page.locator('main h1').waitFor();
      await page.locator('.blank').first().waitFor({ state: 'detached' });
    };

    const lists = ['fleets', 'vehicles', 'contracts', 'attention', 'activity', 'webhooks', 'manufacturers'];
    const details = ['', '/uploads', '/activity'].map((side) => `fleets/${fleet.id}${side}`);
    const others = [`vehicles/${vehicle?.id}`, `contracts/${contract.id}`, `webhooks/${webhook}`];
    for (const place of ['', ...lists, ...details, ...others]) {
      await goTo(`#/${place}`);
      for (const summary of await page.locator('summary:text-matches("^(As a table|Rejected rows)$")').all())
        await summary.click();
      await page.locator('.blank').first().waitFor({ state: 'detached' });
      await judge(place);
    }

    await goTo(`#/fleets/${fleet.id}`);
    for (const [at, refused] of ['WBA1', 'WBA1\nWBA2\nWBA3'].entries()) {
      const file = { name: `${at}.csv`, mimeType: 'text/csv', buffer: Buffer.from(`vin\n${newVin()}\n${refused}\n`) };
      await page.locator('input[type=file]').setInputFiles(file);
      const upload = page.getByRole('region', { name: `Upload of ${at}.csv` });
      await upload.getByText('Reasons', { exact: true }).click();
    }
    await judge('a finished upload');
    await button(page, 'Add VINs').click();
    await page.keyboard.insertText('WBA123');
    await button(page, 'Add vehicles').click();
    await page.getByRole('dialog').getByText('A VIN has 17 characters').waitFor();
    await judge('refused VINs');
    page.once('dialog', (question) => question.accept());
    await page.keyboard.press('Escape');
    await goTo(`#/fleets/${fleet.id}`);
    for (const { vin } of vehicles.slice(0, 2)) await page.getByLabel(`Select ${vin}`).check();
    await judge('chosen rows');
    await button(page, 'New contracts …').click();
    for (const label of ['Name', 'Purpose']) await page.getByLabel(label, { exact: true }).fill('Basic');
    await page.getByLabel('Data service pack').fill('basic');
    await page.getByLabel('Start date').fill('2030-06-01');
    await page.getByLabel('End date').fill('2031-06-01');
    await button(page, 'Create contracts').click();
    await page.getByRole('dialog').getByText('1 contract created; none for 1 vehicle').waitFor();
    await judge('vehicles without a contract');

    const trend = 'Vehicles per day, last 30 days';
    expect([...labels].sort()).toEqual(['Contracts', 'Manufacturers', 'Rejected', 'Vehicles', trend]);
  });

  describe('every element ends within its page’s column, at six widths', async () => {
    const names = {
      fleet: 'Außendienstfahrzeugbereitstellungsgesellschaft Nord-West, Niederlassung Hamburg-Wandsbek',
      contract: 'Driving log, odometer and location of the cars of the sales department in Hamburg',
    };
    const company = 'long names';
    const client = await gateway.as(company);
    const fleet = await createFleet(client, { name: names.fleet, companyAddress: names.fleet, vat: 'DE123456789' });
    await createFleet(client, { name: 'x'.repeat(255) });
    const [vehicle, ...others] = await addVehicles(client, [newVin(7), newVin(8), newVin(0, 'ZFF')], fleet);
    const fields = { name: names.contract, pack: 'driving-log-with-odometer-and-location' };
    const [contract] = await Promise.all(
      [vehicle, ...others].map((one) => createContract(client, { ...one, fleetId: fleet.id }, fields)),
    );
    const csv = `vin\n${newVin()}\nWBA1\nWBA3A5C5OCF256985\n`;
    await client.post('/vehicles/file', uploadForm(fleet.id, csv, `${'x'.repeat(200)}.csv`));
    const { id: webhook } = (await client.post('/webhooks', { url: receiver.url(`/${'long'.repeat(30)}`) })).body;
    const token = client.headers.authorization?.replace('Bearer ', '') ?? '';

    const lists = ['fleets', 'vehicles', 'contracts', 'attention', 'activity', 'webhooks', 'manufacturers', 'nowhere'];
    const details = ['', '/uploads', '/activity'].map((side) => `fleets/${fleet.id}${side}`);
    const things = [`vehicles/${vehicle.id}`, `contracts/${contract.id}`, `webhooks/${webhook}`];
    const act = '.title .actions button';
    const bulk = '.selected .actions button';
    /** Buttons that open a dialog, by page. */
    const dialogs: [place: string, buttons: string, which: number[]][] = [
      ['fleets', act, [0]],
      [`fleets/${fleet.id}`, act, [0, 1, 2]],
      [`fleets/${fleet.id}/uploads`, '.page > p.row button', [0]],
      [`fleets/${fleet.id}`, bulk, [1, 2, 4]],
      [`vehicles/${vehicle.id}`, act, [1, 2, 3]],
      ['contracts', act, [0]],
      ['contracts', bulk, [1, 2]],
      [`contracts/${contract.id}`, act, [0, -1]],
      ['webhooks', act, [0]],
      [`webhooks/${webhook}`, act, [2, 3, 4]],
    ];

    test.each(sixLanguages)('%s', async (language) => {
      const page = await open(`${gateway.url}/console`, { mayFail: true });
      await page.evaluate(
        ([token, language]) => {
          sessionStorage.setItem('fleet-gateway-token', token ?? '');
          localStorage.setItem('fleet-gateway-language', language ?? '');
        },
        [token, language],
      );
      await page.reload();
      const goTo = async (place: string) => {
        await page.goto(`${gateway.url}/console#/${place}`);
        await page.locator('main h1').waitFor();
        await page.locator('.blank').first().waitFor({ state: 'detached' });
      };
      const found: string[] = [];
      const judge = async (place: string) => {
        for (const width of sixWidths) {
          await page.setViewportSize({ width, height: 800 });
          for (const one of await page.evaluate<string[]>(jutting)) found.push(`${place} at ${width}: ${one}`);
        }
      };
      for (const place of ['', ...lists, ...details, ...things]) {
        await goTo(place);
        for (const summary of await page.locator('main :is(.upload, .list, .bars) summary').all())
          await summary.click();
        await page.locator('.blank').first().waitFor({ state: 'detached' });
        await judge(place);
      }
      for (const [place, buttons, which] of dialogs) {
        await goTo('nowhere');
        await goTo(place);
        if (buttons === bulk) {
          await page.locator('tbody .pick input').first().check();
          await judge(`${place}, selected`);
        }
        for (const at of which) {
          await page.locator(buttons).nth(at).click();
          await page.getByRole('dialog').waitFor();
          await judge(`${place}, dialog ${at}`);
          await page.keyboard.press('Escape');
          await page.getByRole('dialog').waitFor({ state: 'detached' });
        }
      }
      expect(found).toEqual([]);
    });
  });
});
