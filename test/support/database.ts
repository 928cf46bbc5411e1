import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, inject } from 'vitest';
import type { Database, DatabaseConfig } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open-database.ts';

/** The global set-up of each project provides this to its test files. `folder` is removed at the end of the run. */
type Template =
  | { kind: 'embedded'; folder: string; template: string }
  | { kind: 'postgresql'; folder: string; template: string; server: string };

declare module 'vitest' {
  interface ProvidedContext {
    database: Template;
  }
}

/** Environment of a service with its own database: fresh, migrated, empty, and dropped after the test file. */
export interface DatabaseEnv {
  DATA_DIR: string;
  DATABASE_URL?: string;
}

interface DatabaseOptions {
  /** Keeps PostgreSQL's default DateStyle, for tests in which MikroORM reads times into entities. */
  usualSession?: boolean;
}

/** Makes a database for this test file. Call this, and every function that calls it, at the top level of the file. */
export async function databaseEnv({ usualSession = false }: DatabaseOptions = {}): Promise<DatabaseEnv> {
  const given = inject('database');
  const DATA_DIR = await mkdtemp(join(given.folder, 'test-'));
  afterAll(() => rm(DATA_DIR, { recursive: true, force: true }));
  if (given.kind === 'embedded') {
    await cp(given.template, DATA_DIR, { recursive: true });
    return { DATA_DIR };
  }
  const name = `fleet_gateway_${randomUUID().replaceAll('-', '')}`;
  // Nothing may depend on how a session writes times, so every test runs with unusual settings.
  const odd = [`datestyle to 'SQL, DMY'`, `timezone to 'Asia/Kolkata'`, 'intervalstyle to sql_standard'];
  const settings = usualSession ? [`timezone to 'UTC'`] : odd;
  await administer(given.server, `create database ${name} template ${given.template}`);
  afterAll(() => administer(given.server, `drop database ${name} with (force)`));
  for (const setting of settings) {
    await administer(given.server, `alter database ${name} set ${setting}`);
  }
  return { DATA_DIR, DATABASE_URL: Object.assign(new URL(given.server), { pathname: name }).href };
}

/** A database for this test file, opened as by the service; other processes can share it by `env` (server only). */
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
