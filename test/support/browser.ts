import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest';
import { hasBrowser, launch } from './launch-browser.ts';

/** Pages do not depend on the database, so browser tests run on one database only. */
export const inBrowser = hasBrowser && inject('database').kind === 'embedded';

interface Allowed {
  mayFail?: boolean;
  others?: readonly string[];
}

/** Launches a browser for the tests of a describe block; returns a function that opens pages. Call it in that block. */
export function browserPages() {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  }, 60_000);
  afterAll(() => browser?.close());

  /**
   * Opens a page. At the test's end its context must have an empty console and no requests to foreign origins, except
   * `others`. `mayFail` permits the console messages that the browser writes for error responses.
   */
  return async (url: string, options: BrowserContextOptions & Allowed = {}): Promise<Page> => {
    const { mayFail = false, others = [], ...rest } = options;
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...rest });
    const page = await context.newPage();
    const noise: string[] = [];
    const strangers: string[] = [];
    context.on('console', (message) => {
      const expected = mayFail && message.text().startsWith('Failed to load resource');
      if (!expected && ['error', 'warning'].includes(message.type())) noise.push(message.text());
    });
    context.on('weberror', (error) => noise.push(error.error().message));
    context.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (![new URL(url).origin, ...others].includes(origin) && protocol.startsWith('http'))
        strangers.push(request.url());
    });
    onTestFinished(async () => {
      await context.close();
      expect({ noise, strangers }).toEqual({ noise: [], strangers: [] });
    });
    page.setDefaultTimeout(30_000);
    await page.goto(url);
    return page;
  };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  nodes: { html: string }[];
}

/** Violations that axe finds on the page, all rules except `without`: the rule and the element of each. */
export async function axeFindings(page: Page, without: readonly string[] = []): Promise<string[]> {
  await page.evaluate(axe);
  const rules = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
  const { violations } = await page.evaluate<{ violations: Violation[] }>(`axe.run(${JSON.stringify({ rules })})`);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
