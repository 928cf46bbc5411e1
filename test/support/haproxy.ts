import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { haproxyProgram, writeHaproxyConfig } from './haproxy-config.ts';
import { runProgram } from './program.ts';

export const hasHaproxy = existsSync(haproxyProgram);
if (!hasHaproxy) console.log(`What needs HAProxy is left out: there is no ${haproxyProgram}.`);

/** Runs HAProxy with deploy/haproxy.cfg until the end of the test file, in front of one gateway of each installation. */
export async function startHaproxy(gateways: { a: string; b: string }) {
  const folder = await mkdtemp(join(inject('database').folder, 'haproxy-'));
  const { command, ...proxy } = await writeHaproxyConfig(folder, gateways);
  const isUp = async () => (await fetch(`${proxy.url}/readyz`)).status === 200;
  await runProgram({ name: 'HAProxy', command, isUp });
  return proxy;
}
