import { defineConfig } from 'vitest/config';

/** A project on one of the two databases. */
const on = (name: string, database: 'embedded' | 'postgresql', folder: string) => ({
  extends: true as const,
  test: {
    name,
    include: [`${folder}/*.test.ts`],
    globalSetup: `test/support/global-setup-${database}.ts`,
  },
});

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
    testTimeout: 20_000,
    hookTimeout: 60_000,
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
          // These are about what migrations make before anything is distributed, about the version before, about plans of
          // PostgreSQL, about sessions that write times in other ways; or they delay statements by triggers.
          exclude: [
            ...[
              'schema',
              'schema-drift',
              'tenant-keys',
              'publishing-upgrade',
              'tally',
              'statements',
              'database-session',
            ],
            ...['audit-trail', 'publishing'],
          ].map((name) => `test/${name}.test.ts`),
          globalSetup: 'test/support/global-setup-citus.ts',
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      on('slow-embedded', 'embedded', 'test/slow'),
      on('slow-postgresql', 'postgresql', 'test/slow'),
    ],
  },
});
