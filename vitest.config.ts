import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Tests in test/ run on both databases, tests in test/unit/ need none and run once. */
export default defineConfig({
  // Otherwise GraphQL is loaded twice, as two kinds of module, and refuses its own types.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    // Each embedded database takes 500 MB.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'embedded',
          include: ['test/*.test.ts'],
          globalSetup: 'test/support/global-setup-embedded.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'postgresql',
          include: ['test/*.test.ts'],
          globalSetup: 'test/support/global-setup-postgresql.ts',
        },
      },
    ],
  },
});
