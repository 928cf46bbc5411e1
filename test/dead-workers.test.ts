import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { Claims } from '../src/jobs/claims.ts';
import { databaseConfig } from './support/database.ts';
import { addVehicles, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { scheduleAll } from './support/schedule.ts';
import { TcpProxy } from './support/tcp-proxy.ts';
import { until } from './support/until.ts';

const idle = await startGateway();

/** Vehicles claimed for two minutes by a process whose last sign of life was 20 seconds before `aliveUntil`. */
async function claimedBy(company: string, aliveUntil: string): Promise<string[]> {
  const worker = randomUUID();
  const vins = newVins(3);
  await addVehicles(await idle.as(company), vins);
  await idle.execute(`
    update vehicle set claimed_by = '${worker}', due_at = now() + interval '2 minutes' where company = '${company}';
    delete from schedule where company = '${company}';
    ${scheduleAll};
    insert into worker values ('${worker}', ${aliveUntil})`);
  return vins;
}

const statusesOf = async (company: string) => {
  const rows = await idle.execute<{ status: string }>(
    `select distinct status from vehicle where company = '${company}' order by status`,
  );
  return rows.map(({ status }) => status);
};

test('programs of contracts of a dead process are due when its last call is over, and of a living one when their claims end', async () => {
  const gateway = await startGateway({ settings: { PROVIDER_TIMEOUT_SECONDS: '7' } });
  const [dead, alive] = [randomUUID(), randomUUID()];
  await gateway.execute(`
    insert into worker values ('${dead}', now() - interval '1 second'), ('${alive}', now() + interval '19 seconds');
    insert into activation (company, id, vin, provider, program, brand, changed_at, due_at, claimed_by)
      select claimed_by::text, new_uuid(), n::text, 'high-mobility', '', 'bmw', now(), now() + interval '3 minutes', claimed_by
      from unnest(array['${dead}', '${alive}']::uuid[]) claimed_by, generate_series(1, 3) n`);
  const claims = new Claims(() => contextOf(gateway.services, 'job', null));
  await claims.run();
  const rows = await gateway.execute<{ company: string; soon: boolean }>(
    `select distinct company, due_at < now() + interval '8 seconds' as soon from activation where claimed_by is not null`,
  );
  expect(rows.toSorted((a, b) => Number(a.soon) - Number(b.soon))).toEqual([
    { company: alive, soon: false },
    { company: dead, soon: true },
  ]);
  expect(await gateway.execute(`select company from schedule where kind = 'activation'`)).toEqual([{ company: dead }]);
  expect(await gateway.execute('select id from worker')).toEqual([{ id: alive }]);
  await gateway.execute('delete from worker');
});

test('claims are taken over if their process was silent for 20 seconds, and not if it is alive', async () => {
  await claimedBy('killed', `now() - interval '1 second'`);
  await claimedBy('living', `now() + interval '20 seconds'`);
  // Its clock was a day ahead.
  await claimedBy('ahead', `now() + interval '1 day'`);
  const busy = await startGateway({ workers: true, on: idle });
  await until(async () => !(await statusesOf('killed')).includes('PENDING'));
  await until(async () => !(await statusesOf('ahead')).includes('PENDING'));
  expect(await statusesOf('living')).toEqual(['PENDING']);

  busy.passTime(21_000);
  await until(async () => !(await statusesOf('living')).includes('PENDING'));
  await busy.close();
  expect(await idle.execute('select from worker')).toEqual([]);
});

test.runIf(idle.env.DATABASE_URL)('a claim whose answer was lost is given back by its own process', async () => {
  const network = await TcpProxy.start(idle.env.DATABASE_URL ?? '');
  onTestFinished(() => network.close());
  const env = { ...idle.env, DATABASE_URL: network.through(idle.env.DATABASE_URL ?? '') };
  const database = await openDatabase(databaseConfig(env));
  const busy = await startGateway({ workers: true, on: { env, database } });
  onTestFinished(async () => {
    await busy.close();
    await database.close();
  });
  let lost = false;
  network.swallowAnswersAfter = (sent) => {
    if (lost || !sent.includes('"claimed_by" = $')) return false;
    lost = true;
    return true;
  };
  await addVehicles(await idle.as('unheard'), newVins(3));
  busy.services.changes.emit('missed');
  const held = async () => {
    const rows = await idle.execute(`select id from vehicle where company = 'unheard' and claimed_by is not null`);
    return lost && rows.length === 3;
  };
  await until(held);
  network.cut();
  await until(async () => (await statusesOf('unheard')).every((status) => status !== 'PENDING'));
});
