import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { BUDGET_MS } from './test/support/until.ts';

/** A project on one of the two databases, on this version of PostgreSQL rather than that of TEST_POSTGRESQL. */
const on = (
  name: string,
  database: 'embedded' | 'postgresql',
  include: string[],
  { exclude = [], version }: { exclude?: string[]; version?: string } = {},
) => ({
  extends: true as const,
  test: {
    name,
    include,
    exclude,
    globalSetup: `test/support/global-setup-${database}.ts`,
    ...(version && { env: { TEST_POSTGRESQL: version } }),
  },
});

const files = (names: string[]) => names.map((name) => `test/${name}.test.ts`);

/** Files about what a database does: statements, transactions, notifications, long results. */
const ofDatabase = files([
  ...[
    'clock',
    'contract-overlaps',
    'database',
    'files-entered',
    'graphql',
    'graphql-documents',
    'history',
    'import',
    'imports-kept',
  ],
  ...['jobs', 'json-bytes', 'json-texts', 'built-once', 'large-deletions', 'lists'],
  ...[
    'migrations',
    'move-vehicles',
    'notifications',
    'races',
    'rest-contracts',
    'rest-fleets',
    'rest-vehicles',
    'schema',
  ],
  ...['schema-drift', 'search', 'staged-room', 'statements', 'statistics', 'tally', 'unit-of-work', 'vehicle-rows'],
  ...['webhooks-wanted', 'writes-at-once', 'lost-entries'],
]);

/** Slow files for each change, which `.ci/run` runs; the others, and these on the other database, run at night. */
const slowOnBoth = files(['slow/start', 'slow/readme', 'slow/database-session', 'slow/upload-races']);
const slowOnPostgresql = files([
  ...['slow/documents', 'slow/fuzz', 'slow/parity', 'slow/commands', 'slow/untidy-lists'],
  ...['slow/audit-trail', 'slow/followers', 'slow/shares', 'slow/shares-operations'],
]);

/**
 * Files of `npm test` that ask of any database the same: there of the embedded one, the others of PostgreSQL. `npm run test:all`
 * asks both.
 */
const onEmbedded = files([
  ...['graphql', 'history', 'import', 'imports-kept', 'json-bytes', 'move-vehicles', 'rest-contracts', 'rest-fleets'],
  ...['rest-vehicles', 'schema-drift', 'tally', 'unit-of-work', 'lost-entries'],
]);

/** Files of over ten seconds about what few changes touch, which `npm test` leaves to `npm run test:all`. */
const long = files([
  ...['activation-audit', 'activation-faults', 'activation-start', 'addresses', 'clock', 'dead-workers'],
  ...['deleted-fleets', 'due-companies'],
  ...['built-once', 'files-entered', 'import-beside', 'import-progress', 'issuer', 'large-deletions'],
  ...['locked-vehicles', 'log', 'lost-replica', 'payload-races', 'publishing'],
  ...['read-only', 'readiness', 'sandbox-apart', 'search-path', 'slow-reads', 'staged-room'],
  ...['statistics', 'unfilled-lists', 'webhooks-wanted', 'writes-at-once', 'wrong-statistics'],
]);

/** What depends on the version of PostgreSQL, on the oldest one: statements and their plans, lists, migrations. */
const ofVersion = files([
  ...['statements', 'lists', 'json-texts', 'vehicle-rows', 'search', 'events', 'history', 'migrations', 'schema'],
  ...['statistics', 'activations', 'activation-model'],
]);

/** Slow files first, so that none of them is left alone at the end; the longest of a project first. */
class SlowFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]) {
    const sorted = await super.sort(specifications);
    const isSlow = ({ moduleId }: TestSpecification) => moduleId.includes('/slow/');
    return [...sorted.filter(isSlow), ...sorted.filter((one) => !isSlow(one))];
  }
}

/**
 * test/unit/ needs no database. test/ runs through the wire: by `npm run test:all` each file on PostgreSQL, and those of `ofDatabase`
 * also on the embedded database (the others run there at night); by `npm test` most files on one of the two. test/slow/ takes
 * long, by starting processes and browsers or by walking every operation, and runs by a command of its own.
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
    sequence: { sequencer: SlowFirst },
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      on('wire-postgresql', 'postgresql', ['test/*.test.ts'], { exclude: [...onEmbedded, ...long] }),
      on('wire-embedded', 'embedded', onEmbedded),
      on('postgresql', 'postgresql', ['test/*.test.ts']),
      on('embedded', 'embedded', ofDatabase),
      on('embedded-others', 'embedded', ['test/*.test.ts'], { exclude: ofDatabase }),
      on('slow-postgresql', 'postgresql', ['test/slow/*.test.ts']),
      on('slow-embedded', 'embedded', ['test/slow/*.test.ts']),
      on('change-postgresql', 'postgresql', [...slowOnBoth, ...slowOnPostgresql]),
      on('change-embedded', 'embedded', slowOnBoth),
      on('postgresql-15', 'postgresql', ofVersion, { version: '15' }),
    ],
  },
});
