import { expect, test, vi } from 'vitest';
import { startGateway } from './support/gateway.ts';
import { askGraphql, askRest, type Call, type Operation } from './support/operation.ts';
import { onGraphql, onRest } from './support/operations.ts';
import { newWorld, type World } from './support/worlds.ts';

const gateway = await startGateway();

const reads = <One extends Operation>(all: [string, One][]) => all.filter(([, one]) => !one.writes && !one.streams);
const callsOf = ({ cases }: Operation, world: World): Call[] => Object.values(cases).map((call) => call(world));

/** Whether a key of the statement cache is a description: a resource, its members or its orders. */
function isDescription(key: object): boolean {
  const first: unknown = Object.values(key)[0];
  return 'table' in key || (typeof first === 'object' && first !== null && ('meaning' in first || 'sql' in first));
}

test('no request builds a statement twice', async () => {
  const world = await newWorld(gateway, 'acme');
  const askAll = async () => {
    for (const [name, operation] of reads(onRest)) {
      for (const call of callsOf(operation, world)) await askRest(world.client, name, call);
    }
    for (const [, operation] of reads(onGraphql)) {
      for (const call of callsOf(operation, world)) await askGraphql(world.client, operation, call);
    }
  };
  await askAll();
  const written: string[] = [];
  const { set } = WeakMap.prototype;
  const spy = vi.spyOn(WeakMap.prototype, 'set').mockImplementation(function (
    this: WeakMap<object, unknown>,
    key,
    value,
  ) {
    if (isDescription(key as object) && !this.has(key as object)) written.push(Object.keys(key as object).join());
    return set.call(this, key as object, value);
  });
  await askAll().finally(() => spy.mockRestore());
  expect(written).toEqual([]);
});
