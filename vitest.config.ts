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
      on('slow-embedded', 'embedded', 'test/slow'),
      on('slow-postgresql', 'postgresql', 'test/slow'),
    ],
  },
});
