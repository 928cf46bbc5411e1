import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

export const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.log(`What needs a browser is left out: there is no ${executablePath}.`);

/** Chromium has no sandbox when run as root. The other arguments turn off its background requests. */
const args = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export const launch = (): Promise<Browser> => chromium.launch({ executablePath, args });
