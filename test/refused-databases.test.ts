import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { at, createRole, execute } from './support/operator.ts';
import { TcpProxy } from './support/tcp-proxy.ts';

const given = inject('database');
const env = await databaseEnv();

/** A role with these defaults and an empty database, which it does not own; both vanish after the test. */
async function empty(defaults: Record<string, string> = {}, how = '') {
  if (given.kind !== 'postgresql') throw new Error('There is no server.');
  const { admin } = given;
  const name = `unfit_${randomUUID().replaceAll('-', '')}`;
  await execute(admin, ...createRole(name, defaults), `create database ${name} ${how}`);
  onTestFinished(async () => {
    await execute(admin, `drop database ${name} with (force)`, `drop role ${name}`);
  });
  return { name, admin: at(admin, name), url: at(admin, name, name) };
}

const opened = (DATABASE_URL: string, tell?: (message: string) => void) =>
  openDatabase({ DATABASE_URL, DATABASE_READ_URLS: [], DATA_DIR: '' }, tell);

/** Why a start is refused; the command that migrates says the same, and ends. */
async function refusal(url: string): Promise<string> {
  const { message, name } = await opened(url).then(
    () => Promise.reject(new Error('opened')),
    (error: Error) => error,
  );
  expect({ name, message }).toMatchObject({ name: 'StartError' });
  const migrating = promisify(execFile)(process.execPath, ['src/commands/migrate.ts', 'up'], {
    env: { PATH: process.env.PATH, DATABASE_URL: url },
  });
  await expect(migrating).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  return message;
}

describe.runIf(given.kind === 'postgresql')('A start is refused, in one sentence with the remedy,', () => {
  test('by a database that has not all letters', async () => {
    const { url } = await empty({}, `template template0 encoding LATIN1 lc_collate 'C' lc_ctype 'C'`);
    expect(await refusal(url)).toMatch(/stores texts as LATIN1.* create one with encoding UTF8/);
  });

  test('by a database whose collation is missing on the server', async () => {
    const { url, name, admin } = await empty();
    const locale = `datcollate = 'xx_YY.UTF-8', datctype = 'xx_YY.UTF-8'`;
    await execute(admin, `update pg_database set ${locale} where datname = '${name}'`);
    expect(await refusal(url)).toMatch(/xx_YY\.UTF-8.* install the missing locale/);
  });

  test('by a database that is read-only', async () => {
    const { url } = await empty({ default_transaction_read_only: 'on' });
    expect(await refusal(url)).toMatch(/is read-only: name the primary in DATABASE_URL/);
  });

  test('by a role that may not create tables', async () => {
    const { url, name } = await empty();
    expect(await refusal(url)).toBe(
      `The role ${name} may not create tables in the schema public: grant create on schema "public" to "${name}".`,
    );
  });

  test('by a role that may not create the extension, until an administrator has', async () => {
    const { url, name, admin } = await empty();
    await execute(admin, `grant create on schema public to ${name}`);
    expect(await refusal(url)).toMatch(/may not create the extension btree_gist: have an administrator run/);
    await execute(admin, 'create extension btree_gist');
    await (await opened(url)).close();
  });

  test('by a pooler that drops the isolation of sessions; what else it drops is told', async () => {
    const { DATABASE_URL: url = '', DATABASE_DIRECT_URL = '' } = env;
    const proxy = await TcpProxy.start(url);
    onTestFinished(() => proxy.close());
    // Without the options of the start.
    proxy.firstPiece = (message) => {
      const at = message.indexOf('options\0');
      const end = message.indexOf('\0', at + 'options\0'.length);
      const kept = Buffer.concat([message.subarray(0, at), message.subarray(end + 1)]);
      kept.writeInt32BE(kept.length);
      return kept;
    };
    const pooled = proxy.through(url);
    const { username } = new URL(url);
    const told: string[] = [];
    const start = () =>
      openDatabase({ ...databaseConfig(env), DATABASE_URL: pooled, DATABASE_DIRECT_URL }, (one) => told.push(one));
    await expect(start()).rejects.toThrow(/Sessions at \S+ have default_transaction_isolation serializable/);
    if (given.kind !== 'postgresql') return;
    const own = `alter role "${decodeURIComponent(username)}" in database ${new URL(url).pathname.slice(1)} set`;
    await execute(given.admin, `${own} default_transaction_isolation = 'read committed'`);
    await (await start()).close();
    expect(told).toEqual([
      expect.stringMatching(/^Sessions at \S+ have standard_conforming_strings off, .*idle_session_timeout 20s/),
    ]);
  });

  test('by a newer version’s database, also by the command that migrates', async () => {
    const { url, name, admin } = await empty();
    await execute(admin, `grant create on schema public to ${name}`, 'create extension btree_gist');
    await (await opened(url)).close();
    await execute(url, `insert into mikro_orm_migrations (name) values ('Migration20991231000000_since_99_0_0')`);
    const sentence =
      'A newer version has applied Migration20991231000000_since_99_0_0 to the database: start that version.';
    await expect(opened(url)).rejects.toThrow(sentence);
    for (const verb of ['up', 'status'])
      expect(await ended('commands/migrate', url, verb)).toEqual({ code: 1, said: expect.stringContaining(sentence) });
  });

  test.each([
    ['main', [], 'mikro_orm_migrations', 1],
    ['main', [], 'create table', 1],
    ['commands/migrate', ['up'], 'create table', 2],
    ['commands/migrate', ['status'], 'mikro_orm_migrations', 2],
  ] as const)('by a connection that ends midway: %s %s at "%s"', async (program, args, text, code) => {
    const { url, name, admin } = await empty();
    await execute(admin, `grant create on schema public to ${name}`, 'create extension btree_gist');
    const proxy = await TcpProxy.start(url);
    onTestFinished(() => proxy.close());
    proxy.swallowAnswersAfter = (sent) => {
      if (!sent.includes(text)) return false;
      proxy.refuse = true;
      proxy.cut('end');
      return true;
    };
    const { said, ...rest } = await ended(program, proxy.through(url), ...args);
    expect(rest).toEqual({ code });
    expect(said).toMatch(/The database cannot be reached\..*try again\.\n$/);
    expect(said).not.toMatch(/^ +at /m);
    // Another start goes on.
    await (await opened(url)).close();
  });
});

/** How a program ends on this database. */
async function ended(program: string, DATABASE_URL: string, ...args: string[]) {
  const own = {
    DATABASE_URL,
    AUTH_ISSUER: 'https://issuer.example',
    CONTRACTS_AUTH: 'open',
    PORT: '0',
    LOG_LEVEL: 'silent',
  };
  const { code, stdout, stderr } = await promisify(execFile)(process.execPath, [`src/${program}.ts`, ...args], {
    env: { PATH: process.env.PATH, ...own },
  }).then(
    (outputs) => ({ code: 0, ...outputs }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  return { code, said: stdout + stderr };
}
