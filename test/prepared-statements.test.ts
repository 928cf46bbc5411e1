import { expect, test } from 'vitest';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const { database } = gateway;

/** Statements with different texts, as for different queries of clients. */
const shape = (n: number) => `select $1::int + ${n} as sum`;
const ask = async (n: number) => database.send(shape(n), [1]);

test.skipIf(database.kind === 'embedded')(
  'statements of client queries replace each other, and no others',
  async () => {
    await createFleet(acme);
    await database.orm.em.fork().transactional(async () => {
      for (let n = 0; n < 1000; n++) {
        for (let use = 0; use < 4; use++) expect(await ask(n)).toEqual([{ sum: n + 1 }]);
      }
      // A replaced statement is prepared again.
      for (let use = 0; use < 4; use++) expect(await ask(0)).toEqual([{ sum: 1 }]);
    });
    // All statements used the same few connections.
    const kept = await Promise.all(
      Array.from({ length: 10 }, () =>
        database.send('select count(*)::int as count from pg_prepared_statements where $1', [true]),
      ),
    );
    for (const [row] of kept as { count: number }[][]) expect(row?.count).toBeLessThanOrEqual(310);
    expect(await acme.get('/fleets')).toMatchObject({ status: 200 });
  },
);

test.skipIf(database.kind === 'embedded')('a statement used once or twice is not prepared', async () => {
  const before = await database.send('select count(*)::int as count from pg_prepared_statements where $1', [true]);
  for (let n = 2000; n < 2100; n++) for (let use = 0; use < 2; use++) await ask(n);
  expect(await database.send('select count(*)::int as count from pg_prepared_statements where $1', [true])).toEqual(
    before,
  );
});
