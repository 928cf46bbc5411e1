import { spawnSync } from 'node:child_process';
import { chownSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll } from 'vitest';
import { at, execute, passwordOf } from './operator.ts';
import { unprivilegedAccount } from './postgres-binaries.ts';
import { freePort, type Server } from './postgres-server.ts';
import { runProgram } from './program.ts';
import { withoutTls } from './tcp-proxy.ts';

/** Debian 12 has 1.18: TEST_PGBOUNCER names a newer one. */
const program = process.env.TEST_PGBOUNCER || 'pgbouncer';

/** Statements are prepared by name, which PgBouncer knows from 1.21 on. */
const [OLDEST_MAJOR, OLDEST_MINOR] = [1, 21];

const version = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '';
const [, major = 0, minor = 0] = (/PgBouncer (\d+)\.(\d+)/.exec(version) ?? []).map(Number);
export const hasPgbouncer = major > OLDEST_MAJOR || (major === OLDEST_MAJOR && minor >= OLDEST_MINOR);
if (!hasPgbouncer)
  console.log(`PgBouncer is left out: ${program} is ${version.split('\n')[0] || 'not there'}, not 1.21 or newer.`);

/** The blocks of this language in the section of docs/operations.md. */
async function documented(language: 'ini' | 'sql'): Promise<string> {
  const [, section = ''] = /\n## PgBouncer\n(.*?)\n## /s.exec(await readFile('docs/operations.md', 'utf8')) ?? [];
  const [, block] = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(section) ?? [];
  if (!block) throw new Error(`operations.md has no ${language} about PgBouncer.`);
  return block;
}

/** Runs PgBouncer as docs/operations.md has it, with a password, in front of a server without TLS, until the end of the test file. */
export async function startPgbouncer(server: Server) {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-gateway-pgbouncer-'));
  const [port, account] = [await freePort(), unprivilegedAccount()];
  const { port: serverPort, pathname, username } = new URL(server.url);
  const role = decodeURIComponent(username);
  const files = {
    'userlist.txt': `"${role}" "${passwordOf(role)}"\n`,
    'pgbouncer.ini': [
      '[databases]',
      `${pathname.slice(1)} = host=127.0.0.1 port=${serverPort}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nadmin_users = ${role}`,
      `auth_type = scram-sha-256\nauth_file = ${join(folder, 'userlist.txt')}`,
      await documented('ini'),
    ].join('\n'),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  for (const path of [folder, ...Object.keys(files).map((name) => join(folder, name))])
    if (account) chownSync(path, account.uid, account.gid);
  await execute(
    server.admin,
    (await documented('sql')).replaceAll('role gateway', `role ${pg.escapeIdentifier(role)}`),
  );
  afterAll(() => rm(folder, { recursive: true }));
  const url = withoutTls(Object.assign(new URL(server.url), { hostname: '127.0.0.1', port }));
  const isUp = () => execute(url, 'select').then(() => true);
  await runProgram({ name: 'PgBouncer', command: [program, join(folder, 'pgbouncer.ini')], isUp, account });
  return { url, command: (text: 'pause' | 'resume') => execute(at(url, 'pgbouncer'), text) };
}
