import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/database/open-database.ts';
import { startServer } from './postgres-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * Migrates one database on TEST_DATABASE_URL's server, or else on a local one of the project's version; every test file starts
 * with a copy.
 */
export default async function setup(project: TestProject) {
  const version = project.config.env?.TEST_POSTGRESQL;
  const { TEST_DATABASE_URL: url } = process.env;
  const server = url && !version ? { url, stop: async () => {} } : await startServer({}, undefined, version);
  const template = `fleet_gateway_template_${process.pid}`;
  const admin = async (statement: string) => {
    const client = new pg.Client(server.url);
    await client.connect();
    await client.query(statement).finally(() => client.end());
  };
  const tearDown = async () => {
    await admin(`drop database if exists ${template}`).finally(server.stop);
  };
  try {
    await admin(`create database ${template}`);
    const url = Object.assign(new URL(server.url), { pathname: template }).href;
    const database = await openDatabase({ DATABASE_URL: url, DATABASE_READ_URLS: [], DATA_DIR: '' });
    await database.close();
  } catch (error) {
    await tearDown();
    throw error;
  }
  project.provide('database', {
    kind: 'postgresql',
    folder: temporaryFolder('postgresql'),
    template,
    server: server.url,
  });
  return tearDown;
}
