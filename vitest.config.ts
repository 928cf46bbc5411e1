import { defineConfig } from 'vitest/config';
import { BUDGET_MS } from './test/support/until.ts';

/** A project on one of the two databases. */
const on = (name: string, database: 'embedded' | 'postgresql', folder: string) => ({
  extends: true as const,
  test: {
    name,
    include: [`${folder}/*.test.ts`],
    globalSetup: `test/support/global-setup-${database}.ts`,
  },
});

/** Test files that are not about the wire but about PostgreSQL itself, and why they say nothing of a cluster. */
const notOfCitus = {
  database: 'what the drivers make of values, errors and locks of PostgreSQL, and migrations of an emptied database',
  'database-session': 'sessions that write times in other ways: `distribute` gives all of them one',
  schema: 'what migrations make, before anything is distributed',
  'schema-drift': 'the same',
  'young-database': 'when PostgreSQL counts rows; the nodes do so by themselves, and keep no plans',
  statements: 'plans of PostgreSQL; those of Citus are in test/citus/plans.test.ts',
};

/**
 * test/unit/ needs no database and runs once; test/ runs on both databases, through the wire; test/slow/ takes long,
 * by starting processes and browsers or by walking every operation, and runs by a command of its own.
 */
export default defineConfig({
  test: {
    // Each embedded database takes 500 MB. One more than two cores: a third of the time is waiting.
    maxWorkers: 3,
    // Files share loaded modules, as requests do, but no database. Node itself reads TypeScript.
    isolate: false,
    experimental: { viteModuleRunner: false },
    testTimeout: 2 * BUDGET_MS,
    expect: { poll: { timeout: BUDGET_MS } },
    hookTimeout: 2 * BUDGET_MS,
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      on('embedded', 'embedded', 'test'),
      on('postgresql', 'postgresql', 'test'),
      {
        extends: true,
        test: {
          name: 'citus',
          include: process.env.TEST_CITUS_URL
            ? ['test/*.test.ts', 'test/citus/*.test.ts']
            : ['test/support/citus-missing.test.ts'],
          exclude: Object.keys(notOfCitus).map((name) => `test/${name}.test.ts`),
          globalSetup: 'test/support/global-setup-citus.ts',
        },
      },
      on('slow-embedded', 'embedded', 'test/slow'),
      on('slow-postgresql', 'postgresql', 'test/slow'),
    ],
  },
});
