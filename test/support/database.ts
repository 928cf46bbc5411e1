import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, inject } from 'vitest';
import type { Database, DatabaseConfig } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open.ts';

/** What the global set-up of each project hands to its test files. `folder` goes at the end of the run. */
type Template =
  | { kind: 'embedded'; folder: string; template: string }
  | { kind: 'postgresql'; folder: string; template: string; server: string };

declare module 'vitest' {
  interface ProvidedContext {
    database: Template;
  }
}

/** The environment of a service on a database of its own: fresh, migrated, empty, and gone after the test file. */
export interface DatabaseEnv {
  DATA_DIR: string;
  DATABASE_URL?: string;
}

interface DatabaseOptions {
  /** Sessions write times as PostgreSQL ships: for what MikroORM reads into entities. */
  usualSession?: boolean;
}

/** Makes a database for this test file. Call it (and whatever calls it) at the top level of the file. */
export async function databaseEnv({ usualSession = false }: DatabaseOptions = {}): Promise<DatabaseEnv> {
  const given = inject('database');
  const DATA_DIR = await mkdtemp(join(given.folder, 'test-'));
  afterAll(() => rm(DATA_DIR, { recursive: true, force: true }));
  if (given.kind === 'embedded') {
    await cp(given.template, DATA_DIR, { recursive: true });
    return { DATA_DIR };
  }
  const name = `fleet_gateway_${randomUUID().replaceAll('-', '')}`;
  // Nothing may depend on how a session writes times, so every test is one of that.
  const odd = [`datestyle to 'SQL, DMY'`, `timezone to 'Asia/Kolkata'`, 'intervalstyle to sql_standard'];
  const settings = usualSession ? [`timezone to 'UTC'`] : odd;
  await administer(given.server, `create database ${name} template ${given.template}`);
  afterAll(() => administer(given.server, `drop database ${name} with (force)`));
  for (const setting of settings) {
    await administer(given.server, `alter database ${name} set ${setting}`);
  }
  return { DATA_DIR, DATABASE_URL: Object.assign(new URL(given.server), { pathname: name }).href };
}

/** A database for this test file, opened as the service does; `env` is for processes that share it (a server only). */
export async function testDatabase(options?: DatabaseOptions): Promise<{ env: DatabaseEnv; database: Database }> {
  const env = await databaseEnv(options);
  const database = await openDatabase(databaseConfig(env));
  afterAll(() => database.close());
  return { env, database };
}

export const databaseConfig = (env: DatabaseEnv): DatabaseConfig => ({ ...env, DATABASE_READ_URLS: [] });

async function administer(server: string, statement: string): Promise<void> {
  const client = new pg.Client(server);
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
