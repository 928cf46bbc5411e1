import { beforeAll, describe, expect, test, vi } from 'vitest';
import { everyStatementText, numberParameters } from '../src/core/sql/sql.ts';
import { startGateway } from './support/gateway.ts';
import { askGraphql, askRest, type Operation } from './support/operation.ts';
import { onGraphql, onRest } from './support/operations.ts';
import { newWorld, type World } from './support/worlds.ts';

const gateway = await startGateway();
const worlds: Record<string, World> = {};
beforeAll(async () => {
  // Work that no request asked for may come in between.
  everyStatementText();
  for (const company of ['acme', 'globex']) worlds[company] = await newWorld(gateway, company);
});

const reads = (all: [string, Operation][]) => all.filter(([, one]) => !one.writes && !one.streams);

/** The texts whose parameters are numbered meanwhile, which is the last step of building any statement. */
async function builtBy(work: () => unknown): Promise<string[]> {
  const built: string[] = [];
  const { replaceAll } = String.prototype;
  const spy = vi.spyOn(String.prototype, 'replaceAll').mockImplementation(function (
    this: string,
    pattern: string | RegExp,
    by: unknown,
  ) {
    if (pattern instanceof RegExp && pattern.source.startsWith('\\$')) built.push(`${this}`);
    return replaceAll.call(this, pattern, by as () => string);
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return built;
}

test('a statement that is built is noticed', async () => {
  expect(await builtBy(() => numberParameters('select $company'))).toEqual(['select $company']);
  const { client } = worlds.acme as World;
  const query = `{ of${Date.now()}: fleets { nodes { id } } }`;
  expect(await builtBy(() => client.post('/graphql', { query }))).toHaveLength(1);
});

describe('no request builds a statement that was built for the values of another company', () => {
  const twice = async (ask: (world: World) => Promise<unknown>) => {
    await ask(worlds.acme as World);
    expect(await builtBy(() => ask(worlds.globex as World))).toEqual([]);
  };

  test.each(reads(onRest))('%s', (name, { cases }) =>
    twice(async (world) => {
      for (const call of Object.values(cases)) await askRest(world.client, name, call(world));
    }),
  );

  test.each(reads(onGraphql))('%s', (_, operation) =>
    twice(async (world) => {
      for (const call of Object.values(operation.cases)) await askGraphql(world.client, operation, call(world));
    }),
  );
});
