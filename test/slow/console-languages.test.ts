// Every page of the console in its six languages, on a telephone, in Chromium.
import { describe, expect, test } from 'vitest';
import { axeFindings, browserPages, inBrowser } from '../support/browser.ts';
import { addVehicles, createContract, createFleet, newVin } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';

/** Texts of the overview by language, and the count of a page with one vehicle. */
const languages: Record<string, { tag: string; title: string; fleets: string; vehicle: string; day: RegExp }> = {
  en: { tag: 'en-GB', title: 'Overview', fleets: 'Fleets', vehicle: '1 vehicle', day: /^\d+ \w+ 20\d\d$/ },
  de: { tag: 'de-DE', title: 'Übersicht', fleets: 'Flotten', vehicle: '1 Fahrzeug', day: /^\d\d\.\d\d\.20\d\d$/ },
  fr: { tag: 'fr-FR', title: 'Vue d’ensemble', fleets: 'Flottes', vehicle: '1 véhicule', day: /^\d+ \S+ 20\d\d$/ },
  it: { tag: 'it-IT', title: 'Panoramica', fleets: 'Flotte', vehicle: '1 veicolo', day: /^\d+ \w+ 20\d\d$/ },
  es: { tag: 'es-ES', title: 'Resumen', fleets: 'Flotas', vehicle: '1 vehículo', day: /^\d+ \w+ 20\d\d$/ },
  nl: { tag: 'nl-NL', title: 'Overzicht', fleets: 'Vloten', vehicle: '1 voertuig', day: /^\d+ \w+\.? 20\d\d$/ },
};
const pages = ['', 'fleets', 'vehicles', 'contracts', 'attention', 'activity', 'webhooks', 'manufacturers', 'search'];

/** The VINs that have no room beside the status of their row, with that status. */
const narrow = `[...document.querySelectorAll('tr:has(> td.vin):has(> td.tag)')].filter((row) => {
  const [vin, tag] = ['td.vin', 'td.tag'].map((cell) => row.querySelector(cell));
  return vin.scrollWidth > vin.clientWidth || tag.getBoundingClientRect().right > row.getBoundingClientRect().right;
}).map((row) => row.textContent)`;

describe.skipIf(!inBrowser)('the languages of the console', async () => {
  const gateway = await startGateway({ workers: true });
  const open = browserPages();
  const demo = await gateway.as('demo');
  const fleet = await createFleet(demo, { name: 'Mixed' });
  const [vehicle] = await addVehicles(demo, [newVin(0)], fleet);
  const other = await createFleet(demo, { name: 'Other' });
  await addVehicles(demo, [newVin(7), newVin(0, 'ZFF')], other);
  const contract = await createContract(demo, vehicle);

  test.each(Object.entries(languages))('%s follows the browser, and every page fits a telephone', async (code, own) => {
    const page = await open(`${gateway.url}/console`, { locale: own.tag, viewport: { width: 390, height: 800 } });
    await page.getByRole('heading', { level: 1, name: own.title }).waitFor();
    expect(await page.getAttribute('html', 'lang')).toBe(code);
    const details = [`fleets/${fleet.id}`, `fleets/${other.id}`, `vehicles/${vehicle.id}`, `contracts/${contract.id}`];
    for (const place of [...pages, ...details, `fleets/${fleet.id}/uploads`, 'nowhere']) {
      await page.goto(`${gateway.url}/console#/${place}`);
      await page.locator('main h1').waitFor();
      await page.locator('.blank').first().waitFor({ state: 'detached' });
      expect(await page.evaluate('document.documentElement.scrollWidth'), place).toBeLessThanOrEqual(390);
      expect(await page.evaluate(narrow), place).toEqual([]);
    }
    expect(await page.evaluate('document.querySelector(".top").offsetHeight')).toBeLessThan(100);
    await page.goto(`${gateway.url}/console#/fleets`);
    await page.getByText(own.vehicle, { exact: true }).first().waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.goto(`${gateway.url}/console#/contracts`);
    expect(await page.locator('td.day time').first().textContent()).toMatch(own.day);
  });

  test('the switch changes and stores the language, on the same page', async () => {
    const page = await open(`${gateway.url}/console#/fleets?order=NAME`, { locale: 'en-GB' });
    await page.getByRole('combobox', { name: 'Language' }).selectOption('de');
    await page.getByRole('heading', { level: 1, name: 'Flotten' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Flotten' }).waitFor();
    expect(page.url()).toMatch(/#\/fleets\?order=NAME$/);
    await page.getByRole('combobox', { name: 'Sprache' }).selectOption('nl');
    await page.getByRole('heading', { level: 1, name: 'Vloten' }).waitFor();
    await page.getByRole('button', { name: 'Uitloggen' }).click();
    await page.getByRole('button', { name: 'Doorgaan als het bedrijf ‘demo’' }).waitFor();
    await page.getByRole('combobox', { name: 'Taal' }).selectOption('fr');
    await page.getByRole('button', { name: 'Continuer en tant qu’entreprise « demo »' }).waitFor();
  });
});
