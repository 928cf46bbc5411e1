import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Memoised values by place, with the reason why no rejection stays there. */
const known: Record<string, string> = {
  'src/vin-files/csv/decode.ts decode': 'no promise',
  'src/graphql/execution/result-errors.ts .code': 'no promise',
  'src/core/context.ts this.#em': 'no promise',
  'src/core/following/follow-changes.ts this.#missedSince': 'no promise',
  'src/core/following/follow-changes.ts this.#missed': 'forgets itself in a finally',
  'src/core/sql/sql.ts variants[variant]': 'no promise',
  'src/http/request-context.ts left': 'no promise',
  'src/database/pglite.ts this.#failure': 'no promise',
  'src/database/listening-connection.ts this.#sending': 'forgets itself at its end, and does not fail',
  'src/graphql/schema/counted.ts this.#turn': 'forgets itself, and does not fail',
  'src/graphql/execution/operation-reads.ts this.#query': 'of one request',
  'src/graphql/execution/operation-reads.ts this.#company': 'of one request',
  'src/graphql/execution/variables.ts known': 'no promise',
  'src/http/identity/issuer.ts this.#reading': 'forgets itself in a finally',
  'src/http/identity/issuer.ts this.#address': 'awaited: only what came is kept',
};

/** Memoising assignments (`??=`, `||=`) of calls that do not forget a failure in their own statement. */
const memos = globSync('src/**/*.{ts,js}', { cwd: root }).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/([\w.#[\]]+) (?:\?\?|\|\|)= ([^;]*)/g)]
    .filter(([, , value = '']) => /[(]|\bnew\b|\{/.test(value) && !/\.(?:catch|finally)\(/.test(value))
    .map(([, name]) => `${file} ${name}`),
);

test('a memoised promise is loadedOnce, or forgets its failure', () => {
  expect(memos).not.toEqual([]);
  expect([...new Set(memos)].toSorted()).toEqual(Object.keys(known).toSorted());
});
