import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Where a value is kept by its first call, and how a rejection would end there. */
const known: Record<string, string> = {
  'src/core/imports/csv/decode.ts decode': 'no promise',
  'src/graphql/execution/errors.ts .code': 'no promise',
  'src/rest/upload.ts this.#fleetId': 'no promise',
  'src/core/context.ts this.#em': 'no promise',
  'src/core/following/subscriptions.ts this.#missedSince': 'no promise',
  'src/core/following/subscriptions.ts this.#missed': 'forgets itself in a finally',
  'src/core/following/subscriptions.ts this.#state': 'forgets itself where it fails',
  'src/core/sql/sql.ts kept[variant]': 'no promise',
  'src/http/request-context.ts left': 'no promise',
  'src/database/pglite.ts this.#failure': 'no promise',
  'src/app.ts openApi': 'no promise',
  'src/commands/progress.ts this.#storingSince': 'no promise',
  'src/database/listening-connection.ts this.#sending': 'forgets itself at its end, and does not fail',
  'src/graphql/execution/counted.ts this.#turn': 'forgets itself, and does not fail',
  'src/graphql/execution/reads.ts this.#query': 'of one request',
  'src/graphql/schema/company.ts counted': 'of one request',
  'src/http/identity/issuer.ts this.#reading': 'forgets itself in a finally',
  'src/http/identity/issuer.ts this.#address': 'awaited: only what came is kept',
};

/** Assignments to what is not there yet, by calling something, that do not forget a failure in their own statement. */
const memos = globSync('src/**/*.{ts,js}', { cwd: root }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/([\w.#[\]]+) (?:\?\?|\|\|)= ([^;]*)/g)]
    .filter(([, , value = '']) => /[(]|\bnew\b|\{/.test(value) && !/\.(?:catch|finally)\(/.test(value))
    .map(([, name]) => `${file} ${name}`),
);

test('a promise that is kept is loadedOnce, or forgets its failure', () => {
  expect(memos).not.toEqual([]);
  expect(memos.filter((memo) => !(memo in known))).toEqual([]);
});
