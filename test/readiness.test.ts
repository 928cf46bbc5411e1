import { expect, test } from 'vitest';
import { openDatabase } from '../src/database/open.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const NEWER = 'Migration20991231000000';
const apply = `insert into mikro_orm_migrations (name, executed_at) values ('${NEWER}', now())`;

/** What /readyz says, once its status is this. */
const saying = (gateway: Gateway, status: number) =>
  until(async () => {
    const answer = await gateway.anyone.get('/readyz');
    return answer.status === status && answer;
  });

test('/readyz is 503 while the database lacks a migration', async () => {
  const gateway = await startGateway();
  await gateway.execute(`update mikro_orm_migrations set name = 'was ' || name`);
  const { headers, body } = await saying(gateway, 503);
  expect(headers.get('retry-after')).toBe('2');
  expect(body).toEqual({
    status: 'unavailable',
    detail: expect.stringMatching(/^The database lacks Migration\d+(?:, Migration\d+)*: run npm run migrate -- up\.$/),
  });
  await gateway.execute(`update mikro_orm_migrations set name = substr(name, 5)`);
  await saying(gateway, 200);
});

test('a process that starts on the tables of a newer version is not ready; one that runs already stays so', async () => {
  const env = await databaseEnv();
  const before = await openDatabase(databaseConfig(env));
  const running = await startGateway({ on: { env, database: before } });
  await running.execute(apply);
  expect(await before.unready()).toBe(null);
  await saying(running, 200);
  await running.close();
  await before.close();

  const database = await openDatabase(databaseConfig(env));
  const started = await startGateway({ on: { env, database } });
  expect((await saying(started, 503)).body).toEqual({
    status: 'unavailable',
    detail: `A newer version has applied ${NEWER} to the database: start that version.`,
  });
  await started.close();
  await database.close();
});
