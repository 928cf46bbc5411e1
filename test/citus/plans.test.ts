import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { everyText } from '../../src/core/sql/sql.ts';
import { Connection } from '../../src/database/connection.ts';
import { randomDocument, randomFrom } from '../documents/generate.ts';
import { openTrial } from '../documents/trial.ts';
import { poolsOf } from '../documents/world.ts';
import { startGateway } from '../support/gateway.ts';
import { askGraphql, askRest } from '../support/operation.ts';
import { onGraphql, onRest } from '../support/operations.ts';
import { newWorld } from '../support/worlds.ts';
import { exceptions } from './exceptions.ts';
import { planOf } from './plan.ts';

// How Citus plans each statement: as one task on the company's node, or as the list of exceptions says.

const DOCUMENTS = 100;

// No document is to be refused for what it may cost.
const gateway = await startGateway({ settings: { LIMIT_GRAPHQL_COST: '1000000000000000' } });
const trial = await openTrial(gateway);
afterAll(trial.close);
const core = join(import.meta.dirname, '../../src/core');
for (const file of globSync('**/*.ts', { cwd: core })) await import(pathToFileURL(join(core, file)).href);

const used = new Set<RegExp>();
/** Those of these statements that have another plan than one task, and no exception. */
async function othersOf(texts: Iterable<string>): Promise<string[]> {
  const others: string[] = [];
  for (const text of texts) {
    const plan = await planOf(gateway.database, text);
    if (plan === 'one' || plan === 'no table of companies') continue;
    const known = exceptions.filter((one) => one.plan === plan).flatMap(({ statements }) => statements);
    const found = known.find((one) => one.test(text));
    if (found) used.add(found);
    else others.push(`${plan}: ${text}`);
  }
  return others;
}

test('each prepared statement is one task, or an exception that is written down', { timeout: 600_000 }, async () => {
  expect(await othersOf(everyText())).toEqual([]);
});

/** What is planned: not the beginning of a transaction, a setting, a lock. */
const isPlanned = (text: unknown): text is string =>
  typeof text === 'string' && /^\s*(select|with|insert|update|delete)\b/.test(text);

/** The statements that are sent meanwhile, but for prepared ones. */
async function sentBy(does: () => Promise<void>): Promise<Set<string>> {
  const query = vi.spyOn(Connection.prototype, 'send');
  const rows = vi.spyOn(Connection.prototype, 'rows');
  try {
    await does();
    const given = [...query.mock.calls, ...rows.mock.calls];
    const texts = given.map(([first]) => (first as { text?: unknown }).text ?? first);
    return new Set(texts.filter(isPlanned)).difference(new Set(everyText()));
  } finally {
    query.mockRestore();
    rows.mockRestore();
  }
}

test(`so is each statement of ${DOCUMENTS} random documents, which are answered as without Citus`, {
  timeout: 600_000,
}, async () => {
  const pools = poolsOf(trial.rows);
  const faults: unknown[] = [];
  const sent = await sentBy(async () => {
    for (let seed = 0; seed < DOCUMENTS; seed++) {
      const document = randomDocument(pools, randomFrom(seed));
      const fault = await trial.faultOf(document);
      if (fault) faults.push({ fault, document });
    }
  });
  expect(faults).toEqual([]);
  expect(sent.size).toBeGreaterThan(DOCUMENTS);
  expect(await othersOf(sent)).toEqual([]);
});

test('so is each statement of every operation, by REST and by GraphQL', { timeout: 600_000 }, async () => {
  const world = await newWorld(gateway, 'walked');
  const sent = await sentBy(async () => {
    // Contracts need no token here; of what somebody has deleted, others only hear that it is not there.
    for (const client of [gateway.anyone, world.client]) {
      for (const [name, { cases, streams }] of onRest)
        if (!streams) for (const call of Object.values(cases)) await askRest(client, name, call(world));
      for (const [, { cases, streams, ...operation }] of onGraphql)
        if (!streams) for (const call of Object.values(cases)) await askGraphql(client, operation, call(world));
    }
  });
  expect(sent.size).toBeGreaterThan(onRest.length);
  expect(await othersOf(sent)).toEqual([]);
});

test('nothing is excepted that need not be', () => {
  expect(exceptions.flatMap(({ statements }) => statements).filter((one) => !used.has(one))).toEqual([]);
});
