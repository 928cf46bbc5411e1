// Signing in to the console, in Chromium at a real provider.
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, test } from 'vitest';
import { axeFindings, browserPages, inBrowser } from '../support/browser.ts';
import { startGateway } from '../support/gateway.ts';
import { startPeopleProvider } from '../support/people-provider.ts';
import { until } from '../support/until.ts';

describe.skipIf(!inBrowser)('signing in to the console with an identity provider', async () => {
  const provider = await startPeopleProvider();
  const gateway = await startGateway({ settings: provider.settings });
  provider.serve(gateway.url);
  const home = `${gateway.url}/console`;
  const open = browserPages();
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const shown = (page: Page, heading: string) => page.getByRole('heading', { name: heading, exact: true }).waitFor();
  const renewals = () => provider.asked.filter((path) => path === '/token').length;
  const kept = (page: Page) => page.evaluate<object>('({ ...localStorage, ...sessionStorage })');

  beforeEach(() => {
    Object.assign(provider, {
      life: 300,
      refreshing: true,
      silent: false,
      audience: 'https://fleets.example',
      person: 'acme',
      asked: [],
    });
  });

  const openDoor = (hash = '') => open(`${home}${hash}`, { mayFail: true, others: [provider.issuer] });

  async function signedIn(hash = '#/webhooks') {
    const page = await openDoor(hash);
    await button(page, 'Sign in').click();
    await button(page, 'I am it').click();
    await shown(page, hash === '#/webhooks' ? 'Webhooks' : 'Fleets');
    return page;
  }

  test('returns to the same page, keeps tokens in memory, and signs in other tabs without a question', async () => {
    const page = await signedIn();
    expect(page.url()).toBe(`${home}#/webhooks`);
    expect(await kept(page)).toEqual({ 'fleet-gateway-signed-in': 'yes' });
    await page.getByText('acme', { exact: true }).waitFor();
    await page.reload();
    await shown(page, 'Webhooks');
    expect(page.url()).toBe(`${home}#/webhooks`);
    const second = await page.context().newPage();
    await second.goto(`${home}#/fleets`);
    await shown(second, 'Fleets');
    expect(await kept(second)).toEqual({ 'fleet-gateway-signed-in': 'yes' });
    expect(provider.asked.filter((path) => path.startsWith('/people/')).length).toBe(2);

    await button(page, 'Sign out').click();
    await second.getByText('You have signed out in another tab.').waitFor();
    await button(page, 'Leave the provider').click();
    await button(page, 'Sign in').waitFor();
    expect(provider.asked).toContain('/token/revocation');
    expect(page.url()).toBe(home);
    await second.reload();
    await button(second, 'Sign in').click();
    await button(second, 'I am it').waitFor();
  });

  test('the policy names only the issuer, and the first visit sends it no request', async () => {
    const { headers } = await gateway.anyone.get('/console');
    expect(headers.get('content-security-policy')).toContain(`; connect-src 'self' ${provider.issuer}; base-uri`);
    const page = await openDoor();
    await button(page, 'Sign in').waitFor();
    expect(provider.asked).toEqual([]);
    expect(await axeFindings(page)).toEqual([]);
  });

  test('tokens are renewed while a form keeps its text', async () => {
    provider.life = 4;
    const page = await signedIn('#/fleets');
    await button(page, 'New fleet').first().click();
    await page.getByLabel('Name', { exact: true }).fill('Half a na');
    await until(() => renewals() > 2);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half a na');
    expect(await button(page, 'Sign in again').count()).toBe(0);
  });

  test('without refresh tokens a new window brings a new token, and the form continues', async () => {
    Object.assign(provider, { life: 4, refreshing: false });
    const page = await signedIn('#/fleets');
    await button(page, 'New fleet').first().click();
    await page.getByLabel('Name', { exact: true }).fill('Kept');
    await button(page, 'Sign in again').waitFor();
    provider.life = 300;
    const [popup] = await Promise.all([page.context().waitForEvent('page'), button(page, 'Sign in again').click()]);
    if (!popup.isClosed()) await popup.waitForEvent('close');
    await button(page, 'Sign in again').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Kept');
    await button(page, 'Create fleet').click();
    await page.getByText('Fill in this field.').first().waitFor();
    expect(await kept(page)).toEqual({ 'fleet-gateway-signed-in': 'yes' });
  });

  test('without refresh tokens the provider gets no request before the session has ended', async () => {
    Object.assign(provider, { life: 4, refreshing: false });
    const page = await signedIn();
    const before = provider.asked.length;
    await button(page, 'Sign in again').waitFor();
    expect(provider.asked.slice(before).length).toBeLessThanOrEqual(1);
  });

  test('after a refused token the page stays, and continues with a new token', async () => {
    const page = await signedIn('#/fleets');
    await button(page, 'New fleet').first().click();
    await page.getByLabel('Name', { exact: true }).fill('Kept');
    const unauthenticated = { message: 'The token has expired.', extensions: { code: 'UNAUTHENTICATED' } };
    await page.route('**/graphql', (route) =>
      route.fulfill({
        status: 401,
        contentType: 'application/json',
        body: JSON.stringify({ errors: [unauthenticated] }),
      }),
    );
    await button(page, 'Create fleet').click();
    await button(page, 'Sign in again').waitFor();
    await page.unroute('**/graphql');
    const [popup] = await Promise.all([page.context().waitForEvent('page'), button(page, 'Sign in again').click()]);
    if (!popup.isClosed()) await popup.waitForEvent('close');
    await button(page, 'Sign in again').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Kept');
  });

  test('a device whose clock is two hours ahead gets a message', async () => {
    const page = await openDoor();
    await page.clock.setSystemTime(Date.now() + 7_200_000);
    await button(page, 'Sign in').click();
    await button(page, 'I am it').click();
    await page.getByText('The clock of this device differs from the identity provider’s.').waitFor();
    expect(page.url()).toBe(home);
  });

  test('a silent provider is given up after ten seconds, with a message', async () => {
    const page = await openDoor();
    provider.silent = true;
    await button(page, 'Sign in').click();
    await page.getByText('The identity provider does not answer').waitFor();
    provider.silent = false;
    await button(page, 'Sign in').click();
    await button(page, 'I am it').waitFor();
  });

  test('a session that has ended at the provider leads to the sign-in page, once', async () => {
    const page = await signedIn();
    await page.context().clearCookies();
    await page.reload();
    await button(page, 'Sign in').waitFor();
    await page.reload();
    await button(page, 'Sign in').waitFor();
    expect(provider.asked.filter((path) => path === '/auth').length).toBe(2);
  });

  test('refusals of the provider and the gateway are shown in a sentence', async () => {
    const page = await openDoor();
    await button(page, 'Sign in').click();
    await button(page, 'Not me').click();
    await page.getByText('The identity provider denied access.').waitFor();
    expect(page.url()).toBe(home);
    provider.audience = 'https://others.example';
    await button(page, 'Sign in').click();
    await button(page, 'I am it').click();
    await page
      .getByText('The gateway rejected the identity provider’s token: The token is meant for another audience.')
      .waitFor();
    await page.goto(`${home}?code=x&state=y`);
    await page.getByText('This sign-in started in another window.').waitFor();
    expect(await kept(page)).toEqual({ 'fleet-gateway-token': 'left' });
  });
});
