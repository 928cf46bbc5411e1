import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** State that modules keep, with its key or reason. */
const known: Record<string, string> = {
  'core/sql/read.ts statements': 'texts of statements, by resource and what they select',
  'core/sql/answer.ts statements': 'statements of queries, by plan and shape of arguments',
  'core/sql/sql.ts registered': 'statements, for the test that has all of them planned',
  'core/sql/sql.ts ids': 'the last id of this process',
  'core/vehicles/providers.ts programsOfProviders': 'programs by provider, by database, for a minute',
  'core/vehicles/providers.ts waitingOf': 'what waits, by database, for 5 s',
  'database/postgres-connection.ts statements': 'named statements, by text',
  'graphql/execution/prepare-document.ts documents': 'documents, by text',
  'graphql/execution/prepare-document.ts plans': 'plans, by operation, place and deciding variables',
  'graphql/execution/persisted-documents.ts textsByCompany': 'texts of documents, by company and hash',
  'graphql/execution/persisted-documents.ts trustedTexts': 'texts, by manifest',
  'graphql/schema/counted.ts eventLoop': 'its turn, and who waits for the next',
  'graphql/schema/described.ts known': 'types, by schema; made when the schema is',
  'graphql/transport/graphiql.ts graphiqlAssets': 'files of GraphiQL',
  'telemetry/telemetry.ts telemetry': 'set once, at the start',
};
/** The limit; there were 30 before 2026-11-23. */
const MOST = 15;

const EMPTY = /^(?:new \w+(?:<.*>)?\((?:\)|\{)|\[\];|\{\};|loadedOnce\(|sharedFor\()/;
const CONSTANT = /^new (?:Date|Error|URL|Intl|TextDecoder|Uint8Array|SchemaBuilder|Kysely|Proxy)\b/;

const state = globSync('src/**/*.{ts,js}', { cwd: root, exclude: ['src/console/browser/**'] }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^(?:export )?(let|const) (\w+)(?:: .*?)?(?: = (.*))?$/gm)]
    .filter(([, word, , value = '']) => word === 'let' || (EMPTY.test(value) && !CONSTANT.test(value)))
    .map(([, , name]) => `${file.slice('src/'.length)} ${name}`),
);

test('modules keep only the listed state', () => {
  expect(state.toSorted()).toEqual(Object.keys(known).toSorted());
  expect(state.length).toBeLessThanOrEqual(MOST);
  expect(state).not.toEqual([]);
});
