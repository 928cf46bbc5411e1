import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

export const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.log(`What needs a browser is left out: there is no ${executablePath}.`);

/** No sandbox: as root there is none. The rest keeps the browser from calling home. */
const args = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export const launch = (): Promise<Browser> => chromium.launch({ executablePath, args });
