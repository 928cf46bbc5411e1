import { existsSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { freePort } from './postgres-server.ts';
import { runProgram } from './program.ts';

const program = '/usr/sbin/haproxy';

export const hasHaproxy = existsSync(program);
if (!hasHaproxy) console.log(`What needs HAProxy is left out: there is no ${program}.`);

/** Runs HAProxy with deploy/haproxy.cfg until the end of the test file, in front of one gateway of each installation. */
export async function startHaproxy(gateways: { a: string; b: string }) {
  const folder = await mkdtemp(join(inject('database').folder, 'haproxy-'));
  const [map, socket, port] = [join(folder, 'companies.map'), join(folder, 'admin.sock'), await freePort()];
  await writeFile(map, '');
  const text = (await readFile('deploy/haproxy.cfg', 'utf8'))
    .replaceAll('/etc/haproxy/companies.map', map)
    .replaceAll('/run/haproxy/admin.sock', socket)
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replaceAll(/^ *server gateway-2 .*$/gm, '')
    .replaceAll(/([ab])-1\.internal:4000/g, (_, name: 'a' | 'b') => new URL(gateways[name]).host);
  await writeFile(join(folder, 'haproxy.cfg'), text);
  const url = `http://127.0.0.1:${port}`;
  const command = [program, '-db', '-f', join(folder, 'haproxy.cfg')] as const;
  const isUp = async () => (await fetch(`${url}/readyz`)).status === 200;
  await runProgram({ name: 'HAProxy', command, isUp });
  return { url, map, socket };
}
