import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { openDatabase } from '../src/database/open-database.ts';
import { asAdmin, databaseConfig, databaseEnv } from './support/database.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { at, createRole, execute, SCHEMA } from './support/operator.ts';
import { until } from './support/until.ts';

/** Records a migration of a newer version as applied. */
const apply = (name: string) => `insert into mikro_orm_migrations (name, executed_at) values ('${name}', now())`;

/** Waits until /readyz has this status. */
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
    detail: expect.stringMatching(/^The database lacks Migration\w+(?:, Migration\w+)*: run npm run migrate -- up\.$/),
  });
  await gateway.execute(`update mikro_orm_migrations set name = substr(name, 5)`);
  await saying(gateway, 200);
});

test('a process is ready, and starts, on tables of a compatible newer version', async () => {
  const env = await databaseEnv();
  const running = await startGateway({ on: { env, database: await openDatabase(databaseConfig(env)) } });
  await running.execute(
    apply(`Migration20991230000000_since_${packageJson.version.replace('-dev', '').replaceAll('.', '_')}`),
  );
  await saying(running, 200);
  await running.close();
  await running.database.close();

  const database = await openDatabase(databaseConfig(env));
  const started = await startGateway({ on: { env, database } });
  await saying(started, 200);
  for (const harmful of ['Migration20991231000000_since_0_10_0', 'Migration20991231000001']) {
    await started.execute(apply(harmful));
    expect((await saying(started, 503)).body).toEqual({
      status: 'unavailable',
      detail: `A newer version has applied ${harmful} to the database: start that version.`,
    });
    // The embedded database opens in one process at a time.
    if (env.DATABASE_URL)
      await expect(openDatabase(databaseConfig(env))).rejects.toThrow(`A newer version has applied ${harmful}`);
    await started.execute(`delete from mikro_orm_migrations where name = '${harmful}'`);
    await saying(started, 200);
  }
  await started.close();
  await database.close();
});

test.runIf(inject('database').kind === 'postgresql')('/readyz says what the database answers', async () => {
  const env = await databaseEnv();
  const role = `gateway_${randomUUID()}`;
  const admin = asAdmin(env);
  const given = inject('database');
  const own = given.kind === 'postgresql' ? given.roles.service : '';
  await execute(
    admin,
    ...createRole(role, { search_path: SCHEMA, role: own }),
    `grant "${own}" to "${role}"`,
    `grant connect on database ${new URL(admin).pathname.slice(1)} to "${role}"`,
  );
  const url = at(admin, new URL(admin).pathname.slice(1), role);
  const database = await openDatabase({ ...databaseConfig(env), DATABASE_URL: url });
  const gateway = await startGateway({ on: { env, database } });
  onTestFinished(async () => {
    await gateway.close();
    await database.close();
    await execute(admin, `drop owned by "${role}"`, `drop role "${role}"`);
  });
  await saying(gateway, 200);
  await execute(
    admin,
    `alter role "${role}" nologin`,
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`,
  );
  expect((await saying(gateway, 503)).body.detail).toBe('The database refuses the credentials (28000).');
});
