import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, inject } from 'vitest';
import type { Database, DatabaseConfig } from '../../src/database/database.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { at, createDatabase, execute, type Roles } from './operator.ts';
import { addressesOf } from './postgres-server.ts';

/** The global set-up of each project provides this to its test files. `folder` is removed at the end of the run. */
type Template =
  | { kind: 'embedded'; folder: string; template: string }
  | { kind: 'postgresql'; folder: string; template: string; admin: string; roles: Roles };

declare module 'vitest' {
  interface ProvidedContext {
    database: Template;
  }
}

/** Environment of a service with its own database: fresh, migrated, empty, and dropped after the test file. */
export interface DatabaseEnv {
  DATA_DIR: string;
  DATABASE_URL?: string;
  DATABASE_DIRECT_URL?: string;
}

interface DatabaseOptions {
  /** Has PostgreSQL's default DateStyle, for tests in which MikroORM reads times into entities. */
  usualSession?: boolean;
  /** Has no tables yet. */
  isEmpty?: boolean;
}

/** Makes a database for this test file. Call this, and every function that calls it, at the top level of the file. */
export async function databaseEnv({
  usualSession = false,
  isEmpty = false,
}: DatabaseOptions = {}): Promise<DatabaseEnv> {
  const given = inject('database');
  const DATA_DIR = await mkdtemp(join(given.folder, 'test-'));
  afterAll(() => rm(DATA_DIR, { recursive: true, force: true }));
  if (given.kind === 'embedded') {
    if (!isEmpty) await cp(given.template, DATA_DIR, { recursive: true });
    return { DATA_DIR };
  }
  const { admin, roles, template } = given;
  const name = `fleet_gateway_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(admin, name, roles, isEmpty ? undefined : template);
  afterAll(() => execute(admin, `drop database ${name} with (force)`));
  if (usualSession) {
    const own = `alter role "${roles.service}" in database ${name} set`;
    await execute(admin, `${own} datestyle = 'ISO'`, `${own} timezone = 'UTC'`);
  }
  const { url, direct } = addressesOf(admin, name, roles);
  return { DATA_DIR, DATABASE_URL: url, DATABASE_DIRECT_URL: direct };
}

/** The same database for its administrator, with PostgreSQL's own defaults. */
export function asAdmin({ DATABASE_URL }: DatabaseEnv): string {
  const given = inject('database');
  if (given.kind === 'embedded' || !DATABASE_URL) throw new Error('There is no server.');
  return at(given.admin, new URL(DATABASE_URL).pathname.slice(1));
}

/** The same database by the role of replicas. */
export function asReplica({ DATABASE_URL }: DatabaseEnv): string {
  const given = inject('database');
  if (given.kind === 'embedded' || !DATABASE_URL) throw new Error('There is no server.');
  return at(DATABASE_URL, new URL(DATABASE_URL).pathname.slice(1), given.roles.replica);
}

/** A database for this test file, opened as by the service; other processes can share it by `env` (server only). */
export async function testDatabase(options?: DatabaseOptions): Promise<{ env: DatabaseEnv; database: Database }> {
  const env = await databaseEnv(options);
  const database = await openDatabase(databaseConfig(env));
  afterAll(() => database.close());
  return { env, database };
}

export const databaseConfig = (env: DatabaseEnv): DatabaseConfig => ({ ...env, DATABASE_READ_URLS: [] });
