import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './postgres-server.ts';

export const haproxyProgram = '/usr/sbin/haproxy';

/** Writes deploy/haproxy.cfg into a folder, in front of one gateway of each installation, with these companies in b. */
export async function writeHaproxyConfig(
  folder: string,
  gateways: { a: string; b: string },
  inB: readonly string[] = [],
) {
  const [map, socket, port] = [join(folder, 'companies.map'), join(folder, 'admin.sock'), await freePort()];
  await writeFile(map, inB.map((company) => `${company} b\n`).join(''));
  const text = (await readFile('deploy/haproxy.cfg', 'utf8'))
    .replaceAll('/etc/haproxy/companies.map', map)
    .replaceAll('/run/haproxy/admin.sock', socket)
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replaceAll(/^ *server gateway-2 .*$/gm, '')
    .replaceAll(/([ab])-1\.internal:4000/g, (_, name: 'a' | 'b') => new URL(gateways[name]).host);
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, text);
  return { url: `http://127.0.0.1:${port}`, map, socket, command: [haproxyProgram, '-db', '-f', file] as const };
}
