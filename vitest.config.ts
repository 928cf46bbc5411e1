import { defineConfig } from 'vitest/config';
import { BUDGET_MS } from './test/support/until.ts';

/** A project on one of the two databases. */
const on = (name: string, database: 'embedded' | 'postgresql', include: string[], exclude: string[] = []) => ({
  extends: true as const,
  test: { name, include, exclude, globalSetup: `test/support/global-setup-${database}.ts` },
});

/** Files about what a database does: statements, transactions, notifications, long results. */
const ofDatabase = [
  ...['clock', 'database', 'files-entered', 'graphql', 'graphql-documents', 'history', 'import', 'imports-kept'],
  ...['jobs', 'json-bytes', 'json-members', 'kept-statements', 'large-deletions', 'list-texts', 'lists'],
  ...['move-vehicles', 'notifications', 'races', 'rest-contracts', 'rest-fleets', 'rest-vehicles', 'schema'],
  ...['schema-drift', 'search', 'statements', 'take-over', 'tally', 'text-sql', 'unit-of-work', 'vehicle-rows'],
  ...['webhooks-wanted', 'writes-at-once', 'young-database'],
].map((name) => `test/${name}.test.ts`);

/**
 * test/unit/ needs no database. test/ runs through the wire: each file on PostgreSQL, and those of `ofDatabase` also on
 * the embedded database; the others run there at night. test/slow/ takes long, by starting processes and browsers or
 * by walking every operation, and runs by a command of its own.
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
      on('postgresql', 'postgresql', ['test/*.test.ts']),
      on('embedded', 'embedded', ofDatabase),
      on('embedded-others', 'embedded', ['test/*.test.ts'], ofDatabase),
      on('slow-postgresql', 'postgresql', ['test/slow/*.test.ts']),
      on('slow-embedded', 'embedded', ['test/slow/*.test.ts']),
    ],
  },
});
