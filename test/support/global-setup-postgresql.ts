import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/database/open-database.ts';
import { administrative, createDatabase, createRoles, dropRoles, rolesOf } from './operator.ts';
import { addressesOf, startServer } from './postgres-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * Migrates one database on the server of TEST_DATABASE_URL (an address of an administrator), or else on a local one of the
 * project's version; every test file starts with a copy.
 */
export default async function setup(project: TestProject) {
  const version = project.config.env?.TEST_POSTGRESQL;
  const { TEST_DATABASE_URL: given } = process.env;
  const server = given && !version ? null : await startServer({}, { version });
  const admin = server?.admin ?? administrative(given ?? '');
  const template = `fleet_gateway_template_${process.pid}`;
  const roles = rolesOf(`gate-way ${process.pid}`);
  const tearDown = () => (server ? server.stop() : dropRoles(admin, roles));
  try {
    await createDatabase(admin, template, await createRoles(admin, roles));
    const { url, direct } = addressesOf(admin, template, roles);
    const config = { DATABASE_URL: url, DATABASE_DIRECT_URL: direct, DATABASE_READ_URLS: [], DATA_DIR: '' };
    const database = await openDatabase(config);
    await database.close();
  } catch (error) {
    await tearDown();
    throw error;
  }
  project.provide('database', { kind: 'postgresql', folder: temporaryFolder('postgresql'), template, admin, roles });
  return tearDown;
}
