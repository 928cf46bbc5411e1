import { existsSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';
import { freePort } from './postgres-server.ts';
import { runProgram } from './program.ts';

const program = '/usr/sbin/nginx';

export const hasNginx = existsSync(program);
if (!hasNginx) console.log(`What needs nginx is left out: there is no ${program}.`);

/** nginx as it is installed: nothing but `proxy_pass`, so that it keeps what does not fill its buffers. */
export const plainly = (gateway: string) => `events {}
http { server { listen 8080; location / { proxy_pass ${gateway}; } } }`;

/** The configuration in deploy/, with this gateway, at `/` or below `path` by the changes that its comment names. */
export async function asDeployed(gateway: string, path = ''): Promise<string> {
  const text = await readFile('deploy/nginx.conf', 'utf8');
  const here = text
    .replace(/^ *resolver .*$/m, '')
    .replace(/^ *server gateway-1:4000 resolve/m, `server ${new URL(gateway).host}`)
    .replace(/^ *server gateway-2:4000 .*$/m, '');
  if (!path) return here;
  return here
    .replace('location / {', `location ${path}/ {`)
    .replace('proxy_pass http://gateways;', 'proxy_pass http://gateways/;')
    .replace('X-Forwarded-Prefix ""', `X-Forwarded-Prefix ${path}`);
}

/** Runs nginx with this configuration until the end of the test file, on another port than its 8080; returns its URL. */
export async function startNginx(configuration: string): Promise<string> {
  const folder = await mkdtemp(join(inject('database').folder, 'nginx-'));
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  );
  const own = `daemon off; pid ${folder}/pid; ${process.getuid?.() === 0 ? 'user root;' : ''}\n`;
  const text = configuration
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replace('http {', `http { access_log off; ${temporary.join(' ')}`);
  await writeFile(join(folder, 'nginx.conf'), own + text);
  const url = `http://127.0.0.1:${port}`;
  const command = [program, '-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')] as const;
  const isUp = () => fetch(url).then((answer) => answer.body?.cancel().then(() => true) ?? true);
  await runProgram({ name: 'nginx', command, isUp, ends: 'SIGTERM' });
  return url;
}
