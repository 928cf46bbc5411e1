// Streams, pages and addresses behind nginx, at `/` and below a path, in Chromium. Left out without nginx.
import { randomUUID } from 'node:crypto';
import { createClient } from 'graphql-ws';
import type { Page } from 'playwright-core';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { browserPages, inBrowser } from '../support/browser.ts';
import { Client } from '../support/client.ts';
import { openStream } from '../support/event-stream.ts';
import { createFleet, newVin, uploadForm } from '../support/factories.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { asDeployed, hasNginx, plainly, startNginx } from '../support/nginx.ts';
import { startPeopleProvider } from '../support/people-provider.ts';

/** What a proxy does not depend on the database. */
const isHere = hasNginx && inject('database').kind === 'embedded';

describe.skipIf(!isHere)('behind nginx as it is installed', async () => {
  const gateway = await startGateway({ workers: true });
  const url = await startNginx(plainly(gateway.url));
  const client = new Client(url, (await gateway.as('acme')).headers);

  test('the first event of each stream arrives while the stream is open', async () => {
    const events = await openStream(client, '/events/stream');
    const subscription = `/graphql?query=${encodeURIComponent('subscription { events { type } }')}`;
    const byGraphql = await openStream(client, subscription, { accept: 'text/event-stream' });
    const fleet = await createFleet(client);
    expect((await events.next()).event).toBe('fleet.created');
    expect((await byGraphql.next()).data).toEqual({ data: { events: { type: 'FLEET_CREATED' } } });

    const importId = randomUUID();
    const progress = await openStream(client, `/imports/${importId}/events`);
    await client.post(`/vehicles/file?importId=${importId}`, uploadForm(fleet.id, `vin\n${newVin()}\n`));
    expect((await progress.next()).data.state).toMatch(/RUNNING|STORING|COMPLETED/);
    for (const stream of [events, byGraphql, progress]) stream.close();
  });
});

describe.skipIf(!isHere || !inBrowser).each(['', '/api/fleet'])('behind nginx as deployed, at "%s/"', async (path) => {
  const provider = await startPeopleProvider();
  const settings = { TRUST_PROXY: 'loopback' };
  const gateway = await startGateway({ settings, workers: true });
  const secured = await startGateway({ on: gateway, settings: { ...settings, ...provider.settings } });
  const below = async ({ url }: Gateway) => (await startNginx(await asDeployed(url, path))) + path;
  const [base, securedBase] = [await below(gateway), await below(secured)];
  provider.serve(securedBase);
  const { headers } = await gateway.as('demo');
  const open = browserPages();
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  test('the addresses in answers lead there, as do subscriptions over WebSocket', async () => {
    const names = ['One', 'Two'].map((name) => createFleet(new Client(gateway.url, headers), { name }));
    const [fleet] = await Promise.all(names);
    const form = uploadForm(fleet.id, `vin\n${newVin()}\nWBA1\n`);
    const sent = await fetch(`${base}/vehicles/file`, { method: 'POST', headers, body: form });
    const { rejectedCsv } = (await sent.json()) as { rejectedCsv: string };
    const page = await fetch(`${base}/fleets?limit=1`, { headers });
    const [, next] = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '') ?? [];
    const document = (await (await fetch(`${base}/openapi.json`)).json()) as { servers: [{ url: string }] };
    const server = document.servers[0].url.replace(/\/$/, '');
    for (const address of [sent.headers.get('location'), rejectedCsv, next, `${server}/fleets`]) {
      expect(address).toMatch(new RegExp(`^${path}/(?:imports|fleets)`));
      const found = await fetch(new URL(address ?? '', base), { headers });
      expect([address, found.status]).toEqual([address, 200]);
    }
    const client = createClient({
      url: `${base.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: headers.authorization },
      retryAttempts: 0,
    });
    onTestFinished(() => void client.dispose());
    const { value } = await client.iterate({ query: '{ __typename }' }).next();
    expect(value).toMatchObject({ data: { __typename: 'Query' } });
  });

  test('links of the home page lead to pages that work', async () => {
    const home = await open(`${base}/`);
    const links = await home.locator('main a').evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''));
    expect(links).toHaveLength(8);
    for (const link of links) {
      const answer = await fetch(new URL(link, base), { headers: { accept: 'text/html' } });
      await answer.body?.cancel();
      // Prometheus asks each gateway itself.
      expect([link, answer.status]).toEqual([link, link === `${path}/metrics` ? 404 : 200]);
    }
    await home.getByRole('link', { name: 'REST reference' }).click();
    const operation = home.locator('.opblock', { has: home.locator('[data-path="/manufacturers"]') });
    await operation.locator('.opblock-summary').click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table tbody');
    expect(await answer.innerText()).toMatch(/^\s*200.*mercedes-benz/s);
    await home.getByRole('link', { name: 'Fleet Gateway' }).click();
    await home.getByRole('link', { name: 'GraphiQL' }).click();
    await home.locator('.graphiql-execute-button').click();
    await home.locator('.result-window', { hasText: 'totalCount' }).waitFor();
    await home.goto(`${base}/`);
    await home.getByRole('link', { name: 'Console' }).click();
    await home.getByText('Live', { exact: true }).waitFor();
    expect(new URL(home.url()).pathname).toBe(`${path}/console`);
  });

  test.each(['console', 'console/'])('%s reads, changes, uploads, downloads and follows', async (place) => {
    const page = await open(`${base}/${place}#/fleets`);
    await page.getByText('Live', { exact: true }).waitFor();
    await button(page, 'New fleet').first().click();
    const name = `Below ${place} of ${path}`;
    const fields = { Name: name, 'Company address': 'Berlin', 'E-mail': 'a@b.example', 'VAT number': 'DE123456789' };
    for (const [label, value] of Object.entries(fields)) await page.getByRole('dialog').getByLabel(label).fill(value);
    await button(page, 'Create fleet').click();
    await page.getByRole('heading', { name }).waitFor();
    const vin = newVin(8);
    const buffer = Buffer.from(`vin\n${vin}\nWBA1\n`);
    await page.locator('input[type=file]').setInputFiles({ name: 'cars.csv', mimeType: 'text/csv', buffer });
    await page.getByRole('region', { name: 'Upload of cars.csv' }).getByText('Added').waitFor();
    for (const verb of ['Download rejected rows', 'Download all as CSV'])
      await Promise.all([page.waitForEvent('download'), button(page, verb).click()]);
    await page.reload();
    // Its manufacturer takes ten seconds: the page is told.
    await page.locator('tbody tr').filter({ hasText: vin }).getByText('Eligible', { exact: true }).waitFor();
  });

  test('people sign in at their provider, return to the same page, and sign out', async () => {
    const page = await open(`${securedBase}/console#/webhooks`, { mayFail: true, others: [provider.issuer] });
    await button(page, 'Sign in').click();
    await button(page, 'I am it').click();
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    expect(page.url()).toBe(`${securedBase}/console#/webhooks`);
    await page.reload();
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await button(page, 'Sign out').click();
    await button(page, 'Leave the provider').click();
    await button(page, 'Sign in').waitFor();
    expect(page.url()).toBe(`${securedBase}/console`);
  });
});
