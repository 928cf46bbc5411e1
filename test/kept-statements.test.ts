import { PostgresQueryCompiler } from 'kysely';
import { expect, test, vi } from 'vitest';
import * as sql from '../src/core/sql/sql.ts';
import { startGateway } from './support/gateway.ts';
import { askGraphql, askRest, type Call, type Operation } from './support/operation.ts';
import { onGraphql, onRest } from './support/operations.ts';
import { newWorld, type World } from './support/worlds.ts';

// Every text of a statement ends in one of two: values are numbered in those that are joined, and Kysely compiles the others.
vi.mock('../src/core/sql/sql.ts', { spy: true });
const numbered = vi.mocked(sql.numberParameters);
const compiled = vi.spyOn(PostgresQueryCompiler.prototype, 'compileQuery');

const gateway = await startGateway();

const reads = <One extends Operation>(all: [string, One][]) => all.filter(([, one]) => !one.writes && !one.streams);
const callsOf = ({ cases }: Operation, world: World): Call[] => Object.values(cases).map((call) => call(world));

test('no request builds a statement twice', async () => {
  const world = await newWorld(gateway, 'acme');
  const built: string[] = [];
  const noted = async (asked: string, ask: () => Promise<unknown>) => {
    numbered.mockClear();
    compiled.mockClear();
    await ask();
    built.push(
      ...numbered.mock.calls.map(([text]) => `${asked}: ${text}`),
      ...compiled.mock.results.map(({ value }) => `${asked}: ${value.sql}`),
    );
  };
  const askAll = async () => {
    for (const [name, operation] of reads(onRest)) {
      for (const call of callsOf(operation, world)) await noted(name, () => askRest(world.client, name, call));
    }
    for (const [name, operation] of reads(onGraphql)) {
      for (const call of callsOf(operation, world)) await noted(name, () => askGraphql(world.client, operation, call));
    }
  };
  await askAll();
  expect(built.length).toBeGreaterThan(0);
  built.length = 0;
  await askAll();
  expect(built).toEqual([]);
});
