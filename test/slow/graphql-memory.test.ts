// Memory under documents that never repeat.
import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { databaseEnv } from '../support/database.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';

const { kind } = inject('database');
const env = await databaseEnv();
const issuer = await testIssuer();
const MEGABYTE = 1024 * 1024;

const linux = process.platform === 'linux';
test.runIf(linux)('documents that are sent once are not kept: memory does not grow', { timeout: 180_000 }, async () => {
  const gateway = await spawnGateway(
    { ...env, LOG_LEVEL: 'silent', NODE_OPTIONS: '--max-old-space-size=192' },
    kind === 'postgresql' ? { issuer } : {},
  );
  const { anyone } = gateway;
  const resident = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.process.pid}/status`, 'utf8'))?.[1]) / 1024;
  let sent = 0;
  /** A unique document of this length that consists of fields. */
  const document = (characters: number) => {
    const name = `n${sent++}`;
    return `query ${name} { ${'__typename '.repeat(45)} ... on Query { __typename } # ${'x'.repeat(characters)}`
      .slice(0, characters - 2)
      .concat('\n}');
  };
  const post = async (characters: number) => (await anyone.post('/graphql', { query: document(characters) })).status;
  const wave = async (count: number, characters: number) => {
    const statuses = new Set<number>();
    for (let at = 0; at < count; at += 10) {
      for (const status of await Promise.all(Array.from({ length: 10 }, () => post(characters)))) statuses.add(status);
    }
    return [...statuses];
  };

  // Usual documents first: code is compiled, and the heap reaches its size.
  expect(await wave(500, 1_000)).toEqual([200]);
  const before = resident();
  expect(await wave(60, 300_000)).toEqual([400]);
  const large = resident();
  expect(await wave(3_000, 16_000)).toEqual([200]);
  const many = resident();
  console.log(
    `resident: ${before.toFixed(0)} MB, ${large.toFixed(0)} MB after 60 x 300 kB, ${many.toFixed(0)} MB after 3,000 x 16 kB`,
  );
  expect(large - before).toBeLessThan(150);
  expect(many - before).toBeLessThan(200);
  // A body over the limit is not read.
  expect((await anyone.post('/graphql', { query: 'x'.repeat(2 * MEGABYTE) })).status).toBe(413);
});
