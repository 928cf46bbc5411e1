import { buildSchema, execute, type GraphQLSchema, isObjectType, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { Unavailable } from '../../src/core/errors.ts';
import { withAnswerBudget } from '../../src/graphql/schema/counted.ts';
import { AnswerBudget } from '../../src/graphql/schema/graphql-context.ts';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';

const text = `
  type Query { items(count: Int!): [Item!]!, later(count: Int!): [Item], nothing: Item }
  type Item { name: String!, odd: [String], any: Any, items(count: Int!): [Item!]! }
  scalar Any`;
type Args = { count: number };
const items = ({ count }: Args) => Array.from({ length: count }, (_, at) => item(at));
const item = (at: number): object => ({ name: `item "${at}"`, odd: ['ü', null], any: { at }, items });
const rootValue = { items, later: async (args: Args) => items(args), nothing: null };
const plain = buildSchema(text);
const ours = withAnswerBudget(buildSchema(text));

const run = (one: GraphQLSchema, query: string, budget = new AnswerBudget(1_000_000)) =>
  execute({ schema: one, document: parse(query), rootValue, contextValue: { budget } });
const code = async (query: string, budget: AnswerBudget) => {
  const { errors } = await run(ours, query, budget);
  return (errors?.[0]?.originalError as { code?: string } | undefined)?.code;
};

describe('a schema that counts', () => {
  test.each([
    '{ items(count: 0) { name } nothing { name } }',
    '{ items(count: 1500) { name odd any __typename } again: later(count: 1500) { n: name } }',
    '{ later(count: 30) { items(count: 90) { name items(count: 3) { any } } } }',
  ])('answers as graphql-js does: %s', async (query) => {
    expect(JSON.stringify(await run(ours, query))).toBe(JSON.stringify(await run(plain, query)));
  });

  test('refuses one object more than the limit, at any depth', async () => {
    expect(await code('{ items(count: 1500) { name } }', new AnswerBudget(1500))).toBeUndefined();
    expect(await code('{ items(count: 1500) { name } }', new AnswerBudget(1499))).toBe('COST_EXCEEDED');
    expect(
      await code('{ items(count: 20) { items(count: 20) { items(count: 20) { name } } } }', new AnswerBudget(8_419)),
    ).toBe('COST_EXCEEDED');
    expect(
      await code('{ items(count: 20) { items(count: 20) { items(count: 20) { name } } } }', new AnswerBudget(8_420)),
    ).toBeUndefined();
  });

  test('makes few objects after it was stopped', async () => {
    const budget = new AnswerBudget(1_000_000);
    let made = 0;
    const counting = {
      items: (args: Args) =>
        items(args).map((one) => ({
          ...one,
          get name() {
            made += 1;
            return 'x';
          },
        })),
    };
    const running = execute({
      schema: ours,
      document: parse('{ items(count: 100000) { name } }'),
      rootValue: counting,
      contextValue: { budget },
    });
    await new Promise((resolve) => setImmediate(resolve));
    budget.stop(new Unavailable('late'));
    const before = made;
    const { errors } = await running;
    expect(errors?.[0]?.message).toBe('late');
    expect(before).toBeGreaterThan(0);
    // Objects that were being made may finish.
    expect(made - before).toBeLessThanOrEqual(20);
  });

  test('yields to other work during long lists and many short ones', async () => {
    for (const query of [
      '{ items(count: 200000) { name odd any } }',
      '{ items(count: 120) { items(count: 50) { items(count: 40) { name odd any } } } }',
    ]) {
      let [made, sinceTurn, longest, turns, over] = [0, 0, 0, 0, false];
      const itemsOf = ({ count }: Args): object[] =>
        Array.from({ length: count }, (_, at) => ({
          ...item(at),
          items: itemsOf,
          get name() {
            made += 1;
            sinceTurn += 1;
            return 'x';
          },
        }));
      const look = () => {
        longest = Math.max(longest, sinceTurn);
        sinceTurn = 0;
        turns += 1;
        if (!over) setImmediate(look);
      };
      const contextValue = { budget: new AnswerBudget(1_000_000) };
      const running = execute({ schema: ours, document: parse(query), rootValue: { items: itemsOf }, contextValue });
      setImmediate(look);
      await running;
      over = true;
      expect(turns).toBeGreaterThan(3);
      // No turn of the event loop makes a large part of the answer.
      expect(longest).toBeLessThan(made / 2);
    }
  });
});

test('texts that statements gave are bounded together', () => {
  const budget = new AnswerBudget(1);
  budget.hold(20 * 1024 * 1024);
  expect(() => budget.hold(20 * 1024 * 1024)).toThrow('more than 33,554,432 bytes');
});

test('every list of objects has a maximum length', () => {
  const silent = Object.values(graphqlSchema.getTypeMap()).flatMap((type) =>
    isObjectType(type) && !type.name.startsWith('__')
      ? Object.values(type.getFields())
          .filter(
            (field) =>
              String(field.type).startsWith('[') &&
              isObjectType(graphqlSchema.getType(String(field.type).replace(/[^\w]/g, ''))),
          )
          .filter(({ extensions }) => extensions.size === undefined)
          .map(({ name }) => `${type.name}.${name}`)
      : [],
  );
  expect(silent).toEqual([]);
});
