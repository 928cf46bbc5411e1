import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/database/open-database.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Migrates one embedded database; every test file starts with a copy. */
export default async function setup(project: TestProject) {
  const folder = temporaryFolder('embedded');
  const template = join(folder, 'template');
  const database = await openDatabase({ DATA_DIR: template, DATABASE_READ_URLS: [] });
  await database.close();
  project.provide('database', { kind: 'embedded', folder, template });
}
